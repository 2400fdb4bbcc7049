package demo

import (
	"errors"
	"sync"
	"time"
)

// ownClock is the time of a simulated service: its days may take two minutes. It waits for the figures. So it never
// says more than the moment at which the next window closes, until that window is published. However slow the machine
// is, no window is late then, and after a laptop was asleep the demo goes on where it was. It is safe for concurrent
// use and implements [clock.Clock].
type ownClock struct {
	speed float64       // how many times as fast as real time it runs
	most  time.Duration // of its own time: a delay beyond that is not made up for

	mu    sync.Mutex
	said  time.Time // what it says at least
	limit time.Time // and at most
	began time.Time // real time at which it would have said said; zero: it has not begun to run
}

// newOwnClock makes a clock that stands until it begins.
func newOwnClock(at time.Time, day, most time.Duration) *ownClock {
	return &ownClock{speed: (24 * time.Hour).Seconds() / day.Seconds(), most: most, said: at, limit: at}
}

// errNotBegun keeps windows open until all events of the past are sent.
var errNotBegun = errors.New("the demo's clock has not begun to run")

// Now returns what the clock says. Its error says that it has not begun to run.
func (c *ownClock) Now() (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		return c.said, errNotBegun
	}
	real := time.Now()
	now := c.said.Add(time.Duration(float64(real.Sub(c.began)) * c.speed))
	if late := now.Sub(c.limit); late > 0 {
		now = c.limit
		if late > c.most {
			c.said, c.began = now, real.Add(-c.Takes(c.most))
		}
	}
	return now, nil
}

// Confirmed reports whether it is t or later.
func (c *ownClock) Confirmed(t time.Time) bool {
	now, err := c.Now()
	return err == nil && !now.Before(t)
}

// Takes returns the real time in which the clock advances by d.
func (c *ownClock) Takes(d time.Duration) time.Duration { return time.Duration(float64(d) / c.speed) }

// day is how long a day takes.
func (c *ownClock) day() time.Duration { return c.Takes(24 * time.Hour).Round(time.Millisecond) }

// time is what the clock says, whether it has begun to run or not.
func (c *ownClock) time() time.Time {
	now, _ := c.Now()
	return now
}

// begin makes the clock run.
func (c *ownClock) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = time.Now()
}

// until lets the clock run on to a moment. It never goes back.
func (c *ownClock) until(limit time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit.After(c.limit) {
		c.limit = limit
	}
}
