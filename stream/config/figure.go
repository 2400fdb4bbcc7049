package config

import (
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// Figure is what a stream publishes under one name: a [*Release], [*Computed], [*Total], [*Active], [*Watch],
// [*Change] or [*Discovery]. Whoever goes through the figures of a stream asks these, and so need not know the kinds.
type Figure interface {
	Kind() Kind
	// Heading has what all kinds have.
	Heading() *Head
	// Series describes the values that it publishes for a group, in order, each with the ε and δ of one charge.
	Series() []record.Series
	// Cost says what it costs one user.
	Cost() Cost
	// WithDelta is the figure as it would be if the budget had a δ, or had none: some statistics then have another
	// mechanism by default.
	WithDelta(has bool) Figure
	// About says what people read beside the series.
	About() About
}

// Ongoing is a figure that is published again and again for one charge: a [*Total], a [*SoFar] or an [*Active]. Time is
// divided into leaves, and a strategy of package running draws its numbers at the end of each.
type Ongoing interface {
	Figure
	// Law returns the strategy, which has the law of the noise, and how many leaves have a law of their own.
	Law() (law running.Strategy, longest int64)
	// Numbers is how many numbers are drawn of a group.
	Numbers() int
	// Drawn describes the figure, with the ε of one charge in one group.
	Drawn() record.Series
}

// Head is what all kinds of figures have.
type Head struct {
	// Name is unique in the stream.
	Name string
	// Where says where the figure is defined, as "file:line".
	Where string
	// Definition is a fingerprint of everything that an instance depends on; "" if a charge is for one window or
	// period.
	Definition string
	// Unit is that of the stream's values.
	Unit string
	// Groups is in how many groups one user counts, at least 1: of a window, of a period, or of those that are found.
	Groups int64
	// Budget pays for it.
	Budget *Budget
}

// Heading returns the head itself.
func (h *Head) Heading() *Head { return h }

// Kind is a kind of figure. The order of the kinds is that of charges, draws and records. Discoveries come first where
// they are due with a window.
type Kind int

// The kinds of figures, in their order.
const (
	Drawn    Kind = iota // a [Release], drawn in every window
	Derived              // a [Computed] figure, from a histogram
	Running              // a [Total]
	Present              // an [Active]
	Tested               // a [Watch]
	Redrawn              // a [Change]
	Searched             // a [Discovery]
)

// Kinds has a row for each kind, in their order: how it is called, and what all of its figures have in common.
var Kinds = [...]struct {
	// Noun is what users call one, Plural several of them beside a stream's windows, and Title one at the beginning of
	// a sentence.
	Noun, Plural, Title string
	// List is the key of the list in which a stream has it in a streams file.
	List string
	// Counts says whom a number of users counts, if it is not those of a window; else "".
	Counts string
	// Remembers says what has to be remembered of users over many windows, in a log; "" if nothing has.
	Remembers string
	// Scope is the name of what one charge pays for, in statements of what a person can lose.
	Scope string
	// Lasts says that it has instances, which look at windows one after another. Each is charged once, or once in any
	// day.
	Lasts bool
	// Finds says that it finds the groups, at the end of each of its own periods. It has no values of groups.
	Finds bool
	// Whole says that where groups are found, it has something to say of no group: what is found, or whether a watch is
	// armed.
	Whole bool
}{
	Drawn:   {Noun: "release", Plural: "releases", Title: "Release", List: "releases"},
	Derived: {Noun: "computed figure", Plural: "computed figures", Title: "Computed figure", List: "releases"},
	Running: {Noun: "total", Plural: "running totals", Title: "Running total", List: "releases", Scope: "total",
		Lasts: true, Counts: "is a running total, and counts the users of a whole period",
		Remembers: "who has counted in a running total"},
	Present: {Noun: "number of active users", Plural: "numbers of active users", Title: "Number of active users",
		List: "releases", Scope: "active", Lasts: true,
		Counts:    "counts the users seen lately, and not those of a window",
		Remembers: "who was seen lately"},
	Tested: {Noun: "watch", Plural: "watches", Title: "Watch", List: "watches", Scope: "watch", Lasts: true,
		Whole: true},
	Redrawn: {Noun: "release", Plural: "releases on change", Title: "Release", List: "releases", Scope: "watch",
		Lasts: true},
	Searched: {Noun: "discovery", Plural: "discoveries", Title: "Discovery", List: "groups.discover",
		Scope: "discovery", Finds: true, Whole: true},
}

// Per says for how long one charge pays.
type Per int

// How long one charge pays.
const (
	PerNothing  Per = iota // it costs nothing
	PerWindow              // one window of the stream
	PerInstance            // an instance, over many windows
	PerPeriod              // one period of many windows. Periods follow one another
)

// Endless stands for the number of charges if a budget for ever has to pay for periods without end, which it cannot.
const Endless = 1 << 20

// Cost is what a figure costs one user.
type Cost struct {
	Per Per
	// Items are one charge. First is what the first charge of an instance costs beside it.
	Items, First []budget.Item
	// Partly is the cost of one charge to a user of whom only some events are removed. The others remain and may count
	// in their place, which costs up to twice as much: see [privacy.Promise.Twice]. Stays is the same if the user can't
	// count in other groups then; nil means Partly.
	Partly, Stays []budget.Item
	// Stretch is what a stretch of time as long as the budget's period costs if it is taken back and all else that a
	// person does remains; nil if that follows from the charges that it touches.
	Stretch []budget.Item
	// AtMost is the most charges that count in a period of the budget, or Endless. It says nothing of windows. Daily is
	// the most that count in any 24 hours, at most AtMost; 0 means AtMost.
	AtMost, Daily int64
	// Cap says how many charges count for one user, of those for periods; nil: all.
	Cap *MaxWindows
}

// Most returns the most that counts in a period of the budget, of a figure that is not charged for windows.
func (c Cost) Most() []budget.Item { return append(budget.Times(c.Items, c.AtMost), c.First...) }

// InADay returns the most that counts in any 24 hours, of such a figure.
func (c Cost) InADay() []budget.Item {
	return append(budget.Times(c.Items, min(c.AtMost, cmp.Or(c.Daily, c.AtMost))), c.First...)
}

// Paid returns how many of AtMost charges a limit pays for in a period of the budget if nothing else is charged.
func (c Cost) Paid(limit budget.Limit) int64 {
	account := budget.NewAccount(limit)
	return int64(sort.Search(int(c.AtMost), func(n int) bool {
		return !account.Fits(budget.Charge{Items: append(budget.Times(c.Items, int64(n+1)), c.First...)})
	}))
}

// About is what people read about a figure beside its series. The zero value of a field says that it has no such
// property.
type About struct {
	// Query says how the values follow from the users of a window. It is nil if they follow from more than one window.
	Query *mechanisms.Query
	// Epsilon is what the file says that one draw costs, or the test of a watch.
	Epsilon decimal.Decimal
	// Above and Below bound the values that count, or the share of the users that is published.
	Above, Below *decimal.Decimal
	// Since is the unit of the calendar at whose periods a total begins anew. Update is the time between two records, if
	// not each window has one.
	Since  period.Unit
	Update time.Duration
	// Noise says how far a value may be off, if it is of more than one window; nil if the definition does not say that.
	Noise *Noise
	// Lasts says for what time one charge of an instance pays, such as "in each day", and Windows for which windows:
	// those "of that day".
	Lasts, Windows string
	Public
}

// Public is what the API says of a figure beside its series. Its JSON names are public.
type Public struct {
	// OnChange says that it is drawn when its last value no longer holds.
	OnChange bool `json:"on_change"`
	// Hold is how long a watch looks at nothing after it has fired, in seconds.
	Hold *int64 `json:"hold_seconds"`
	// Total says which periods a running total has, and Active how a number of active users is published.
	Total  *TotalFacts  `json:"total"`
	Active *ActiveFacts `json:"active,omitempty"`
	// Objective is the share of the users that should not be above the limit of a share.
	Objective *json.Number `json:"objective,omitempty"`
}

// number writes a number as the API does; nil stays nil.
func number(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	return new(json.Number(d.String()))
}

// Noise is what a definition says of the error of all values of a figure.
type Noise struct {
	// Miss is the probability that the published band of a value is entirely on a given side of the truth. Values may
	// miss it one after another.
	Miss float64
	// Error is the published error if it is the same for all values; else 0.
	Error float64
	// Basis says in words where the band comes from.
	Basis string
}

// Add adds figures to a stream, each behind those of its kind, and gives them what they have from the stream.
func (s *Stream) Add(figures ...Figure) {
	for _, f := range figures {
		h := f.Heading()
		h.Unit, h.Budget = s.Unit, s.Budget
		if h.Groups == 0 {
			h.Groups = int64(max(1, s.MaxGroups))
		}
		at := slices.IndexFunc(s.Figures, func(x Figure) bool { return x.Kind() > f.Kind() })
		if at < 0 {
			at = len(s.Figures)
		}
		s.Figures = slices.Insert(s.Figures, at, f)
	}
}

// All lists the figures of one kind, in the order of the file.
func All[F Figure](s *Stream) (all []F) {
	for _, f := range s.Figures {
		if of, ok := f.(F); ok {
			all = append(all, of)
		}
	}
	return all
}

// Of returns the figure of one kind and name. ok is false if the stream has none.
func Of[F Figure](s *Stream, name string) (of F, ok bool) {
	for _, f := range All[F](s) {
		if f.Heading().Name == name {
			return f, true
		}
	}
	return of, false
}

// Named returns the figure that has a series of this name, and the series' place in it. It is nil if there is none.
func (s *Stream) Named(series string) (f Figure, place int) {
	for _, f := range s.Figures {
		for i, x := range f.Series() {
			if x.Name == series {
				return f, i
			}
		}
	}
	return nil, 0
}

// Lasting lists the figures that have instances. Instances are charged in this order.
func (s *Stream) Lasting() (all []Figure) {
	for _, f := range s.Figures {
		if Kinds[f.Kind()].Lasts {
			all = append(all, f)
		}
	}
	return all
}

// twice returns what items cost a user who is removed from what they pay for and added as what remains.
//
// Privacy: the first changes the samples of at most as many groups as the items say, and the second those of as many.
// So these are pairs of steps, each of them twice a draw.
func twice(items []budget.Item) []budget.Item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Promise = items[i].Twice()
	}
	return items
}

