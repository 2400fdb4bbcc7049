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

// Sums returns what a figure says that adds up what users have over a period: a [Total], or one that embeds a total. It
// is nil for other figures.
func (s Continual) Sums() *Total {
	if k, adds := s.kind().(interface{ sums() *Total }); adds {
		return k.sums()
	}
	return nil
}

func (c *Total) sums() *Total { return c }

func (c *Total) leaf() (number int64, since record.Second) { return c.Leaf, c.Since }

// Strategy returns the strategy by which sums are drawn.
func (c *Total) Strategy() (running.Strategy, error) {
	p := running.Period{Leaves: c.Leaves, Longest: c.Longest}
	if b := c.Release.Buckets; b != nil {
		p.Parts = int64(b.Levels)
	}
	return mechanisms.NewStrategy(c.Release.Mechanism, p, c.Release.Epsilon, c.Most)
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

func (c *Total) draw(draws [][]*big.Int) {
	c.Groups = make([]GroupTotal, len(draws))
	for g, all := range draws {
		for _, y := range all {
			c.Groups[g].Draws = append(c.Groups[g].Draws, decimal.NewFromBigInt(y, 0))
		}
	}
}

// after computes the totals from what was drawn and what was known before.
func (c *Total) after(s Continual, e Entry) error {
	finishes, err := c.takes(s, e, len(c.Groups))
	if err != nil || !finishes {
		c.Groups = nil
		return err
	}
	strategy, err := c.Strategy()
	if err != nil {
		return err
	}
	c.Error95 = new(c.Unit.Mul(decimal.NewFromInt(strategy.Error95(c.Leaf))))
	for g := range c.Groups {
		if err := c.total(strategy, g); err != nil {
			return err
		}
	}
	return nil
}

// takes says whether a leaf ends with the window. Then so many groups have draws.
func (c *Total) takes(s Continual, e Entry, groups int) (finishes bool, err error) {
	if c.past == nil {
		return false, errors.New("its window is not settled")
	}
	c.Incomplete = c.past.Incomplete || e.Incomplete
	if finishes = c.Finishes(s, e); finishes && groups != len(e.Groups) {
		err = fmt.Errorf("draws of %d groups at the end of leaf %d; want %d", groups, c.Leaf, len(e.Groups))
	}
	return finishes, err
}

// total computes the total of a group.
func (c *Total) total(strategy running.Strategy, g int) error {
	t, of := &c.Groups[g], c.past.number(g)
	sum, err := of.total(strategy, c.Leaf, whole(t.Draws...))
	if err != nil {
		return err
	}
	v := ongoingValue(decimal.NewFromBigInt(sum, 0).Mul(c.Unit), c.Error95,
		c.Release.Statistic == string(mechanisms.Count))
	t.Value, t.Quality, t.Band, t.Raw = *v.Value, v.Quality, v.Band, v.Raw
	t.Smoothed = t.Value
	if of.Smoothed != nil {
		t.Smoothed = decimal.Max(t.Value, *of.Smoothed)
	}
	return nil
}

// add takes what was drawn for each number of each group at the end of a leaf.
func (b *totalBook) add(c *Total, draws [][]*big.Int) (err error) {
	if len(draws) == 0 {
		return nil
	}
	if b.strategy == nil {
		if b.strategy, err = c.Strategy(); err != nil {
			return err
		}
	}
	if len(b.Numbers) == 0 {
		b.Numbers = make([]numberBook, len(draws))
	}
	if len(b.Numbers) != len(draws) {
		return fmt.Errorf("draws of %d numbers after those of %d", len(draws), len(b.Numbers))
	}
	for i, of := range draws {
		if want := b.strategy.Draws(c.Leaf); len(of) != want {
			return fmt.Errorf("%d draws at the end of leaf %d; want %d", len(of), c.Leaf, want)
		}
		b.Numbers[i].Known = b.strategy.Fold(b.Numbers[i].Known, c.Leaf, of)
	}
	b.Leaf = c.Leaf
	return nil
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
	groups := c.drawn(s, e)
	if err := c.checkPeriod(s, e); err != nil {
		return err
	}
	if len(c.Groups) != groups || (c.Error95 != nil) != (groups > 0) {
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

// drawn is how many groups have draws in the window.
func (c *Total) drawn(s Continual, e Entry) int {
	if s.Looks() && c.Update > 0 && c.Finishes(s, e) {
		return len(e.Groups)
	}
	return 0
}

// checkPeriod checks everything but what the groups have.
func (c *Total) checkPeriod(s Continual, e Entry) error {
	if err := s.describes(c.Release, mechanisms.TotalMechanisms()); err != nil {
		return err
	}
	switch {
	case c.Leaves < 1 || c.Longest < 0 || c.Update < 1 || c.Update > mostHold || c.Most < 1 ||
		c.Most > running.MostTotal || c.Unit.Sign() <= 0:
		return fmt.Errorf("%d leaves of %d s, and one user adds %d times %s; want positive numbers", c.Leaves, c.Update,
			c.Most, c.Unit)
	case !c.Until.After(c.Since.Time) || s.Looks() && (c.Since.After(e.WindowStart) || e.WindowEnd.After(c.Until.Time)):
		return fmt.Errorf("a period from %s to %s does not hold the window", c.Since, c.Until)
	case s.Looks() != (c.Leaf > 0) || c.Leaf < 0 || !s.Looks() && c.Incomplete:
		return fmt.Errorf("leaf %d with reason %q", c.Leaf, s.Reason)
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
	draws := make([][]*big.Int, len(c.Groups))
	for g, group := range c.Groups {
		draws[g] = whole(group.Draws...)
	}
	if over, err = c.goOn(s, e, of, draws); err != nil {
		return false, err
	}
	for g, group := range c.Groups {
		of.Total.Numbers[g].Smoothed = new(group.Smoothed)
	}
	return over, nil
}

// goOn keeps with the instance what was drawn for each number of each group, and reports whether it is over.
func (c *Total) goOn(s Continual, e Entry, of *instance, draws [][]*big.Int) (over bool, err error) {
	if of.Total == nil {
		of.Total = &totalBook{Since: c.Since.UnixNano()}
	}
	if c.Leaf != of.Total.Leaf+1 {
		return false, fmt.Errorf("%s: leaf %d of %q follows leaf %d", e.Name(), c.Leaf, s.Name, of.Total.Leaf)
	}
	of.Total.Incomplete = c.Incomplete
	return c.final(s, e), of.Total.add(c, draws)
}

func (c *Total) series(Continual) []record.Series { return []record.Series{c.Release} }

// fillPeriod fills in what all records of a period say, and reports whether they have values.
func (c *Total) fillPeriod(f *record.Value, s Continual, e Entry) bool {
	f.Since, f.Final, f.MaxTotal = new(c.Since.Time), new(c.final(s, e)), optionalDigits(c.MaxTotal)
	f.Incomplete = c.Incomplete
	if !s.Looks() {
		withhold(f, s.Reason)
	}
	return s.Looks()
}

func (c *Total) fill(f *record.Value, s Continual, e Entry, g Group, _ int) {
	if !c.fillPeriod(f, s, e) {
		return
	}
	of := c.Groups[e.group(g.Name)]
	fill(f, Value{Value: &of.Value, Error95: c.Error95, Quality: of.Quality, Band: of.Band, Raw: of.Raw,
		Smoothed: &Smoothed{Value: of.Smoothed}})
}

// totalBook is what the next totals of an instance follow from. All of it is public.
type totalBook struct {
	Since int64 `json:"since"` // Unix nanoseconds
	// Leaf is how many leaves are finished.
	Leaf       int64 `json:"leaf"`
	Incomplete bool  `json:"incomplete,omitempty"`
	// Numbers are those of the first group, then those of the second one, and so on. Only a histogram has several.
	Numbers []numberBook `json:"groups,omitempty"`

	strategy running.Strategy // once it is needed
}

func (b *totalBook) leaves() (since, finished, seconds int64) { return b.Since, b.Leaf, 0 }

// numberBook is what the next totals of a number follow from. Smoothed is the largest total so far of a group that has
// only one number.
type numberBook struct {
	Known    running.Known    `json:"known"`
	Smoothed *decimal.Decimal `json:"smoothed,omitempty"`
}

// number returns what is known of a number.
func (b *totalBook) number(i int) numberBook {
	if b != nil && i < len(b.Numbers) {
		return b.Numbers[i]
	}
	return numberBook{}
}

// total is the total of a number after a leaf, from what is known before it and the draws at its end.
func (b numberBook) total(strategy running.Strategy, leaf int64, draws []*big.Int) (*big.Int, error) {
	if n := strategy.Draws(leaf); len(draws) != n {
		return nil, fmt.Errorf("%d draws at the end of leaf %d; want %d", len(draws), leaf, n)
	}
	return strategy.Total(strategy.Fold(b.Known, leaf, draws), leaf), nil
}
