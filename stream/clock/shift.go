package clock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Shift is work that a process leaves to others while its clock cannot be trusted. It leaves only if there are others:
// work that nobody does is worse than windows that wait. So the last one stays, and whoever finds that nobody is left
// takes part again.
type Shift struct {
	Watch *Watch
	// Members returns how many processes take part in the work, with this one if it does.
	Members func(context.Context) (int, error)
	// Left is called with the reason when this process leaves the work to others, and with nil when it takes part
	// again.
	Left func(error)
}

const (
	// patience is how long a doubt must last before the process leaves. Most corrections take less.
	patience = 30 * time.Second
	// firstRest is how long the clock has to be right before the process takes part again. After each return the next
	// rest is twice as long, up to longestRest, until it has worked for an hour.
	firstRest, longestRest = 30 * time.Second, 10 * time.Minute
	calm                   = time.Hour
	// jitter keeps processes from leaving, or coming back, all at once.
	jitter = 10 * time.Second
)

// Run does the work until ctx ends or work returns by itself. When the process leaves, the context of work ends.
func (s Shift) Run(ctx context.Context, work func(context.Context) error) error {
	for rest := firstRest; ; rest = min(2*rest, longestRest) {
		began := time.Now()
		working, stop := context.WithCancel(ctx)
		var left error
		var looking sync.WaitGroup
		looking.Go(func() {
			if left = s.leave(working); left != nil {
				stop()
			}
		})
		err := work(working)
		stop()
		looking.Wait()
		if err != nil || left == nil || ctx.Err() != nil {
			return err
		}
		if time.Since(began) > calm {
			rest = firstRest
		}
		s.Left(left)
		if !s.rest(ctx, rest) {
			return nil
		}
		s.Left(nil)
	}
}

// leave waits until the process should leave, and returns why. It returns nil when ctx ends.
func (s Shift) leave(ctx context.Context) error {
	doubted, wanted := time.Duration(0), patience+rand.N(jitter)
	for pause(ctx, time.Second) {
		err := s.Watch.doubt()
		if err == nil {
			doubted = 0
			continue
		}
		if doubted += time.Second; doubted < wanted {
			continue
		}
		if n, failed := s.Members(ctx); failed == nil && n > 1 {
			return err
		}
		doubted, wanted = 0, jitter/2+rand.N(jitter)
	}
	return nil
}

// rest waits until the clock has been right for so long, or until nobody else is left. It returns false when ctx ends.
func (s Shift) rest(ctx context.Context, long time.Duration) bool {
	for right := time.Duration(0); right < long; {
		step := jitter/2 + rand.N(jitter)
		if !pause(ctx, step) {
			return false
		}
		if right += step; s.Watch.doubt() != nil {
			right = 0
		}
		if n, failed := s.Members(ctx); failed == nil && n == 0 {
			return true
		}
	}
	return true
}

// doubt says why the clock is not trusted. Before it has been compared once, there is no doubt.
func (w *Watch) doubt() error {
	_, err := w.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fresh {
		return nil
	}
	return err
}

// pause waits, and returns false when ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
