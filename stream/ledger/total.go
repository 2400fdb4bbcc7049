package ledger

import (
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/record"
)

// Total is a running total, such as the users so far today. An instance is a period, or what is
// left of one. It draws noisy sums of stretches that are finished, and these are in the entries: totals follow from
// them. So nothing of it is secret, and anyone can compute a total again.
//
// The windows of a period are divided into leaves. At the end of each leaf there is a record. See package running.
type Total struct {
	// Release describes the figure, with the ε of a period for one user in one group.
	Release record.Series `json:"release"`
	// Leaves is how many leaves a period usually has, and Longest how many it may have; 0 means that there is no limit.
	// Update is the length of a leaf in seconds.
	Leaves  int64 `json:"leaves"`
	Longest int64 `json:"longest,omitempty"`
	Update  int64 `json:"update"`
	// Most limits what one user adds to a group in a period, in multiples of Unit. MaxTotal is that limit as
	// configured.
	Most     int64            `json:"most"`
	Unit     decimal.Decimal  `json:"unit"`
	MaxTotal *decimal.Decimal `json:"max_total,omitempty"`

	// Since and Until bound the period: of the instance that looks, or else that of the calendar. The worker that arms
	// an instance decides them. An instance may begin within a period of the calendar, and ends with it at the latest.
	Since record.Second `json:"since"`
	Until record.Second `json:"until"`
	// Leaf is the number of the leaf that holds the window, from 1. It is 0 if no instance looks.
	Leaf int64 `json:"leaf,omitempty"`
	// Incomplete says that a window of the instance has lost part of its input.
	Incomplete bool `json:"incomplete,omitempty"`
	// Groups are the totals of the groups, in order, and Error95 their 95 % error, if the leaf ends with the window.
	Groups  []GroupTotal     `json:"groups,omitempty"`
	Error95 *decimal.Decimal `json:"error_95,omitempty"`

	past *totalBook // of the instance that looks, before the window; nil unless the window was settled
}

// GroupTotal is the total of a group after a leaf.
type GroupTotal struct {
	// Draws are the noisy sums that end with the leaf, the shortest first.
	Draws []decimal.Decimal `json:"draws"`
	// Value is the total. Smoothed is the largest of the instance so far: a line that never falls.
	Value    decimal.Decimal `json:"value"`
	Smoothed decimal.Decimal `json:"smoothed"`
	// Quality, Band and Raw are as in [Value].
	Quality string           `json:"quality,omitempty"`
	Band    *Band            `json:"band,omitempty"`
	Raw     *decimal.Decimal `json:"raw,omitempty"`
}

// Sums returns what a figure says that adds up what users have over a period; nil for other figures.
func (s Continual) Sums() *Total {
	if k, adds := s.kind().(interface{ sums() *Total }); adds {
		return k.sums()
	}
	return nil
}

// sums returns the total itself. A kind that embeds a total has this method too.
func (c *Total) sums() *Total { return c }

// Strategy returns the strategy by which sums are drawn.
func (c *Total) Strategy() (running.Strategy, error) {
	return mechanisms.NewStrategy(c.Release.Mechanism, running.Period{Leaves: c.Leaves, Longest: c.Longest},
		c.Release.Epsilon, c.Most)
}

func (c *Total) period() (since, until time.Time) { return c.Since.Time, c.Until.Time }

// publishes says that a total has records at the end of a leaf only.
func (c *Total) publishes(s Continual, e Entry, _ string) bool { return c.Finishes(s, e) }

// Finishes says that the leaf ends with the window, so that there is a record.
func (c *Total) Finishes(s Continual, e Entry) bool {
	return c.ends(s, e) || e.WindowEnd.Sub(c.Since.Time)%(time.Duration(c.Update)*time.Second) == 0
}

// ends says that the period, or the stream's part of it, ends with the window.
func (c *Total) ends(s Continual, e Entry) bool { return s.Last || !e.WindowEnd.Before(c.Until.Time) }

// final says that the instance ends with the window.
func (c *Total) final(s Continual, e Entry) bool {
	return c.ends(s, e) || c.Longest > 0 && c.Leaf >= c.Longest && c.Finishes(s, e)
}

// Draw records what is drawn for each group at the end of a leaf. [State.Finish] computes the totals that follow.
func (c *Total) Draw(draws [][]*big.Int) {
	c.Groups = make([]GroupTotal, len(draws))
	for g, all := range draws {
		for _, y := range all {
			c.Groups[g].Draws = append(c.Groups[g].Draws, decimal.NewFromBigInt(y, 0))
		}
	}
}

