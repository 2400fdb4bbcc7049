package clock

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crew are processes that share some work.
type crew struct {
	mu      sync.Mutex
	working map[*machine]bool
	left    map[*machine]int
}

// hire lets a machine take part in the work until the test ends.
func (c *crew) hire(t *testing.T) *machine {
	m := start(t)
	if c.working == nil {
		c.working, c.left = map[*machine]bool{}, map[*machine]int{}
	}
	shift := Shift{Watch: m.Watch, Members: func(context.Context) (int, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := 0
		for _, working := range c.working {
			if working {
				n++
			}
		}
		return n, nil
	}, Left: func(err error) {
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.left[m]++
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		_ = shift.Run(ctx, func(ctx context.Context) error {
			c.set(m, true)
			<-ctx.Done()
			c.set(m, false)
			return nil
		})
	}()
	return m
}

func (c *crew) set(m *machine, working bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working[m] = working
}

func (c *crew) expect(t *testing.T, when string, working map[*machine]bool, left map[*machine]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for m, want := range working {
		if c.working[m] != want {
			t.Errorf("%s: working is %v, want %v", when, c.working[m], want)
		}
	}
	for m, want := range left {
		if c.left[m] != want {
			t.Errorf("%s: a process has left %d times, want %d", when, c.left[m], want)
		}
	}
}

func TestABadClockLeavesTheWorkToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c crew
		bad, good := c.hire(t), c.hire(t)
		time.Sleep(time.Minute)
		bad.set = time.Hour
		time.Sleep(patience / 2)
		c.expect(t, "at first", map[*machine]bool{bad: true, good: true}, nil)
		time.Sleep(time.Hour)
		c.expect(t, "later", map[*machine]bool{bad: false, good: true}, map[*machine]int{bad: 1, good: 0})
		bad.set = 0
		time.Sleep(2 * time.Minute)
		c.expect(t, "when it is right again", map[*machine]bool{bad: true, good: true},
			map[*machine]int{bad: 1, good: 0})
	})
}

func TestTheOnlyProcessStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c crew
		bad := c.hire(t)
		time.Sleep(time.Minute)
		bad.set = time.Hour
		time.Sleep(time.Hour)
		c.expect(t, "alone", map[*machine]bool{bad: true}, map[*machine]int{bad: 0})
		good := c.hire(t)
		time.Sleep(time.Minute)
		c.expect(t, "with another one", map[*machine]bool{bad: false, good: true}, map[*machine]int{bad: 1})
		c.set(good, false) // it ends
		time.Sleep(time.Minute)
		c.expect(t, "alone again", map[*machine]bool{bad: true}, nil)
	})
}

// The clock is right and wrong in turns, two minutes each: that makes a handful of returns in an hour, not fifteen.
func TestAClockThatGoesBackAndForthRestsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c crew
		bad, good := c.hire(t), c.hire(t)
		time.Sleep(time.Minute)
		for range 30 {
			bad.set = time.Hour - bad.set
			time.Sleep(2 * time.Minute)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.left[bad] == 0 || c.left[bad] > 4 || c.left[good] != 0 {
			t.Errorf("it has left %d times, and the good one %d times; want 1 to 4, and 0", c.left[bad], c.left[good])
		}
	})
}
