package release

import (
	"context"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/windows"
)

// A stream with max_windows has a [windows.Cap], which every window of it goes through, in order: also a window that is
// withheld, because its users have used a turn like those of any other. So who counts depends on the parts and on the
// schedule, and not on what was charged.
//
// A session learns who has counted before from the last snapshot (see snapshot.go) and from the parts of the windows
// since, which it takes through the cap once more. So these parts are not deleted. Without a snapshot it needs those of
// as many windows as [windows.CapRule.Reach] says. If some of that is lost, nobody knows who has counted, and guessing
// could let somebody count too often. Then the cap begins anew with the next window. From there on the windows are
// charged under a new era of the cap, and what they cost adds to what those of the old one did.

// capState is the cap of one program's windows.
type capState struct {
	rule windows.CapRule
	size time.Duration // of a window
	cap  *windows.Cap
	// of is what windows are charged under. Its era is the start of the first window that cap has been through or will go
	// through, in Unix seconds.
	of budget.Cap
	// at is the end of the last window that cap has been through.
	at int64
	// needed are the offsets of the log from which later sessions have to read the last windows. Those of a window that an
	// earlier one's offset covers are left out.
	needed []needed
	// saved is the end of the window up to which later sessions need no parts: that of the last committed snapshot, or the
	// first one with which the cap began. pieces is how many records hold that snapshot.
	saved  int64
	pieces int
}

type needed struct {
	end    int64 // of the window
	offset int64
}

// caps are the caps of a worker's programs: nil where everybody counts.
type caps struct {
	*worker
	charges *charges
	parts   *parts
	states  []*capState
}

// newCapState returns the cap of a program before it has been through the windows in its reach. It is nil for programs
// without a cap, and for those that have decided their last window.
func (c *caps) newCapState(p *program) *capState {
	decided := c.charges.decided(p)
	next, more := p.schedule.After(decided)
	if p.stream.MaxWindows == nil || !more {
		return nil
	}
	rule := p.stream.MaxWindows.By
	t := &capState{rule: rule, size: p.schedule.Size, cap: windows.NewCap(rule),
		of: c.charges.own.fold.Books.Cap(p.stream.Name, p.epoch), at: decided, saved: decided}
	if t.of != p.stream.Cap(t.of.Era) { // none of its windows is decided
		t.of = p.stream.Cap(c.charges.own.fold.Books.Era(p.stream.Name, next.Start, p.stream.Cap))
		return t
	}
	every := int64(p.schedule.Every)
	before := t.of.Era*int64(time.Second) + int64(p.schedule.Size) - every // the end of the window before the era
	t.at = max(before, decided-t.rule.Reach()*every)
	t.saved = t.at
	return t
}

// era names the choice of users that begins with a window.
func era(w windows.Window) int64 { return w.Start / int64(time.Second) }

// follows returns the end of the window after which the session collects a program's parts.
func (c *caps) follows(program int) int64 {
	if t := c.states[program]; t != nil {
		return t.at
	}
	return c.charges.decided(c.programs[program])
}

// rebuild takes decided windows through the caps of their programs, as far as their parts have been read.
func (c *caps) rebuild(ctx context.Context) error {
	for i, t := range c.states {
		if t == nil {
			continue
		}
		p := c.programs[i]
		for decided := c.charges.decided(p); t.at < decided; {
			if err := ctx.Err(); err != nil {
				return err
			}
			w, _ := p.schedule.After(t.at)
			state := c.parts.gather.State(p.stream.Name, p.epoch, w)
			if !state.Ready {
				break
			}
			lost := state.Gone // not where records of the input were lost: then all parts are here that there ever were
			if !lost {
				var err error
				if _, lost, err = c.counting(ctx, i, w); err != nil {
					return err
				}
			}
			c.parts.gather.Decide(p.stream.Name, p.epoch, w)
			if t.at = w.End; lost {
				c.anew(i)
				break
			}
		}
	}
	return nil
}

// counting merges a window's parts for the users who count in it. See [parts.merge].
func (c *caps) counting(ctx context.Context, program int, w windows.Window) (*windows.Merger, bool, error) {
	p, t := c.programs[program], c.states[program]
	if t == nil {
		return c.parts.merge(ctx, p, w, nil)
	}
	if err := t.cap.Begin(w); err != nil {
		return nil, false, err
	}
	merged, lost, err := c.parts.merge(ctx, p, w, t.cap.Counts)
	t.need(needed{w.End, c.parts.gather.NeedsOf(p.stream.Name, p.epoch, w)})
	t.at = w.End
	return merged, lost, err
}

// bytes is how much memory the caps take. It lies beside the limits of bags and parts, since nobody may be forgotten.
func (c *caps) bytes() (sum int64) {
	for _, t := range c.states {
		if t != nil {
			sum += t.cap.Bytes()
		}
	}
	return sum
}

// caught makes sure that a program's cap has been through all windows before the next one, which is ready. If a window
// before is not ready by then, part of it is lost: the marks of a partition that the input no longer has.
func (c *caps) caught(program int) {
	if t := c.states[program]; t != nil && t.at < c.charges.decided(c.programs[program]) {
		c.anew(program)
	}
}

// anew begins a new era with a program's next window.
func (c *caps) anew(program int) {
	p, t := c.programs[program], c.states[program]
	decided := c.charges.decided(p)
	for w, ok := p.schedule.After(t.at); ok && w.End <= decided; w, ok = p.schedule.Next(w) {
		c.parts.gather.Decide(p.stream.Name, p.epoch, w)
	}
	next, more := p.schedule.After(decided)
	if !more {
		c.states[program] = nil
		return
	}
	t.cap, t.at, t.saved, t.needed = windows.NewCap(t.rule), decided, decided, nil
	t.of.Era = era(next)
	c.Metrics.Recounts.WithLabelValues(p.stream.Name).Inc()
	c.Log.Error("nobody knows any more how often users have counted, because parts or snapshots of earlier windows are "+
		"lost: max_windows begins anew with the next window, and what it costs adds to what earlier windows did",
		zap.String("stream", p.stream.Name), zap.Time("window_start", time.Unix(0, next.Start).UTC()))
}

// need adds what later sessions need of a window.
func (t *capState) need(n needed) {
	for len(t.needed) > 0 && t.needed[len(t.needed)-1].offset >= n.offset {
		t.needed = t.needed[:len(t.needed)-1]
	}
	t.needed = append(t.needed, n)
}

// needs returns the lowest offset that a session needs which begins when the windows up to an end are decided.
func (t *capState) needs(decided int64) int64 {
	known := max(t.saved, decided-t.rule.Reach()*int64(t.rule.Every()))
	for len(t.needed) > 0 && t.needed[0].end <= known {
		t.needed = t.needed[1:]
	}
	if len(t.needed) == 0 {
		return math.MaxInt64
	}
	return t.needed[0].offset
}

// needs returns the lowest offset that the caps of the next session need.
func (c *caps) needs() int64 {
	least := int64(math.MaxInt64)
	for i, t := range c.states {
		if t == nil {
			continue
		}
		p := c.programs[i]
		decided := c.charges.decided(p)
		if _, more := p.schedule.After(decided); more {
			least = min(least, t.needs(decided))
		}
	}
	return least
}
