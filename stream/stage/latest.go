package stage

import (
	"context"
	"time"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Latest processes the newest of a series of values in the background. If a newer value arrives first, the older one is
// skipped.
type Latest[T any] struct {
	next chan T
	done chan struct{}
}

// NewLatest calls f with the newest value, again and again, until ctx ends. After an error it calls f again some time
// later, with the same value or a newer one.
func NewLatest[T any](ctx context.Context, f func(context.Context, T) error) *Latest[T] {
	l := &Latest[T]{next: make(chan T, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			select {
			case <-ctx.Done():
				return
			case v, more := <-l.next:
				if !more {
					return
				}
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
		case next, more := <-l.next:
			if !more {
				return
			}
			v = next
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// Put passes a value on without blocking. Call it from one goroutine only, and not after Finish.
func (l *Latest[T]) Put(v T) {
	select {
	case <-l.next:
	default:
	}
	l.next <- v
}

// Wait returns when the context has ended and f has returned.
func (l *Latest[T]) Wait() { <-l.done }

// Finish returns when f has had the newest value, or has failed with it: nothing is tried again from now on.
func (l *Latest[T]) Finish() {
	close(l.next)
	<-l.done
}
