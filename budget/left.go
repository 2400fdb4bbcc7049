package budget

import (
	"slices"

	"github.com/shopspring/decimal"
)

// WindowsLeft returns how many more windows of a stream at this price, and under this cap, the period that ends at a
// moment could pay for if nothing returned meanwhile. Under a cap, once the largest prices are paid, further windows
// cost nothing.
func (a *Account) WindowsLeft(stream string, cap Cap, items []Item, at int64, plus ...Charge) int64 {
	from, to := a.limit.endingAt(at)
	unit := new(a.filter.sumOf(items))
	if !cap.none() {
		return a.mostThatFit(func(n int64) sum {
			return a.between(from, to, "", plus, batch{stream, cap, unit, n, at, at})
		})
	}
	spent := a.between(from, to, "", plus)
	return a.mostThatFit(func(n int64) sum {
		s := spent
		s.add(*unit, n)
		return s
	})
}

// mostThatFit returns the greatest n whose spending the limit admits, at most MostWindows.
func (a *Account) mostThatFit(spent func(n int64) sum) int64 {
	fits := func(n int64) bool { return a.limit.within(a.filter.bound(spent(n))) }
	if fits(MostWindows) { // mostly so under a cap
		return MostWindows
	}
	high := int64(1)
	for fits(high) {
		high *= 2
	}
	low := high / 2 // 0, or a number that fits
	for high-low > 1 {
		if middle := low + (high-low)/2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Return says how much of the spending returns to the budget, and when.
type Return struct {
	At      int64 // Unix nanoseconds
	Epsilon decimal.Decimal
}

// Returns lists, by time, what a rolling budget gets back after a moment if nothing else is charged. A charge returns
// when the end of its window is one period old. A held charge returns when its own end is. Stream "" means all streams.
func (a *Account) Returns(at int64, stream string) []Return {
	if a.limit.Per == 0 {
		return nil
	}
	per := int64(a.limit.Per)
	var ends []int64
	for _, k := range a.all() {
		if stream == "" || k.stream == stream {
			ends = append(ends, k.ends[k.upTo(before(at, per)):k.upTo(at)]...)
		}
	}
	for _, h := range a.allHeld() {
		if h.counts(before(at, per), at) && h.To <= at && (stream == "" || h.Stream == stream) {
			ends = append(ends, h.To)
		}
	}
	slices.Sort(ends)
	var out []Return
	if each, ok := a.sameReturn(stream); ok {
		for len(ends) > 0 {
			n := 1
			for n < len(ends) && ends[n] == ends[0] {
				n++
			}
			out = append(out, Return{At: after(ends[0], per), Epsilon: each.Mul(decimal.NewFromInt(int64(n)))})
			ends = ends[n:]
		}
		return out
	}
	ends = slices.Compact(ends)
	counted := func(from int64) decimal.Decimal { return a.filter.bound(a.between(from, at, stream, nil)).Epsilon }
	last := counted(before(at, per))
	for _, end := range ends {
		now := counted(end)
		if now.Cmp(last) < 0 {
			out = append(out, Return{At: after(end, per), Epsilon: last.Sub(now)})
			last = now
		}
	}
	return out
}

// sameReturn returns the ε that each charge gives back, if it does not depend on the others: all of them have one price
// of plain ε and no cap, and there is no δ to add them up more sharply.
func (a *Account) sameReturn(stream string) (decimal.Decimal, bool) {
	var only *class
	for _, k := range a.all() {
		if stream != "" && k.stream != stream {
			continue
		}
		if only != nil || !k.cap.none() {
			return decimal.Decimal{}, false
		}
		only = k
	}
	if only == nil || len(a.allHeld()) > 0 || !a.limit.Delta.IsZero() || !only.unit.sum.rho.IsZero() {
		return decimal.Decimal{}, false
	}
	each := only.unit.sum.plain
	return each, each.Sign() > 0
}
