package kafkaconn

import (
	"context"
	"errors"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"
)

// Persist calls f until it succeeds, fails with an error that is neither a broker's answer nor means that no broker was
// reached, or ctx ends. It is for a service that has worked before: a right that a broker refuses now may be granted
// later. It waits between attempts and notifies as Retry does. f has to limit its own time.
func Persist[T any](ctx context.Context, notify func(error), f func(context.Context) (T, error)) (T, error) {
	failed := false
	tell := func(err error) {
		if failed = true; notify != nil {
			notify(err)
		}
	}
	return Again(ctx, tell, func() (T, error) {
		res, err := f(ctx)
		switch {
		case err == nil && failed && notify != nil:
			notify(nil)
		case err != nil && (ctx.Err() != nil || !fromBroker(err)):
			err = backoff.Permanent(err)
		}
		return res, err
	})
}

// fromBroker reports whether err is a broker's answer, or means that no broker was reached. Errors about the sent bytes
// themselves do not count, because a record that is too large stays too large.
func fromBroker(err error) bool {
	if errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge) {
		return false
	}
	var code kafka.Error
	return errors.As(err, &code) || Retriable(err)
}
