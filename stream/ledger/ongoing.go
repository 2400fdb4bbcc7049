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

// ongoing is a kind that is drawn at the end of each leaf of an instance: a [Total], a [SoFar] or an [Active]. Its
// values follow from all draws of the instance, and those are in the entries.
type ongoing interface {
	kind
	// leaf is the number of the leaf that holds the window, or 0 if no instance looks, and since is when the instance
	// began. The leaf ends with the window if that has records.
	leaf() (number int64, since record.Second)
	// draw records what is drawn for each number of each group at the end of a leaf.
	draw(draws [][]*big.Int)
}

// Leaf returns the number of the leaf that holds the window of an ongoing figure, from 1, and whether it ends with the
// window. It is 0 if no instance looks, and for other figures.
func (s Continual) Leaf(e Entry) (number int64, ends bool) {
	k, ok := s.kind().(ongoing)
	if !ok {
		return 0, false
	}
	number, _ = k.leaf()
	return number, k.publishes(s, e, "")
}

// Since returns when the instance of an ongoing figure began that looks at the window.
func (s Continual) Since() time.Time {
	_, since := s.kind().(ongoing).leaf()
	return since.Time
}

// Draw records what is drawn at the end of a leaf for each number of each group, group by group. [State.Finish]
// computes what follows. The figure must be an ongoing one.
func (s Continual) Draw(draws [][]*big.Int) { s.kind().(ongoing).draw(draws) }

// describes checks that a kind describes its own figure, which is drawn by one of some mechanisms.
func (s Continual) describes(of record.Series, mechanisms []string) error {
	if of.Name != s.Name || !slices.Contains(mechanisms, of.Mechanism) || len(s.Cost) != 1 ||
		!s.Cost[0].Epsilon.Equal(of.Epsilon) {
		return fmt.Errorf("it describes release %q by %q with epsilon %s; want its own, at its own cost", of.Name,
			of.Mechanism, of.Epsilon)
	}
	return nil
}

// ongoingValue is a value with its band and its quality. A number of users is never negative.
func ongoingValue(raw decimal.Decimal, error95 *decimal.Decimal, users bool) Value {
	v, limits := Value{Value: &raw, Error95: error95}, Limits{}
	if users {
		v.Raw, v.Value, limits = &raw, new(decimal.Max(raw, decimal.Zero)), fromZero
	}
	v.Band = NewBand(v, false, limits)
	v.Quality = string(mechanisms.JudgeTotal(v.Value.InexactFloat64(), error95.InexactFloat64()))
	return v
}

// whole returns draws as whole numbers.
func whole(draws ...decimal.Decimal) []*big.Int {
	all := make([]*big.Int, len(draws))
	for i, y := range draws {
		all[i] = y.BigInt()
	}
	return all
}

// ongoingBook is what the next values of an instance follow from.
type ongoingBook interface {
	// leaves says when the instance began, how many leaves are finished, and how many seconds one has, if they are
	// charged one by one.
	leaves() (since, finished, seconds int64)
}

// OpenOngoing is an instance of an ongoing figure that has not ended. Times are Unix nanoseconds.
type OpenOngoing struct {
	Number int64
	// Since is when it began: the start of its first window. Until is the end of its period, if it has one.
	Since, Until int64
	// From and Looked are the ends of the first and the last window that it looked at.
	From, Looked int64
	// Leaf is how many leaves are finished.
	Leaf int64
}

// OpenOngoing returns the instance of an ongoing figure that has not ended, or false if there is none.
func (b *Books) OpenOngoing(budget, stream, name, definition string) (o OpenOngoing, ok bool) {
	figure := continualName{budget, stream, name}
	number := b.lasting.last(figure, definition, nil)
	a := b.lasting.get(figure, number)
	if a == nil || a.Over {
		return o, false
	}
	o = OpenOngoing{Number: number, Until: a.Until, From: a.From, Looked: a.Looked}
	of := a.book()
	if of == nil {
		return OpenOngoing{}, false
	}
	o.Since, o.Leaf, _ = of.leaves()
	return o, true
}