// charged is a series with the ε and δ that items cost under the budget.
func (h *Head) charged(one record.Series, items []budget.Item) record.Series {
	var limit budget.Limit
	if h.Budget != nil {
		limit = h.Budget.Limit
	}
	lost := cost.Of(limit, items)
	one.Epsilon, one.Delta = lost.Epsilon, lost.Delta
	return one
}

// once is one draw for each group in which one user counts.
func (h *Head) once(m interface{ Promise() privacy.Promise }) []budget.Item {
	return []budget.Item{{Promise: m.Promise(), Times: h.Groups}}
}

// Series describes the values that each window has of a group: those that are drawn, and then those that are computed
// from them, both in the order of the file.
func (s *Stream) Series() []record.Series {
	return s.series(func(k Kind) bool { return k == Drawn || k == Derived })
}

// LastingSeries describes the records of the figures that have instances, each with the ε of an instance.
func (s *Stream) LastingSeries() []record.Series {
	return s.series(func(k Kind) bool { return Kinds[k].Lasts })
}

func (s *Stream) series(of func(Kind) bool) (all []record.Series) {
	for _, f := range s.Figures {
		if of(f.Kind()) {
			all = append(all, f.Series()...)
		}
	}
	return all
}

// SeriesNames returns the names of everything that the stream publishes, including roll-ups and discoveries.
func (s *Stream) SeriesNames() (all []string) {
	periods := map[string][]string{} // of the roll-ups of each histogram, and of the newest time
	for _, x := range s.series(func(Kind) bool { return true }) {
		all = append(all, x.Name)
		periods[x.Name] = slices.Clone(x.Rollups)
		for _, over := range x.Last {
			periods[x.Name] = append(periods[x.Name], record.LastPrefix+over)
		}
		for _, period := range periods[cmp.Or(x.From, x.Name)] {
			all = append(all, x.Name+"."+period)
		}
	}
	return all
}
