package cost

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

// Payer is a budget and the streams that it pays for.
type Payer struct {
	Name string
	budget.Limit
	Streams []Stream
	// Before is what its books have for the last 24 hours, in ε. It is 0 unless former definitions, or users who were
	// counted anew, may have cost more than these streams do.
	Before decimal.Decimal
}

// Lost returns what this many windows of one of the streams cost a person who counts in all of them.
func (p Payer) Lost(s Stream, windows int64) Loss { return Of(p.Limit, s.window(windows)) }

// Needs returns what the schedules and the watches cost in any period if nothing is withheld. A budget of that ε and of
// this δ pays for everything, because its books add up just that. It is Unbounded if the budget is for ever and a
// schedule or its totals are endless.
func (p Payer) Needs() Loss {
	items, ok := p.items()
	if !ok {
		return Loss{Spending: budget.Spending{Unbounded: true}}
	}
	return Needed(p.Limit, items)
}

// items are what the schedules and the watches cost in a period if nothing is withheld. ok is false if there is no end
// of it.
func (p Payer) items() (items []budget.Item, ok bool) {
	for _, s := range p.Streams {
		n, bounded := s.Most(p.Per)
		if !bounded || s.Endless {
			return nil, false
		}
		items = append(append(items, s.window(n)...), s.Watches...)
	}
	return items, true
}

// Suited returns the budget with the order that suits what it pays for. worth says that this saves a twentieth of the
// ε that it needs, or more.
func (p Payer) Suited() (with Payer, worth bool) {
	items, _ := p.items()
	with = p
	if with.Order = budget.OrderFor(p.Delta, items); with.Order.IsZero() {
		return p, false
	}
	return with, with.Needs().Epsilon.LessThanOrEqual(p.Needs().Epsilon.Mul(decimal.New(95, -2)))
}

// Needed returns what items cost by the books of the least budget that pays for them, with the δ and the order of a
// limit.
func Needed(limit budget.Limit, items []budget.Item) Loss {
	return Loss{leastLimit(limit.Delta, limit.Order, items), sum(items)}
}