// Active is a number of active users: those seen lately. Its windows are divided into leaves, and at the end of each
// there is a draw and a record. Values follow from all draws of the instance. See [running.NewCentred].
//
// An instance has no secret and no end of its own. Each leaf is charged the price of a day under a cap of one leaf a
// day, so any day costs it once. If the budget cannot pay for a leaf, the instance ends, because later values would not
// follow from the draws. It also ends where a window is missing.
type Active struct {
	// Release describes the figure, with the ε of a day for one user in one group.
	Release record.Series `json:"release"`
	// Seconds is how long a user stays active after they were seen, and Windows how many windows that is.
	Seconds int64 `json:"seconds"`
	Windows int64 `json:"windows"`
	// Leaves is how many leaves a day has, and Update the length of one in seconds.
	Leaves int64 `json:"leaves"`
	Update int64 `json:"update"`
	// Among is how many groups there are among which a user moves, and AtOnce in how many of them one is active at the
	// same time. They are 0 if there is a single number.
	Among  int64 `json:"among,omitempty"`
	AtOnce int64 `json:"at_once,omitempty"`

	// Since is the start of the first window of the instance that looks.
	Since record.Second `json:"since,omitzero"`
	// Leaf is the number of the leaf that holds the window, from 1. It is 0 if no instance looks.
	Leaf int64 `json:"leaf,omitempty"`
	// Incomplete says that users may be missing: the instance has not looked at so much time yet, or one of the windows
	// in it has lost part of its input.
	Incomplete bool `json:"incomplete,omitempty"`
	// Groups are the numbers of the groups, in order, and Error95 their 95 % error, if the leaf ends with the window.
	Groups  []GroupActive    `json:"groups,omitempty"`
	Error95 *decimal.Decimal `json:"error_95,omitempty"`

	past *activeBook // of the instance that looks, before the window; nil unless the window was settled
}

// GroupActive is the number of a group at the end of a leaf.
type GroupActive struct {
	// Draw is what was drawn, in units of 2^−24 users.
	Draw decimal.Decimal `json:"draw"`
	// Value is the number. Quality, Band and Raw are as in [Value].
	Value   decimal.Decimal  `json:"value"`
	Quality string           `json:"quality,omitempty"`
	Band    *Band            `json:"band,omitempty"`
	Raw     *decimal.Decimal `json:"raw,omitempty"`
}

// Strategy returns the strategy by which numbers are drawn.
func (c *Active) Strategy() (running.Active, error) {
	return mechanisms.NewActiveStrategy(c.Release.Mechanism, c.Leaves, c.Among, c.Release.Epsilon)
}

// Finishes says that a leaf ends with the window, so that there is a record.
func (c *Active) Finishes(e Entry) bool { return e.WindowEnd.Unix()%c.Update == 0 }

func (c *Active) publishes(_ Continual, e Entry, _ string) bool { return c.Finishes(e) }

// charged implements leafwise.
func (c *Active) charged(e Entry) bool { return c.Finishes(e) }

func (c *Active) leaf() (number int64, since record.Second) { return c.Leaf, c.Since }

func (c *Active) draw(draws [][]*big.Int) {
	c.Groups = make([]GroupActive, len(draws))
	for g, of := range draws {
		c.Groups[g].Draw = decimal.NewFromBigInt(of[0], 0)
	}
}

