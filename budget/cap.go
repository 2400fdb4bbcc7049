package budget

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Cap says that nobody counts in more than Count of the windows that are charged under it in any half-open period of
// length Per. So no more than Count of them cost one person anything, and a sum takes only the largest prices. The zero
// value is no cap.
type Cap struct {
	Count int64
	Per   time.Duration
	// Era tells apart choices of users that do not know of each other, such as those of two definitions of a stream.
	// What they cost adds up.
	Era int64
	// Lane names a part of a stream that has a limit of its own, such as one of its discoveries. It is "" for the
	// stream's windows. Each part chooses its users independently of the others, so what they cost adds up too.
	Lane string
}

func (c Cap) none() bool { return c == Cap{} }

// Check returns an error for an invalid cap. The zero value is valid.
func (c Cap) Check() error {
	switch {
	case c.none():
		return nil
	case c.Count < 1 || c.Count > MostWindows:
		return fmt.Errorf("cap of %d windows; want at least 1", c.Count)
	case c.Per <= 0:
		return fmt.Errorf("cap of windows per %s; want a positive duration", c.Per)
	}
	return nil
}

func compareCaps(x, y Cap) int {
	return cmp.Or(cmp.Compare(x.Lane, y.Lane), cmp.Compare(x.Era, y.Era), cmp.Compare(x.Count, y.Count),
		cmp.Compare(x.Per, y.Per))
}

// batch is some windows of one stream and cap that cost the same.
type batch struct {
	stream      string
	cap         Cap
	unit        *sum
	n           int64
	first, last int64 // ends of the first and of the last of them, if there are any
}

// Most returns for how many of n windows one person is charged at most. The windows end one step after another.
func (c Cap) Most(n int64, every time.Duration) int64 {
	if c.none() || n < 1 {
		return n
	}
	return min(n, c.most(0, (n-1)*int64(every)))
}

// most bounds in how many windows one person counts, of those whose ends lie from first to last.
//
// They lie in (last−first)/Per + 1 half-open periods one after another, of which the last ends at last.
func (c Cap) most(first, last int64) int64 {
	periods := int64((uint64(last)-uint64(first))/uint64(c.Per)) + 1
	if periods <= 0 || c.Count > MostWindows/periods {
		return MostWindows
	}
	return c.Count * periods
}

// largest bounds what windows of one stream and cap cost a person. Each figure of a sum takes the largest prices, for
// as many windows as the person may count in. Which prices are the largest may differ from figure to figure. Then the
// bound is more than any person can lose.
func largest(windows []batch) sum {
	var total sum
	n, first, last := int64(0), windows[0].first, windows[0].last
	for _, w := range windows {
		n, first, last = n+w.n, min(first, w.first), max(last, w.last)
	}
	most := windows[0].cap.most(first, last)
	if n <= most {
		for _, w := range windows {
			total.add(*w.unit, w.n)
		}
		return total
	}
	for _, figure := range sumFigures {
		slices.SortStableFunc(windows, func(x, y batch) int { return figure(y.unit).Cmp(*figure(x.unit)) })
		left, to := most, figure(&total)
		for _, w := range windows {
			take := min(left, w.n)
			if left -= take; take > 0 {
				*to = to.Add(figure(w.unit).Mul(decimal.NewFromInt(take)))
			}
		}
	}
	return total
}

// sumFigures are the figures of a sum.
var sumFigures = [...]func(s *sum) *decimal.Decimal{
	func(s *sum) *decimal.Decimal { return &s.plain },
	func(s *sum) *decimal.Decimal { return &s.order },
	func(s *sum) *decimal.Decimal { return &s.rho },
	func(s *sum) *decimal.Decimal { return &s.delta },
}

// addBatches adds windows of any streams and caps.
func (t *tally) addBatches(all []batch) {
	slices.SortFunc(all, func(x, y batch) int {
		return cmp.Or(cmp.Compare(x.stream, y.stream), compareCaps(x.cap, y.cap))
	})
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].stream == all[0].stream && all[n].cap == all[0].cap {
			n++
		}
		if one := all[0]; n == 1 { // with one price, all are the largest
			t.add(one.unit, min(one.n, one.cap.most(one.first, one.last)))
		} else {
			t.add(new(largest(all[:n])), 1)
		}
		all = all[n:]
	}
}

// MostWindows is the answer of WindowsLeft if the budget pays for any number: a window costs nothing, or nothing more
// under a cap.
const MostWindows = 1 << 53
