package publish

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"
)

// TestOthersWaitLittleForADeletedOutput: a transaction with records for an output that does not exist ends within five
// seconds, one whose outputs are there may take its time, and one that is done is asked nothing.
func TestOthersWaitLittleForADeletedOutput(t *testing.T) {
	gone := &BlockedError{"gone", kafka.UnknownTopicOrPartition}
	for name, c := range map[string]struct {
		answer *BlockedError
		cause  error
		from   time.Duration
		to     time.Duration
	}{
		"deleted": {gone, gone, time.Second, 5 * time.Second},
		"there":   {nil, context.DeadlineExceeded, writeTimeout, writeTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := limit(t.Context(), func(context.Context) *BlockedError { return c.answer })
			defer cancel()
			<-ctx.Done()
			if took := time.Since(began); took < c.from || took > c.to || !errors.Is(context.Cause(ctx), c.cause) {
				t.Errorf("%s: the transaction ends after %s with %v", name, took, context.Cause(ctx))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, cancel := limit(t.Context(),
			func(context.Context) *BlockedError { t.Error("asked after the transaction"); return nil })
		cancel()
		time.Sleep(writeTimeout) // of the bubble's clock
		synctest.Wait()
	})
}
