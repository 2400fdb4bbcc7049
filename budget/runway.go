package budget

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Schedule is the public plan of one stream: when its windows end and what each costs.
type Schedule struct {
	Stream string
	// Start is the start of the first window, in Unix nanoseconds.
	Start int64
	// Size and Every are greater than 0. Window k is [Start + k·Every, Start + k·Every + Size).
	Size, Every time.Duration
	// End is the end of the last window, in Unix nanoseconds, or 0 if the schedule is endless.
	End int64
	// Cap limits the windows in which a user counts. The zero value is no limit.
	Cap Cap
	// Items are the costs of a window.
	Items []Item
}

// charge returns the charge of the window with this end.
func (s Schedule) charge(end int64) Charge {
	return Charge{Stream: s.Stream, End: end, Cap: s.Cap, Items: s.Items}
}

// windows returns the first n windows, which cost unit each.
func (s Schedule) windows(n int64, unit *sum) batch {
	return batch{s.Stream, s.Cap, unit, n, s.first(), s.first() + (n-1)*int64(s.Every)}
}

func (s Schedule) first() int64 { return after(s.Start, int64(s.Size)) }

// count returns how many windows have ended at a moment.
func (s Schedule) count(at int64) int64 {
	if s.End != 0 {
		at = min(at, s.End)
	}
	if at < s.first() {
		return 0
	}
	// In unsigned numbers the difference is right even if the moments are more than MaxInt64 apart.
	n := (uint64(at) - uint64(s.first())) / uint64(s.Every)
	return int64(min(n, MostWindows-1)) + 1
}

// Windows returns how many windows there are, or [MostWindows] if the schedule is endless.
func (s Schedule) Windows() int64 { return s.count(math.MaxInt64) }

// Most returns how many windows cost one person anything at most, of those that end in any half-open stretch of time of
// length per. A per of 0 is all time: then bounded is false if the schedule is endless and its windows cost something.
//
// Such a stretch holds at most ⌈per/every⌉ ends that are one step apart.
func (s Schedule) Most(per time.Duration) (n int64, bounded bool) {
	n = s.Windows()
	switch {
	case per != 0:
		n = min(n, int64((per-1)/s.Every)+1)
	case s.End == 0 && len(s.Items) > 0:
		return n, false
	}
	if n > 0 {
		n = s.Cap.Most(n, s.Every)
	}
	return n, true
}

// Runway says how far an account can pay for a schedule.
type Runway struct {
	// Pays says that every window of the schedule fits.
	Pays bool
	// Windows is how many windows of all streams together are paid before the first unpaid one. It is 0 if Pays.
	Windows int64
	// ExhaustedAt is the end of the first window that does not fit, in Unix nanoseconds. It is 0 if Pays, or if that is
	// beyond the year 2262.
	ExhaustedAt int64
	// Worst bounds what the schedules alone would spend in any period if there were no limit, from each stream's
	// fullest period. It is Unbounded if the budget is for ever and a schedule is endless.
	Worst Spending
}

// farthestWindows is how many windows are checked before a schedule counts as paid. If the period is a multiple of the
// windows, one period decides exactly. Other schedules repeat after the least common multiple of their steps, which may
// be further than this. [Account.Fits] decides each window in any case.
const farthestWindows = 1 << 20

// Runway continues the schedules from the account's present charges, without changing the account. Windows that end
// together come in the order of the schedules. Of the expected charges, in the order in which they begin, it holds
// those that fit after the windows that end then: the others would be withheld, and not the windows. A limit for ever
// expects none.
func (a *Account) Runway(schedules []Schedule, expected ...Held) Runway {
	schedules = slices.DeleteFunc(slices.Clone(schedules), func(p Schedule) bool { return p.count(math.MaxInt64) == 0 })
	if len(schedules) == 0 {
		return Runway{Pays: true} // even where the account is overspent
	}
	worst, bounded := a.fullest(schedules)
	r := Runway{Worst: a.filter.bound(worst)}
	if !bounded {
		r.Worst.Unbounded = true
	}
	switch {
	case a.limit.Per == 0:
		a.runwayForever(schedules, expected, &r)
	case a.onSchedule(schedules) && a.fitsFullest(worst, schedules, expected):
		r.Pays = true
	default:
		a.runwayRolling(schedules, expected, &r)
	}
	return r
}

