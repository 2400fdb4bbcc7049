package stage

import "context"

// Latest does something with the newest of a series of values in the background, so that nobody waits for it. A value
// that a newer one overtakes is left out.
type Latest[T any] struct {
	next chan T
	done chan struct{}
}

// NewLatest calls f with the newest value, again and again, until ctx ends.
func NewLatest[T any](ctx context.Context, f func(context.Context, T)) *Latest[T] {
	l := &Latest[T]{next: make(chan T, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			select {
			case <-ctx.Done():
				return
			case v := <-l.next:
				f(ctx, v)
			}
		}
	}()
	return l
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