// after computes the values from what was drawn and what was known before.
func (c *Active) after(_ Continual, e Entry) error {
	if c.past == nil {
		return errors.New("its window is not settled")
	}
	if c.Incomplete = c.past.misses(c, e); !c.Finishes(e) {
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
	c.Error95 = new(decimal.NewFromInt(strategy.Error95(c.Leaf)))
	for g := range c.Groups {
		of := &c.Groups[g]
		known := strategy.Fold(c.past.group(g), c.Leaf, whole(of.Draw))
		v := ongoingValue(decimal.NewFromBigInt(strategy.Total(known, c.Leaf), 0), c.Error95, true)
		of.Value, of.Quality, of.Band, of.Raw = *v.Value, v.Quality, v.Band, v.Raw
	}
	return nil
}

// facts keep what the definition says, and what was drawn.
func (c *Active) facts(s Continual, _ Entry) kind {
	f := *c
	f.Since, f.Leaf, f.Incomplete, f.Groups, f.Error95, f.past = record.Second{}, 0, false, nil, nil, nil
	if s.Looks() {
		for _, of := range c.Groups {
			f.Groups = append(f.Groups, GroupActive{Draw: of.Draw})
		}
	}
	return &f
}

func (c *Active) check(s Continual, e Entry) error {
	groups := 0
	if s.Looks() && c.Update > 0 && c.Finishes(e) {
		groups = len(e.Groups)
	}
	if err := s.describes(c.Release, mechanisms.ActiveMechanisms()); err != nil {
		return err
	}
	switch {
	case c.Seconds < 1 || c.Seconds > int64(leafDay/time.Second) || c.Windows < 1 || c.Update < 1 ||
		c.Leaves != (int64(leafDay/time.Second)+c.Update-1)/c.Update || c.Among < 0 || c.AtOnce < 0:
		return fmt.Errorf("%d leaves of %d s, and %d windows of %d s; want positive numbers, and the leaves of a day",
			c.Leaves, c.Update, c.Windows, c.Seconds)
	case c.Among > 0 && (c.Among != int64(len(e.Groups)) || c.AtOnce != s.Cost[0].Times):
		return fmt.Errorf("users move among %d groups, and are in %d; want the entry's groups, and what is charged",
			c.Among, c.AtOnce)
	case s.Looks() != (c.Leaf > 0) || c.Leaf < 0 || !s.Looks() && c.Incomplete ||
		s.Looks() && (c.Since.IsZero() || c.Since.After(e.WindowStart)):
		return fmt.Errorf("leaf %d since %s with reason %q", c.Leaf, c.Since, s.Reason)
	case len(c.Groups) != groups || (c.Error95 != nil) != (groups > 0):
		return fmt.Errorf("numbers of %d groups; want %d", len(c.Groups), groups)
	}
	for g, of := range c.Groups {
		if !of.Draw.IsInteger() {
			return fmt.Errorf("group %q has the draw %s; want a whole number", e.Groups[g].Name, of.Draw)
		}
		if err := of.Band.check(); err != nil {
			return fmt.Errorf("group %q: %w", e.Groups[g].Name, err)
		}
	}
	return nil
}

// before goes on with the instance, or begins one with the window. It lets none look at a late window.
func (c *Active) before(_ iter.Seq[*instance], last *instance, e Entry) bool {
	switch end := e.WindowEnd.UnixNano(); {
	case last != nil && end <= last.Looked:
		return false
	case last.reaches(end):
		c.past = last.Active
	default:
		c.past = &activeBook{Since: e.WindowStart.UnixNano()}
	}
	c.Since, c.Leaf = record.Whole(time.Unix(0, c.past.Since)), c.past.Leaf+1
	return true
}

func (c *Active) until() int64         { return budget.Open }
func (c *Active) extra() []budget.Item { return nil }

// fold keeps what was drawn. The instance goes on with the stream's next window, or not at all.
func (c *Active) fold(s Continual, e Entry, of *instance, _ iter.Seq[*instance]) (over bool, err error) {
	if of.Active == nil {
		of.Active = &activeBook{Since: c.Since.UnixNano(), Update: c.Update}
	}
	b := of.Active
	if c.Leaf != b.Leaf+1 {
		return false, fmt.Errorf("%s: leaf %d of %q follows leaf %d", e.Name(), c.Leaf, s.Name, b.Leaf)
	}
	of.Until = e.WindowEnd.Add(e.Every).UnixNano()
	if e.Incomplete {
		b.Lost = e.WindowEnd.UnixNano()
	}
	return false, b.add(c)
}

func (c *Active) series(Continual) []record.Series { return []record.Series{c.Release} }

func (c *Active) fill(f *record.Value, s Continual, e Entry, g Group, _ int) {
	f.Active, f.Incomplete = budget.FormatPer(time.Duration(c.Seconds)*time.Second), c.Incomplete
	if !s.Looks() {
		withhold(f, s.Reason)
		return
	}
	of := c.Groups[e.group(g.Name)]
	fill(f, Value{Value: &of.Value, Error95: c.Error95, Quality: of.Quality, Band: of.Band, Raw: of.Raw})
}

// activeBook is what the next values of an instance follow from. All of it is public. Times are Unix nanoseconds.
type activeBook struct {
	Since int64 `json:"since"`
	// Update is the length of a leaf in seconds, and Leaf how many leaves are finished.
	Update int64 `json:"update"`
	Leaf   int64 `json:"leaf"`
	// Lost is the end of the last window that has lost part of its input; 0 if none has.
	Lost   int64           `json:"lost,omitempty"`
	Groups []running.Known `json:"groups,omitempty"`

	strategy running.Active // once it is needed
}

func (b *activeBook) leaves() (since, finished, seconds int64) { return b.Since, b.Leaf, b.Update }

// misses reports whether users may be missing from those who are active at the end of a window.
func (b *activeBook) misses(c *Active, e Entry) bool {
	end := e.WindowEnd.UnixNano()
	return e.Incomplete || end-b.Since < c.Seconds*int64(time.Second) ||
		b.Lost != 0 && b.Lost > end-c.Windows*int64(e.Every)
}

// add takes what was drawn at the end of a leaf.
func (b *activeBook) add(c *Active) (err error) {
	if len(c.Groups) == 0 {
		return nil
	}
	if b.strategy == nil {
		if b.strategy, err = c.Strategy(); err != nil {
			return err
		}
	}
	if len(b.Groups) == 0 {
		b.Groups = make([]running.Known, len(c.Groups))
	}
	if len(b.Groups) != len(c.Groups) {
		return fmt.Errorf("numbers of %d groups after those of %d", len(c.Groups), len(b.Groups))
	}
	for g, of := range c.Groups {
		b.Groups[g] = b.strategy.Fold(b.Groups[g], c.Leaf, whole(of.Draw))
	}
	b.Leaf = c.Leaf
	return nil
}

// group returns what is known of a group.
func (b *activeBook) group(g int) running.Known {
	if g < len(b.Groups) {
		return b.Groups[g]
	}
	return nil
}