// onSchedule reports whether all windows that the account was charged for are earlier ones of the schedules, each once.
// Then the windows of no period, past or future, cost more than those of the fullest one. Most accounts are like that,
// and need not be continued window by window.
func (a *Account) onSchedule(schedules []Schedule) bool {
	found := map[string]bool{}
	for _, k := range a.all() {
		i := slices.IndexFunc(schedules, func(p Schedule) bool { return p.Stream == k.stream })
		if i < 0 || found[k.stream] {
			return false
		}
		found[k.stream] = true
		p := schedules[i]
		if p.End != 0 || !p.Cap.none() || !k.cap.none() || !slices.EqualFunc(k.items, p.Items, Item.Equal) {
			return false
		}
		next := p.first()
		for _, end := range slices.Backward(k.ends) {
			if end >= next || (p.first()-end)%int64(p.Every) != 0 {
				return false
			}
			next = end
		}
	}
	return true
}

// fitsFullest reports whether the limit holds even if the windows of every period cost as much as those of the fullest
// one, beside what is held and expected. What is held only grows where something begins, so it looks at these moments.
func (a *Account) fitsFullest(worst sum, schedules []Schedule, expected []Held) bool {
	_, first := earliest(schedules, make([]int64, len(schedules)))
	type change struct {
		at   int64
		unit *sum
		by   int64
	}
	changes := []change{{first, &sum{}, 1}}
	hold := func(h Held, unit *sum) {
		if gone := after(h.To, int64(a.limit.Per)); gone > first {
			changes = append(changes, change{max(h.From, first), unit, 1}, change{gone, unit, -1})
		}
	}
	for _, h := range a.allHeld() {
		hold(h.Held, a.sum(h.unit))
	}
	units := map[string]*sum{}
	for _, h := range expected {
		of := price(h.Items)
		if units[of] == nil {
			units[of] = new(a.filter.sumOf(h.Items))
		}
		hold(h, units[of])
	}
	slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.by, y.by)) })
	held := map[*sum]int64{}
	for i, c := range changes {
		held[c.unit] += c.by
		if c.by < 0 || i+1 < len(changes) && changes[i+1].at == c.at {
			continue
		}
		all := sum{}
		all.add(worst, 1)
		for unit, n := range held {
			all.add(*unit, n)
		}
		if !a.limit.within(a.filter.bound(all)) {
			return false
		}
	}
	return true
}

// fullest sums each stream's fullest period.
func (a *Account) fullest(schedules []Schedule) (s sum, bounded bool) {
	bounded = true
	for _, p := range schedules {
		n, ok := p.Most(a.limit.Per)
		if ok {
			s.add(a.filter.sumOf(p.Items), n)
		}
		bounded = bounded && ok
	}
	return s, bounded
}

