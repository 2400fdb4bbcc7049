package replay

import (
	"context"
	"time"
)

// clock moves event times and says when events are due.
type clock struct {
	begun   bool
	first   time.Time     // the time of the event that is due first, as in the file
	started time.Time     // when it was yielded
	elapsed time.Duration // from the first event to the current one, by their times in the file
}

// move goes to the next event and returns its time in the record, and when it is due.
func (c *clock) move(at time.Time, o Options) (moved, due time.Time) {
	if !c.begun {
		c.begun, c.first, c.started = true, o.First, time.Now()
		if c.first.IsZero() {
			c.first = at
		}
	}
	c.elapsed = at.Sub(c.first)
	moved = at
	switch {
	case o.From.IsZero():
	case o.Speed > 0:
		moved = o.From.UTC().Add(atSpeed(c.elapsed, o.Speed))
	default:
		moved = o.From.UTC().Add(c.elapsed)
	}
	if o.Speed > 0 {
		due = c.started.Add(atSpeed(c.elapsed, o.Speed))
	}
	return moved, due
}

// Wait waits until the record is due, or until ctx ends.
func (r Record) Wait(ctx context.Context) error {
	left := time.Until(r.Due)
	if r.Due.IsZero() || left <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// atSpeed returns how long a duration takes in a replay at a speed, at most 146 years.
func atSpeed(d time.Duration, speed float64) time.Duration {
	const most = 1 << 62
	return time.Duration(min(max(float64(d)/speed, -most), most))
}
