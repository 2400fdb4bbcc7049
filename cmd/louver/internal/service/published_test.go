package service

import (
	"context"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// TestAFailureElsewhereEndsTheReading ends the reading of an output because the ledger was cut short: the output itself
// was not, and nothing reads it again.
func TestAFailureElsewhereEndsTheReading(t *testing.T) {
	b := kafkatest.Fake(t)
	b.CreateTopic(t, "private", 1, nil)
	ctx, cancel := context.WithCancelCause(kafkatest.Context(t))
	cancel(&fetch.TruncatedError{Topic: "app.ledger"})
	ended := make(chan error, 1)
	go func() {
		ended <- newPublished([]string{"private"}, nil, time.Now).follow(ctx,
			&outputs.Reader{Conn: b.Conn, Fetch: b.Fetch(fetch.Options{})}, time.Time{})
	}()
	if err := kafkatest.Receive(t, "the reading ends", ended); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
