// Package silence says since when hardly anybody has been in a stream. It reads published counts and their published
// errors and nothing else, so what it says is as public as they are, and costs nothing.
//
// Nobody may know whether a window is empty: one person may be in it. A released count that is within its noise,
// ± error_95, says as much as can be said: that there are hardly more users than the noise hides.
package silence

import "time"

const (
	// steady is how many windows in a row have to be within their noise before a group is silent.
	steady = 3
	// readable is what the counts above twice their noise have to add up to, in errors, before a group can fall
	// silent: one window of four errors, or several of fewer. A group whose counts have always been close to their
	// noise has not fallen silent. It is small.
	readable = 2
	// back is what counts above their noise have to add up to, in errors, before a group is silent no more. Noise of
	// nobody at all exceeds its error in 2.5 % of the windows, by a third of the error on average with discrete
	// Laplace noise. In fewer than 1 of 100,000 windows it adds up to three errors (the tests simulate it), so a silent
	// group does not come and go.
	back = 3
	// memory is over how many windows the mean count of a silent group is taken, the newest ones most.
	memory = 8
)

// counts follows the released count of a group, window by window. Its zero value knows nothing.
type counts struct {
	end         time.Time // of the newest window
	last, error float64   // its count, and the error of that
	mean        float64   // of the newest windows; of a group that falls silent: since its counts fell
	windows     float64   // that are in the mean, at most memory
	run         int       // windows in a row that are within their noise
	begin       time.Time // of the run
	above, high float64   // what counts above once and twice their noise add up to, in errors
	heard       bool      // the group was readable since it last fell silent
	silent      bool
	since       time.Time
}

// add takes the count of the next window.
func (c *counts) add(count, error95 float64, start, end time.Time) {
	c.end, c.last, c.error = end, count, max(1, error95)
	x := count / c.error
	if c.heard && c.run == 0 {
		c.windows, c.mean = 0, 0
	}
	c.windows = min(c.windows+1, memory)
	c.mean += (count - c.mean) / c.windows
	c.above, c.high = max(0, c.above+x-1), max(0, c.high+x-2)
	if c.silent && c.above >= back {
		c.silent, c.run = false, 0
	}
	if c.silent {
		c.high = 0
		return
	}
	c.heard = c.heard || c.high >= readable
	if x > 1 {
		c.run = 0
		return
	}
	if c.run == 0 {
		c.begin = start
	}
	if c.run++; c.run >= steady && c.heard {
		c.silent, c.since, c.heard, c.above, c.high = true, c.begin, false, 0, 0
	}
}

// low reports whether hardly anybody is there: the group is silent, or has never been readable and is within its noise.
func (c *counts) low() bool { return c.silent || !c.heard && c.mean <= c.error }
