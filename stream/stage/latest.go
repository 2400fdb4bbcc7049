package stage

import (
	"context"
	"time"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Latest does something with the newest of a series of values in the background, so that nobody waits for it. A value
// that a newer one overtakes is left out.
type Latest[T any] struct {
	next chan T
	done chan struct{}
}

// NewLatest calls f with the newest value, again and again, until ctx ends. After an error it calls f again, some time
// later, with the same value or the one that has come since.
func NewLatest[T any](ctx context.Context, f func(context.Context, T) error) *Latest[T] {
	l := &Latest[T]{next: make(chan T, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			select {
			case <-ctx.Done():
				return
			case v := <-l.next:
				l.try(ctx, v, f)
			}
		}
	}()
	return l
}

func (l *Latest[T]) try(ctx context.Context, v T, f func(context.Context, T) error) {
	for wait := kafkaconn.NewBackOff(); f(ctx, v) != nil; {
		select {
		case <-ctx.Done():
			return
		case v = <-l.next:
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// Put hands over a value and does not block. It is for one goroutine.
func (l *Latest[T]) Put(v T) {
	select {
	case <-l.next:
	default:
	}
	l.next <- v
}

// Wait returns when the context has ended and f has returned.
func (l *Latest[T]) Wait() { <-l.done }
