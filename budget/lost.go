package budget

import (
	"math"
	"slices"

	"github.com/shopspring/decimal"
)

// What counts against a limit, and what one person can have lost, are two figures. A filter has to decide while draws
// go on, so its order is fixed beforehand, by the limit alone: for a limit with much room it suits the sum that fills
// it, and says far too much of the first few charges. What was charged is then known, and its bound can be as small as
// for these charges alone.
//
// # Why another order may be chosen
//
// Let the charges from one moment to another be public: what is charged when follows from definitions, limits and
// earlier charges, and from nothing that was drawn. So all draws of that time are one mechanism with known prices. Its
// Rényi divergence of the order α is at most the sum of the prices at α, for every α, and each α gives a valid (ε, δ)
// (the proof in filter.go, without a stop). These are facts about one and the same mechanism: the least ε of all α
// holds too, as long as nothing that was drawn chooses it. It is chosen by the prices alone.
//
// A watch that has fired is armed again, and charged again, because of what was drawn. Then the charges are not public,
// and only the order of the limit, which was fixed beforehand, is used: see [Held.Drawn].

// Least returns about the least ε with the δ of the limit that bounds the total cost of items that were public before
// anything was drawn: by the order of the limit, or by an order of their own. A bound that needs a δ where the other
// one needs none is taken only if it saves more than a hundredth.
func (l Limit) Least(items []Item) Spending {
	return l.less(l.Compose(items), Limit{Delta: l.Delta}.Compose(items))
}

// less chooses between what the books of the limit count and a bound by an order of its own.
func (l Limit) less(counted, own Spending) Spending {
	most := counted.Epsilon
	if own.Delta.GreaterThan(counted.Delta) {
		most = most.Mul(decimal.New(99, -2))
	}
	if counted.Unbounded ||
		own.Epsilon.LessThan(most) && own.Delta.LessThanOrEqual(decimal.Max(counted.Delta, l.Delta)) {
		return own
	}
	return counted
}

// Lost bounds what one person can have lost by the charges that count at a moment, in Unix nanoseconds. It counts the
// charges in plus as if they were added. Stream "" means all streams of the budget.
func (a *Account) Lost(stream string, at int64, plus ...Charge) Spending {
	from, to := a.limit.endingAt(at)
	return a.LostIn(stream, from, to, plus...)
}

// LostIn is Lost for the charges with an end in (from, to], and for what was held in that time, whatever the budget's
// period is.
func (a *Account) LostIn(stream string, from, to int64, plus ...Charge) Spending {
	counted := a.filter.bound(a.between(from, to, stream, plus))
	if a.filter.above.IsZero() || slices.ContainsFunc(a.allHeld(), func(h *held) bool {
		return h.Drawn && h.counts(from, to) && (stream == "" || h.Stream == stream)
	}) || slices.ContainsFunc(plus, func(c Charge) bool { return c.Drawn }) {
		return counted
	}
	own := *a
	own.filter, own.foreign = filterFor(a.limit.Delta, a.itemsIn(from, to, stream, plus)), nil
	if own.filter.above.IsZero() { // there are no items
		return counted
	}
	return a.limit.less(counted, own.filter.bound(own.between(from, to, stream, plus)))
}

// Used is how many windows of a stream with these costs are charged in a lane, of those that count at a moment. It
// counts the charges in plus as if they were added.
func (a *Account) Used(stream, lane string, price []Item, at int64, plus ...Charge) (windows int64) {
	from, to := a.limit.endingAt(at)
	price = merged(price)
	alike := func(of, in string, items []Item) bool {
		return of == stream && in == lane && slices.EqualFunc(items, price, Item.Equal)
	}
	for _, k := range a.all() {
		if alike(k.stream, k.cap.Lane, k.items) {
			windows += int64(k.upTo(to) - k.upTo(from))
		}
	}
	for _, c := range plus {
		if len(price) > 0 && alike(c.Stream, c.Cap.Lane, c.Items) && from < c.End && c.End <= to {
			windows++
		}
	}
	return windows
}

// Charged lists what is charged with an end in (from, to], and what was held in that time: each cost once, with how
// often one person is charged it.
func (a *Account) Charged(from, to int64) []Item { return merged(a.itemsIn(from, to, "", nil)) }

// Among reports whether items are among others, each as often at most. Then they cost no more, however costs add up.
func Among(items, others []Item) bool {
	most := merged(others)
	for _, i := range merged(items) {
		at, found := slices.BinarySearchFunc(most, i, func(a, b Item) int { return compare(a.Promise, b.Promise) })
		if !found || most[at].Times < i.Times {
			return false
		}
	}
	return true
}

// itemsIn lists what is charged from one moment to another, for the choice of an order. Of windows under a cap it takes
// the first ones as if they were the dearest: every order gives a valid bound.
func (a *Account) itemsIn(from, to int64, stream string, plus []Charge) (items []Item) {
	add := func(price []Item, n int64) { items = append(items, Times(price, n)...) }
	for _, k := range a.all() {
		i, j := k.upTo(from), k.upTo(to)
		switch {
		case i == j || stream != "" && k.stream != stream:
		case k.cap.none():
			add(k.unit.items, int64(j-i))
		default:
			add(k.unit.items, min(int64(j-i), k.cap.most(k.ends[i], k.ends[j-1])))
		}
	}
	for _, c := range plus {
		if from < c.End && c.End <= to && (stream == "" || c.Stream == stream) {
			add(c.Items, 1)
		}
	}
	for _, h := range a.allHeld() {
		if h.counts(from, to) && (stream == "" || h.Stream == stream) {
			add(h.unit.items, 1)
		}
	}
	return items
}

// Guess bounds the probability, from 0.5 to 1, that a guess about whether one user is in the data is right, if both are
// equally likely beforehand. The bound holds even for someone who knows everything about everyone else.
//
// A guess is a test between two neighbouring inputs. It says "yes" with probability t if the user is in the data, and f
// if not. (ε, δ)-DP gives t ≤ e^ε·f + δ and 1 − f ≤ e^ε·(1 − t) + δ. The sum of both bounds t − f by (e^ε − 1 +
// 2δ)/(e^ε + 1), and the guess is right in (1 + t − f)/2 ≤ (e^ε + δ)/(e^ε + 1) of all cases.
//
// Source: Kairouz, Oh, Viswanath (2015), theorem 2.1.
func (s Spending) Guess() float64 {
	if s.Unbounded {
		return 1
	}
	shrink := math.Exp(-s.Epsilon.InexactFloat64())
	return min(1, (1+s.Delta.InexactFloat64()*shrink)/(1+shrink))
}