// after computes the totals from what was drawn and what was known before.
func (c *Total) after(s Continual, e Entry) error {
	if c.past == nil {
		return errors.New("its window is not settled")
	}
	if c.Incomplete = c.past.Incomplete || e.Incomplete; !c.Finishes(s, e) {
		c.Groups = nil
		return nil
	}
	strategy, err := c.Strategy()
	if err != nil {
		return err
	}
	if len(c.Groups) != len(e.Groups) {
		return fmt.Errorf("draws of %d groups at the end of leaf %d; want %d", len(c.Groups), c.Leaf, len(e.Groups))
	}
	c.Error95 = new(c.Unit.Mul(decimal.NewFromInt(strategy.Error95(c.Leaf))))
	for g := range c.Groups {
		if err := c.total(strategy, g); err != nil {
			return err
		}
	}
	return nil
}

// total computes the total of a group.
func (c *Total) total(strategy running.Strategy, g int) error {
	t, of := &c.Groups[g], c.past.group(g)
	if n := strategy.Draws(c.Leaf); len(t.Draws) != n {
		return fmt.Errorf("%d draws at the end of leaf %d; want %d", len(t.Draws), c.Leaf, n)
	}
	known := strategy.Fold(of.Known, c.Leaf, whole(t.Draws))
	t.Value = decimal.NewFromBigInt(strategy.Total(known, c.Leaf), 0).Mul(c.Unit)
	limits := Limits{}
	if c.Release.Statistic == string(mechanisms.Count) {
		t.Raw = new(t.Value)
		t.Value, limits = decimal.Max(t.Value, decimal.Zero), fromZero
	}
	t.Smoothed = t.Value
	if of.Smoothed != nil {
		t.Smoothed = decimal.Max(t.Value, *of.Smoothed)
	}
	t.Band = NewBand(Value{Value: &t.Value, Error95: c.Error95}, false, limits)
	t.Quality = string(mechanisms.JudgeTotal(t.Value.InexactFloat64(), c.Error95.InexactFloat64()))
	return nil
}

// add takes what was drawn at the end of a leaf.
func (b *totalBook) add(c *Total) (err error) {
	if len(c.Groups) == 0 {
		return nil
	}
	if b.strategy == nil {
		if b.strategy, err = c.Strategy(); err != nil {
			return err
		}
	}
	if len(b.Groups) == 0 {
		b.Groups = make([]groupBook, len(c.Groups))
	}
	if len(b.Groups) != len(c.Groups) {
		return fmt.Errorf("totals of %d groups after those of %d", len(c.Groups), len(b.Groups))
	}
	for g, of := range c.Groups {
		if want := b.strategy.Draws(c.Leaf); len(of.Draws) != want {
			return fmt.Errorf("%d draws at the end of leaf %d; want %d", len(of.Draws), c.Leaf, want)
		}
		b.Groups[g] = groupBook{b.strategy.Fold(b.Groups[g].Known, c.Leaf, whole(of.Draws)), new(of.Smoothed)}
	}
	b.Leaf = c.Leaf
	return nil
}

// whole returns draws as whole numbers.
func whole(draws []decimal.Decimal) []*big.Int {
	all := make([]*big.Int, len(draws))
	for i, y := range draws {
		all[i] = y.BigInt()
	}
	return all
}

// facts keep the bounds of the period too: the calendar has them.
func (c *Total) facts(s Continual, _ Entry) kind {
	f := *c
	f.Leaf, f.Incomplete, f.Groups, f.Error95, f.past = 0, false, nil, nil, nil
	if !s.Looks() {
		return &f
	}
	for _, of := range c.Groups {
		f.Groups = append(f.Groups, GroupTotal{Draws: of.Draws})
	}
	return &f
}

func (c *Total) check(s Continual, e Entry) error {
	groups := 0
	if s.Looks() && c.Update > 0 && c.Finishes(s, e) {
		groups = len(e.Groups)
	}
	switch {
	case c.Release.Name != s.Name || !slices.Contains(mechanisms.TotalMechanisms(), c.Release.Mechanism) ||
		len(s.Cost) != 1 || !s.Cost[0].Epsilon.Equal(c.Release.Epsilon):
		return fmt.Errorf("it describes release %q by %q with epsilon %s; want its own, at its own cost",
			c.Release.Name, c.Release.Mechanism, c.Release.Epsilon)
	case c.Leaves < 1 || c.Longest < 0 || c.Update < 1 || c.Update > mostHold || c.Most < 1 ||
		c.Most > running.MostTotal || c.Unit.Sign() <= 0:
		return fmt.Errorf("%d leaves of %d s, and one user adds %d times %s; want positive numbers", c.Leaves, c.Update,
			c.Most, c.Unit)
	case !c.Until.After(c.Since.Time) || s.Looks() && (c.Since.After(e.WindowStart) || e.WindowEnd.After(c.Until.Time)):
		return fmt.Errorf("a period from %s to %s does not hold the window", c.Since, c.Until)
	case s.Looks() != (c.Leaf > 0) || c.Leaf < 0 || !s.Looks() && c.Incomplete:
		return fmt.Errorf("leaf %d with reason %q", c.Leaf, s.Reason)
	case len(c.Groups) != groups || (c.Error95 != nil) != (groups > 0):
		return fmt.Errorf("totals of %d groups; want %d", len(c.Groups), groups)
	}
	for g, of := range c.Groups {
		if len(of.Draws) == 0 || slices.ContainsFunc(of.Draws, func(y decimal.Decimal) bool { return !y.IsInteger() }) {
			return fmt.Errorf("group %q has the draws %v; want whole numbers", e.Groups[g].Name, of.Draws)
		}
		if err := of.Band.check(); err != nil {
			return fmt.Errorf("group %q: %w", e.Groups[g].Name, err)
		}
	}
	return nil
}