// leastLimit returns, approximately, the least ε of a budget whose books admit all items. Without an order in the limit
// books have one of their own, so that may be a little more than what the items cost alone.
func leastLimit(delta, order decimal.Decimal, items []budget.Item) budget.Spending {
	alone := budget.Limit{Delta: delta, Order: order}.Compose(items)
	admits := func(epsilon decimal.Decimal) bool {
		counted := budget.Limit{Epsilon: epsilon, Delta: delta, Order: order}.Compose(items)
		return !counted.Unbounded && counted.Epsilon.LessThanOrEqual(epsilon)
	}
	two := decimal.NewFromInt(2)
	low, high := alone.Epsilon, alone.Epsilon.Mul(two)
	if alone.Unbounded || admits(low) || !admits(high) {
		return alone
	}
	for range 20 {
		if middle := low.Add(high).Div(two).RoundUp(6); admits(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	alone.Epsilon = high
	return alone
}

// Saved returns what Needs would be if the budget had a δ, as with has. ok is false if it has a δ already, or if a δ
// would save less than a tenth.
func (p Payer) Saved(with Payer) (needs Loss, ok bool) {
	before, needs := p.Needs(), with.Needs()
	return needs, !p.Delta.IsPositive() && !before.Unbounded &&
		needs.Epsilon.LessThan(before.Epsilon.Mul(decimal.New(9, -1)))
}

// Watching returns what the watches, the releases on change and the running totals cost in a period at most.
func (p Payer) Watching() Loss {
	if slices.ContainsFunc(p.Streams, func(s Stream) bool { return s.Endless }) {
		return Loss{Spending: budget.Spending{Unbounded: true}}
	}
	return Of(p.Limit, p.watches())
}

// PaysWatches reports whether the budget could pay for all of these if it had nothing else to pay for.
func (p Payer) PaysWatches() bool {
	items := p.watches()
	return len(items) == 0 || budget.NewAccount(p.Limit).Fits(budget.Charge{Items: items})
}

func (p Payer) watches() (items []budget.Item) {
	for _, s := range p.Streams {
		items = append(items, s.Watches...)
	}
	return items
}

// Event returns into how many windows of one of the streams an event falls at most, in how many windows it changes the
// figures, and what these cost its person. The last two are larger under max_windows: see [Stream.Changed].
func (p Payer) Event(s Stream) (windows, changed int64, lost Loss) {
	windows = s.Overlapping(0)
	changed = s.Changed(windows)
	return windows, changed, p.Lost(s, changed)
}

// InAnyDay bounds what the windows that end in any 24 hours cost one person, with as many watches as may be armed. That
// is what the definitions say, so it is the least bound that holds: see [budget.Limit.Least].
func (p Payer) InAnyDay() Loss { return p.inAny(aDay) }

// aDay is the stretch of InAnyDay.
const aDay = 24 * time.Hour

// InAnyPeriod is InAnyDay for any period of the budget: for all time, if the budget is for ever.
func (p Payer) InAnyPeriod() Loss {
	if p.Per == 0 {
		return p.paid(p.Needs(), 1)
	}
	return p.inAny(p.Per)
}

func (p Payer) inAny(stretch time.Duration) Loss {
	return p.paid(Of(p.Limit, p.itemsInAny(stretch)), p.Periods(stretch))
}

// Covers reports whether InAnyDay bounds what was charged for the windows of a day: nothing was charged that is not in
// these definitions, and nothing more often. The books may count more for it all the same. While they hold watches, or
// figures on change, they keep to the order of the limit, and InAnyDay has an order of its own.
func (p Payer) Covers(charged []budget.Item) bool { return budget.Among(charged, p.itemsInAny(aDay)) }

// itemsInAny are what the windows that end in any stretch of time cost, with as many watches as may be armed.
func (p Payer) itemsInAny(stretch time.Duration) (items []budget.Item) {
	periods := p.Periods(stretch)
	for _, s := range p.Streams {
		beside := budget.Times(s.Watches, periods)
		if stretch <= aDay && (p.Per == 0 || p.Per > aDay) {
			beside = s.Daily
		}
		items = append(append(items, s.window(s.Counts(stretch))...), beside...)
	}
	return items
}

// afterAll is InAnyDay with what former definitions may have cost on the same day.
func (p Payer) afterAll() Loss {
	day := p.InAnyDay()
	if p.Before.IsZero() {
		return day
	}
	before := Loss{Spending: budget.Spending{Epsilon: p.Before, Delta: p.Delta}}
	return p.paid(day.plus(before), p.Periods(24*time.Hour))
}

// Stretch is what a person can lose through what they do in a stretch of time.
type Stretch struct {
	// Windows is how many windows the stretch overlaps at most.
	Windows int64
	// Later says that the person may count in later windows or periods instead. Partly says that those which also hold
	// other things of the person cost more than the others.
	Later, Partly bool
	Lost          Loss
}

// InAnyStretch returns the most that a person can lose through what they do in a stretch of time as long as the
// budget's period: what is published tells no more about whether they did it, or what, if all else that they do stays
// as it is. The budget must have a period.
//
// What the stretch touches in part costs more than what it holds whole, because there the person is removed and then
// added as what remains: see [Stream.stretch] and [privacy.Promise.Twice]. Each draw is a mechanism of its own, and
// what they cost adds up as usual. Watches, totals and discoveries are in [Stream.Touched].
//
// A budget counts windows by their ends. All windows that overlap the stretch end within the period plus the longest
// window, so together those in which the person counts cost at most the limit of two periods, or of more if the periods
// of a discovery are longer than that of the budget. Under max_windows the person may count later in windows in which
// they would not have counted: see [windows.CapRule.ChangedBy]. Together these cost at most the limit of the periods
// that cover a block. To add again what remains at the two ends of the stretch costs as much as what holds these
// moments.
func (p Payer) InAnyStretch() Stretch {
	var x Stretch
	var items []budget.Item
	var after int64 // periods
	var longest time.Duration
	for _, s := range p.Streams {
		n, cost := s.stretch(p.Per)
		x.Windows += n
		items = append(append(items, cost...), s.Touched...)
		x.Later = x.Later || s.Changed(1) > 1
		x.Partly = x.Partly || len(s.Touched) > 0 || !slices.EqualFunc(s.Edge, s.Items, budget.Item.Equal)
		longest = max(longest, s.Size, s.Longest)
		if m := s.MaxWindows; m != nil {
			after = max(after, p.Periods(time.Duration(m.Block)*s.Every+s.Size))
		}
		for _, rule := range s.Turns {
			x.Later = x.Later || rule.ChangedBy(1) > 1
			after = max(after, p.Periods(time.Duration(rule.Block+1)*rule.Every()))
		}
	}
	again := int64(0)
	if x.Partly {
		again = 2 * p.Periods(longest)
	}
	x.Lost = p.paidTwice(Of(p.Limit, items), p.Periods(p.Per+longest)+after, again)
	return x
}

// paidTwice bounds a loss by what the limit pays in so many periods, and in some of these again, where a person is
// first removed and then added again. For two steps the ε add up, and the δ of one is multiplied by e^ε of the other.
func (p Payer) paidTwice(lost Loss, periods, again int64) Loss {
	if again == 0 || p.Epsilon.IsZero() || p.Delta.IsZero() {
		return p.paid(lost, periods+again)
	}
	most := p.Epsilon.Mul(decimal.NewFromInt(periods + again))
	if !lost.Unbounded && lost.Epsilon.LessThanOrEqual(most) {
		return lost
	}
	epsilon, one := p.Epsilon.InexactFloat64(), p.Delta.InexactFloat64()
	chain := func(first, then int64) float64 {
		return one * (float64(first) + math.Exp(float64(first)*epsilon)*float64(then))
	}
	if delta := max(chain(periods, again), chain(again, periods)); delta < 1e-3 {
		lost.Spending = budget.Spending{Epsilon: most, Delta: decimal.NewFromFloat(delta).RoundUp(15)}
	}
	return lost
}

// paid bounds a loss by what the limit pays in so many periods: the rest is withheld. If its ε is 0, there is no limit
// yet.
func (p Payer) paid(lost Loss, periods int64) Loss {
	if p.Epsilon.IsZero() {
		return lost
	}
	n := decimal.NewFromInt(periods)
	if most := p.Epsilon.Mul(n); lost.Unbounded || lost.Epsilon.GreaterThan(most) {
		lost.Spending = budget.Spending{Epsilon: most, Delta: p.Delta.Mul(n)}
	}
	if lost.Sum != nil && p.Delta.IsZero() {
		lost.Sum = new(decimal.Min(*lost.Sum, lost.Epsilon))
	}
	return lost
}

// Runway reports how long the budget pays for the schedules, if as many watches as may be are charged in every period,
// and nothing else.
func (p Payer) Runway() budget.Runway { return p.account().Runway(p.schedules()) }

// account returns an account in which as many watches as may be are held.
func (p Payer) account() *budget.Account {
	a := budget.NewAccount(p.Limit)
	for _, s := range p.Streams {
		// The items are costs, and names of streams are unique.
		_ = a.Hold(budget.Held{ID: s.Stream, Stream: s.Stream, From: math.MinInt64, To: budget.Open, Items: s.Watches})
	}
	return a
}

func (p Payer) schedules() []budget.Schedule {
	all := make([]budget.Schedule, len(p.Streams))
	for i, s := range p.Streams {
		all[i] = s.Schedule
	}
	return all
}

// Backlog describes the windows of a stream that are due before it first runs, because its start is in the past.
type Backlog struct {
	Windows int64
	// Paid is how many of them the budget pays for if nothing has been charged to it yet. It is nil if there are too
	// many to count. Lost is what the paid ones cost one person.
	Paid *int64
	Lost Loss
}

// Backlogs returns the backlogs of the streams at a moment, in their order.
func (p Payer) Backlogs(now time.Time) []Backlog {
	schedules := p.schedules()
	backlogs := make([]Backlog, len(schedules))
	for i := range schedules {
		s := &schedules[i]
		last := now.Add(-p.Streams[i].Grace).UnixNano()
		if s.End != 0 {
			last = min(last, s.End)
		}
		s.End = max(last, 1) // 0 would mean no end
		if first := s.Start + int64(s.Size); last >= first {
			backlogs[i].Windows = (last-first)/int64(s.Every) + 1
		}
		backlogs[i].Paid = &backlogs[i].Windows
	}
	if !p.Runway().Pays {
		paid, exact := p.account().Paid(schedules)
		for i := range backlogs {
			if backlogs[i].Paid = &paid[i]; !exact {
				backlogs[i].Paid = nil
			}
		}
	}
	for i, s := range p.Streams {
		if n := backlogs[i].Paid; n != nil && *n > 0 {
			counts := *n
			if s.MaxWindows != nil {
				counts = s.MaxWindows.AtMostOf(counts)
			}
			backlogs[i].Lost = p.Lost(s, counts)
		}
	}
	return backlogs
}

// Shared is an input topic for whose people several budgets pay: what they lose adds up.
type Shared struct {
	Topic   string
	Budgets []string
	// Day bounds what the windows that end in any 24 hours cost one person through all of these budgets, whether by
	// these definitions or by those before. The streams of the budgets that read other topics are in it.
	Day Loss
}

// InCommon lists the topics that several of the payers pay for.
func InCommon(payers []Payer) (all []Shared) {
	byTopic := map[string][]Payer{}
	for _, p := range payers {
		topics := map[string]bool{}
		for _, s := range p.Streams {
			topics[s.Topic] = true
		}
		for topic := range topics {
			byTopic[topic] = append(byTopic[topic], p)
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		if len(byTopic[topic]) < 2 {
			continue
		}
		shared := Shared{Topic: topic, Day: Counted(byTopic[topic][0].Limit, nil)}
		for _, p := range byTopic[topic] {
			shared.Budgets = append(shared.Budgets, p.Name)
			shared.Day = shared.Day.plus(p.afterAll())
		}
		all = append(all, shared)
	}
	return all
}

// String says it in words.
func (s Shared) String() string {
	return fmt.Sprintf("topic %s: budgets %s pay for the same people: one person loses at most %s in any 24 h through "+
		"all of them", s.Topic, strings.Join(s.Budgets, ", "), s.Day)
}