// runwayForever finds the first unpaid window. What is expected begins one by one, and between two of these moments the
// charges up to a moment only grow, so the window is found by bisection. Nothing returns: what does not fit once never
// will.
func (a *Account) runwayForever(schedules []Schedule, expected []Held, r *Runway) {
	endless := false
	for _, p := range schedules {
		endless = endless || p.End == 0 && len(p.Items) > 0
	}
	counts, units := make([]int64, len(schedules)), make([]*sum, len(schedules))
	for i, p := range schedules {
		units[i] = new(a.filter.sumOf(p.Items))
	}
	held := sum{}                    // of what is expected
	pays := func(more ...sum) bool { // for so many windows of each, the first ones
		windows := make([]batch, len(schedules))
		for i, p := range schedules {
			windows[i] = p.windows(counts[i], units[i])
		}
		all := a.between(math.MinInt64, math.MaxInt64, "", nil, windows...)
		for _, s := range append(more, held) {
			all.add(s, 1)
		}
		return a.limit.within(a.filter.bound(all))
	}
	fits := func(at int64, more ...sum) bool {
		for i, p := range schedules {
			counts[i] = p.count(at)
		}
		return pays(more...)
	}
	_, first := earliest(schedules, make([]int64, len(schedules)))
	low, high := first-1, int64(math.MaxInt64)
	var withheld []Item
	for _, h := range expected {
		if withheld != nil && slices.EqualFunc(h.Items, withheld, Item.Equal) {
			continue
		}
		if h.From >= first && !fits(h.From) {
			high = h.From
			break
		}
		low = max(low, h.From)
		if cost := a.filter.sumOf(h.Items); fits(h.From, cost) {
			held.add(cost, 1)
		} else {
			withheld = h.Items
		}
	}
	if high == math.MaxInt64 && fits(high) {
		// The budget lasts longer than 64-bit time, but an endless schedule ends unpaid all the same.
		if r.Pays = !endless; endless {
			r.Windows = total(schedules, math.MaxInt64)
		}
		return
	}
	for low < high-1 { // at low, no window has ended or all are paid; at high, one is not
		if middle := low + int64((uint64(high)-uint64(low))/2); fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	r.ExhaustedAt, r.Windows = high, total(schedules, high-1)
	for i, p := range schedules {
		counts[i] = p.count(high - 1)
	}
	for i, p := range schedules {
		if p.count(high) == counts[i] {
			continue
		}
		counts[i]++
		if !pays() {
			return
		}
		r.Windows++
	}
}

func total(schedules []Schedule, at int64) int64 {
	n := int64(0)
	for _, p := range schedules {
		n += p.count(at)
	}
	return n
}

// runwayRolling charges a copy of the account window by window, or many windows at once where all of them surely fit.
func (a *Account) runwayRolling(schedules []Schedule, expected []Held, r *Runway) {
	per := int64(a.limit.Per)
	free := int64(math.MinInt64) // from here on, earlier charges of windows no longer count
	for _, k := range a.all() {
		if n := len(k.ends); n > 0 {
			free = max(free, after(k.ends[n-1], per))
		}
	}
	freed := free                 // and from here on, only what is held for good
	holding, ever := sum{}, sum{} // what is held beyond free, and what is held for good
	for _, h := range a.allHeld() {
		switch gone := after(h.To, per); {
		case h.To == Open:
			holding.add(*a.sum(h.unit), 1)
			ever.add(*a.sum(h.unit), 1)
			freed = max(freed, h.From)
		case gone > free:
			holding.add(*a.sum(h.unit), 1)
			freed = max(freed, gone)
		}
	}
	for _, h := range expected {
		cost := a.filter.sumOf(h.Items)
		holding.add(cost, 1)
		ever.add(cost, 1)
		freed = max(freed, h.From)
	}
	steadyAt := freed // from here on, every stream has filled a period, so everything repeats after `repeat`
	repeat, step := int64(1), int64(math.MaxInt64)
	for _, p := range schedules {
		steadyAt = max(steadyAt, after(p.first(), per))
		// a stream that ends repeats until its end, and costs less afterwards
		repeat = leastCommonMultiple(repeat, int64(p.Every))
		step = min(step, int64(p.Every))
	}
	last := after(steadyAt, repeat) // nothing new happens later
	least := int64(math.MaxInt64)   // how long a stretch is at least that is decided at once
	if step <= math.MaxInt64/together {
		least = step * together
	}
	worst, _ := a.fullest(schedules)
	for _, c := range []struct {
		held sum
		from int64
	}{{ever, freed}, {holding, free}} {
		// From then on the fullest period of each schedule fits, besides what is held.
		c.held.add(worst, 1)
		if a.limit.within(a.filter.bound(c.held)) {
			last = min(last, before(c.from, 1))
		}
	}
	ahead := a.plan(schedules)
	span, alone := int64(math.MaxInt64), 0
	for r.Windows < farthestWindows {
		i, end := earliest(schedules, ahead.next)
		if i < 0 || end > last {
			break
		}
		for len(expected) > 0 && expected[0].From < end {
			if ahead.FitsHeld(expected[0]) {
				_ = ahead.Hold(expected[0]) // one that is known already counts
			}
			expected = expected[1:]
		}
		if span >= least {
			to := min(last, after(end, span))
			if len(expected) > 0 {
				to = min(to, expected[0].From)
			}
			if n := ahead.paidUntil(end, to); n > 0 && n <= farthestWindows-r.Windows {
				ahead.charge(to)
				r.Windows, span = r.Windows+n, after(span, span)
			} else {
				span = int64((uint64(to) - uint64(end)) / 2)
			}
			continue
		}
		c := schedules[i].charge(end)
		if !ahead.Fits(c) {
			r.ExhaustedAt = end
			return
		}
		ahead.Add(c)
		ahead.next[i]++
		r.Windows++
		if alone++; alone%together == 0 {
			span = least
		}
	}
	r.Pays, r.Windows = true, 0
}

// together is in how many steps windows are decided at once at least.
const together = 32

// plan is a copy of an account that is charged for the windows of schedules.
type plan struct {
	*Account
	schedules []Schedule
	units     []*sum  // of a window of each
	next      []int64 // the number of each one's next window
}

func (a *Account) plan(schedules []Schedule) plan {
	p := plan{a.clone(), schedules, make([]*sum, len(schedules)), make([]int64, len(schedules))}
	for i, s := range schedules {
		p.units[i] = new(a.filter.sumOf(s.Items))
	}
	return p
}

// paidUntil returns how many windows are next up to a moment, the first of which ends at from. It is 0 unless they fit
// even if nothing returned meanwhile. A period that holds one of them costs at most these windows, all that counts in
// the first such period, and all that ends later.
func (p plan) paidUntil(from, to int64) (n int64) {
	windows := make([]batch, len(p.schedules))
	for i, s := range p.schedules {
		some := s.count(to) - p.next[i]
		first := s.first() + p.next[i]*int64(s.Every)
		windows[i] = batch{s.Stream, s.Cap, p.units[i], some, first, first + (some-1)*int64(s.Every)}
		n += some
	}
	if !p.limit.within(p.filter.bound(p.between(before(from, int64(p.limit.Per)), math.MaxInt64, "", nil, windows...))) {
		return 0
	}
	return n
}

// charge charges all windows up to a moment.
func (p plan) charge(to int64) {
	for i, s := range p.schedules {
		for n := s.count(to); p.next[i] < n; p.next[i]++ {
			p.Add(s.charge(s.first() + p.next[i]*int64(s.Every)))
		}
	}
}

// Paid continues schedules that end, from the account's present charges, and returns how many windows of each it pays
// for. It does not change the account. exact is false if there are more windows than it checks. Then it counts only
// those.
func (a *Account) Paid(schedules []Schedule) (paid []int64, exact bool) {
	copied := a.clone()
	paid, next := make([]int64, len(schedules)), make([]int64, len(schedules))
	for range farthestWindows {
		i, end := earliest(schedules, next)
		if i < 0 {
			return paid, true
		}
		next[i]++
		if c := schedules[i].charge(end); copied.Fits(c) {
			copied.Add(c)
			paid[i]++
		}
	}
	return paid, false
}

// earliest finds the schedule whose next window ends first, or −1 if all schedules are over.
func earliest(schedules []Schedule, next []int64) (stream int, end int64) {
	stream = -1
	for i, p := range schedules {
		e := p.first() + next[i]*int64(p.Every)
		if (p.End == 0 || e <= p.End) && (stream < 0 || e < end) {
			stream, end = i, e
		}
	}
	return stream, end
}

// leastCommonMultiple returns the least common multiple of positive numbers, or MaxInt64 if it is larger.
func leastCommonMultiple(a, b int64) int64 {
	g := a
	for r := b; r != 0; {
		g, r = r, g%r
	}
	if b/g > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * (b / g)
}
