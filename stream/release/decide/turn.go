package decide

import (
	"math"
	"slices"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// A budget decides its windows and the periods of its discoveries in the order in which they are due. So the order of
// charges depends on the public schedule only. What is due later waits even if it is complete.

// turn is what is decided next of a lane.
type turn struct {
	lane   *attendance.Lane
	window windows.Window
	due    int64 // the latest time there is if nothing is left
	state  windows.State
	paid   ledger.PaidElsewhere // what earlier budgets had paid for the stream
}

// turnsOf returns what is next of each stream and discovery of a budget. Discoveries come first.
func (c *Core) turnsOf(budget string) (all []turn) {
	for _, p := range c.programs {
		if p.Stream.Budget.Name == budget {
			for _, l := range p.lanes.Periods {
				all = append(all, nextOf(l))
			}
		}
	}
	for _, p := range c.programs {
		if p.Stream.Budget.Name == budget {
			all = append(all, nextOf(p.lanes.Windows))
		}
	}
	return all
}

// nextOf returns the undecided window of a lane that is due first.
func nextOf(l *attendance.Lane) turn {
	t := turn{lane: l, due: math.MaxInt64}
	var more bool
	if t.window, more = l.Next(); more {
		t.due = l.Schedule.Due(t.window)
	}
	return t
}

// firstDue returns the turn that is due first, or false if there is none. If several are due at the same time, it is
// the first of them: see [Config].
func firstDue(turns []turn) (next turn, ok bool) {
	next.due = math.MaxInt64
	for _, t := range turns {
		if t.due < next.due {
			next, ok = t, true
		}
	}
	return next, ok
}

// Continued is another partition of the ledger. It holds charges of budgets that budgets here have taken over.
type Continued struct {
	Partition int
	Budgets   []string // those taken over
	By        []string // those that took over
}

// Continued lists the other partitions whose charges count in this one. They have to be read before it.
func (c *Config) Continued() (all []Continued) {
	var here []string
	for _, e := range c.Editions {
		if c.Place(e.Stream.Budget.Name) == c.Partition {
			here = append(here, e.Stream.Budget.Name)
		}
	}
	slices.Sort(here)
	for _, by := range slices.Compact(here) {
		for _, old := range c.Lineage(by)[1:] {
			from := c.Place(old)
			if from == c.Partition {
				continue
			}
			i := slices.IndexFunc(all, func(o Continued) bool { return o.Partition == from })
			if i < 0 {
				i = len(all)
				all = append(all, Continued{Partition: from})
			}
			all[i].Budgets, all[i].By = append(all[i].Budgets, old), append(all[i].By, by)
		}
	}
	return all
}

// inherited reports whether the budgets that a budget has taken over can be charged no more, with all their charges in
// the books. Until then no window of the new budget can be decided. read names the partitions that have to be read on
// first. Charges that come late, against the rules, count too.
func (c *Core) inherited(budget string) (ok bool, read []int) {
	for _, o := range c.continued {
		if slices.Contains(o.By, budget) && !c.fresh[o.Partition] {
			read = append(read, o.Partition)
		}
	}
	if len(read) > 0 || c.inherits[budget] {
		return len(read) == 0, read
	}
	line := c.Lineage(budget)[1:]
	for _, e := range c.Editions {
		if !slices.Contains(line, e.Stream.Budget.Name) {
			continue
		}
		last, ok := c.stateOf(e.Stream.Budget.Name).Books.Last(e.Stream.Name, e.Number)
		if e.Schedule.End == 0 || !ok || last.UnixNano() < e.Schedule.End {
			return false, nil
		}
	}
	c.inherits[budget] = true
	return true, nil
}

// stateOf returns the state of the partition that holds a budget, or nil if it was not read.
func (c *Core) stateOf(budget string) *ledger.State {
	if at := c.Place(budget); at != c.Partition {
		return c.others[at]
	}
	return c.own.State
}

// paidElsewhere returns what earlier budgets of a program's stream had paid for it: budgets whose spending the present
// one does not count. ok is false while one of their windows that is due before w is undecided, because their sum is
// not known yet. read names a partition of theirs that has to be read on first.
//
// Waiting ends: a window waits only for windows that are due earlier, and a budget decides its windows in the order in
// which they are due. An earlier definition may have had a longer grace. Then some of its windows are due later than w,
// and what they cost is left out.
func (c *Core) paidElsewhere(p *program, w windows.Window) (paid ledger.PaidElsewhere, ok bool, read []int) {
	stream, line := p.Stream.Name, c.Lineage(p.Stream.Budget.Name)
	latest, known := c.own.Books.Latest(stream)
	if known = known && slices.Contains(line, latest.Budget); known && latest.Epoch == p.Number {
		return latest.PaidElsewhere, true, nil
	}
	for _, e := range slices.Backward(c.Editions) {
		if e.Stream.Name != stream || e.Number >= p.Number || slices.Contains(line, e.Stream.Budget.Name) {
			continue
		}
		if known && e.Number < latest.Epoch {
			break
		}
		if at := c.Place(e.Stream.Budget.Name); at != c.Partition && !c.fresh[at] {
			return nil, false, []int{at}
		}
		books := c.stateOf(e.Stream.Budget.Name).Books
		decided := int64(math.MinInt64)
		last, began := books.Last(stream, e.Number)
		if began {
			decided = last.UnixNano()
		}
		if next, ok := e.Schedule.After(decided); ok && e.Schedule.Due(next) < p.Schedule.Due(w) {
			return nil, false, nil
		}
		if !began {
			continue
		}
		return books.Paid(e.Stream.Budget.Name, stream).Without(line), true, nil
	}
	if known {
		paid = latest.PaidElsewhere
	}
	return paid, true, nil
}

// recent returns what a stream has published lately, including while a budget of another partition paid for it.
func (c *Core) recent(stream string) []ledger.Past {
	own := c.own.Recent(stream)
	var before []ledger.Past
	for _, o := range c.continued {
		before = append(before, c.others[o.Partition].Recent(stream)...)
	}
	if len(before) == 0 {
		return own
	}
	return append(before, own...)
}