// before goes on with the period of the instance, or begins one with the window. It lets none look at a late window,
// whose users may have counted in a later one.
func (c *Total) before(_ iter.Seq[*instance], last *instance, e Entry) bool {
	switch end := e.WindowEnd.UnixNano(); {
	case last != nil && last.Looked >= end:
		return false
	case last.reaches(end):
		c.past, c.Until = last.Total, record.Whole(time.Unix(0, last.Until))
	default:
		c.past = &totalBook{Since: e.WindowStart.UnixNano()}
	}
	c.Since, c.Leaf, c.Incomplete = record.Whole(time.Unix(0, c.past.Since)), c.past.Leaf+1, c.past.Incomplete
	return true
}

func (c *Total) until() int64         { return c.Until.UnixNano() }
func (c *Total) extra() []budget.Item { return nil }

func (c *Total) fold(s Continual, e Entry, of *instance, _ iter.Seq[*instance]) (over bool, err error) {
	if of.Total == nil {
		of.Total = &totalBook{Since: c.Since.UnixNano()}
	}
	if c.Leaf != of.Total.Leaf+1 {
		return false, fmt.Errorf("%s: leaf %d of %q follows leaf %d", e.Name(), c.Leaf, s.Name, of.Total.Leaf)
	}
	of.Total.Incomplete = c.Incomplete
	return c.final(s, e), of.Total.add(c)
}

func (c *Total) series(Continual) record.Series { return c.Release }

func (c *Total) fill(f *record.Value, s Continual, e Entry, g Group) {
	f.Since, f.Final, f.MaxTotal = new(c.Since.Time), new(c.final(s, e)), optionalDigits(c.MaxTotal)
	f.Incomplete = c.Incomplete
	if !s.Looks() {
		withhold(f, s.Reason)
		return
	}
	of := c.Groups[e.group(g.Name)]
	f.Value, f.Error95, f.Quality = optionalDigits(&of.Value), optionalDigits(c.Error95), record.Quality(of.Quality)
	f.Smoothed, f.Raw = &record.Smoothed{Value: digits(of.Smoothed)}, optionalDigits(of.Raw)
	f.BandFields = of.Band.Fields()
}

// totalBook is what the next totals of an instance follow from. All of it is public.
type totalBook struct {
	Since int64 `json:"since"` // Unix nanoseconds
	// Leaf is how many leaves are finished.
	Leaf       int64       `json:"leaf"`
	Incomplete bool        `json:"incomplete,omitempty"`
	Groups     []groupBook `json:"groups,omitempty"`

	strategy running.Strategy // once it is needed
}

// groupBook is what the next totals of a group follow from, and the largest total so far.
type groupBook struct {
	Known    running.Known    `json:"known"`
	Smoothed *decimal.Decimal `json:"smoothed"`
}

// group returns what is known of a group.
func (b *totalBook) group(g int) groupBook {
	if b != nil && g < len(b.Groups) {
		return b.Groups[g]
	}
	return groupBook{}
}

// OpenTotal is an instance of a total that has not ended. Times are Unix nanoseconds.
type OpenTotal struct {
	Number int64
	// Since and Until bound its period. From and Looked are the ends of the first and the last window that it looked
	// at.
	Since, Until, From, Looked int64
	// Leaf is how many leaves are finished.
	Leaf int64
}

// OpenTotal returns the instance of a total that has not ended, or false if there is none.
func (b *Books) OpenTotal(budget, stream, name, definition string) (OpenTotal, bool) {
	of := continualName{budget, stream, name}
	number := b.lasting.last(of, definition, nil)
	a := b.lasting.get(of, number)
	if a == nil || a.Over || a.Total == nil {
		return OpenTotal{}, false
	}
	return OpenTotal{number, a.Total.Since, a.Until, a.From, a.Looked, a.Total.Leaf}, true
}
