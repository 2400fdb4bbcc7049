package inspect

import (
	"errors"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/inspect/timeline"
	"github.com/louver/louver/stream/kafka/fetch"
)

// TestNoTransactionIsNotToBeEnded: the advice to end a transaction comes only where one is open.
func TestNoTransactionIsNotToBeEnded(t *testing.T) {
	at := timeline.Partition{Topic: "in", Number: 3}
	for text, of := range map[string]struct {
		who fetch.Producer
		err error
	}{
		"a transaction is open from offset 7 (producer id 5, epoch 2); to end it: kafka-transactions.sh abort " +
			"--topic in --partition 3 --start-offset 7": {fetch.Producer{ID: 5, Epoch: 2, Transactional: true}, nil},
		"its readable end does not move from offset 7, and no open transaction was found there: its brokers may be " +
			"busy, or a replica behind": {fetch.Producer{ID: -1, Epoch: -1}, nil},
	} {
		if got := stalled(at, 7, of.who, of.err); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if got := stalled(at, 7, fetch.Producer{}, errors.New("no record")); strings.Contains(got, "abort") {
		t.Errorf("%q", got)
	}
}
