package try

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/decide"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

const (
	// mostSizes is how many lengths of windows are tried. Of each there are fewestWindows to mostWindows in the file.
	mostSizes, fewestWindows, mostWindows = 6, 4, 500
	// blocks of blockOf windows in a row are drawn, spread over the file. There are fewer windows with many groups.
	blocks, blockOf = 4, 15
	// learning is how many windows do not count if there are enough others: the first ones of a stream are rougher,
	// because their bands know no earlier figures.
	learning = 3
	// mostFigures is about how many figures are drawn for a plan.
	mostFigures = 600
)

// epsilons are those tried for a window.
var epsilons = []decimal.Decimal{decimal.New(1, -1), decimal.New(3, -1), decimal.New(1, 0), decimal.New(3, 0)}

// cell is a plan that was tried.
type cell struct {
	plan
	figures []record.Value // in the order of the windows
	useful  int
	day     cost.Loss // what one person can lose in any 24 hours
}

func (c *cell) share() float64 { return float64(c.useful) / float64(len(c.figures)) }

// shareOf is the part of one figure's values that was useful. At a bound a value says only that it is no less, or more.
// A number of all events has no bounds.
func (c *cell) shareOf(a about, lower, upper decimal.Decimal) float64 {
	all, useful := 0, 0
	for _, f := range c.figures {
		if f.Release != a.String() {
			continue
		}
		all++
		if f.Quality == "useful" && f.Value != nil {
			value, err := decimal.NewFromString(f.Value.String())
			if err == nil && (a == total || value.GreaterThan(lower) && value.LessThan(upper)) {
				useful++
			}
		}
	}
	return float64(useful) / float64(max(all, 1))
}

// sizes are the lengths of windows to try.
func (d draft) sizes() (all []time.Duration) {
	for _, size := range replay.Sizes() {
		start, end := d.span(size)
		if n := (end - start) / int64(size); n <= mostWindows && (n >= fewestWindows || all == nil) {
			all = append(all, size)
		}
	}
	if n := len(all); n > mostSizes { // spread evenly, with the shortest and the longest
		for i := range mostSizes {
			all[i] = all[i*(n-1)/(mostSizes-1)]
		}
		all = all[:mostSizes]
	}
	return all
}

// try draws the figures of all plans: a row for each length of windows. Lengths are tried side by side.
func (d draft) try(ctx context.Context, e *events, sizes []time.Duration,
	epsilons []decimal.Decimal) ([][]*cell, error) {
	rows := make([][]*cell, len(sizes))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for i, size := range sizes {
		group.Go(func() error {
			d, p := d.sized(e, size), plan{window: size, epsilon: epsilons[0], about: d.abouts()[0]}
			s, _, err := d.stream(p)
			if err != nil {
				return err
			}
			some, bags := e.windows(s)
			for _, epsilon := range epsilons {
				c := &cell{plan: p}
				c.epsilon = epsilon
				if err := c.draw(ctx, d, some, bags); err != nil {
					return err
				}
				rows[i] = append(rows[i], c)
			}
			return nil
		})
	}
	return rows, group.Wait()
}

// whole returns the start of the first window that counts, and how many do. The first and the last one of the file do
// not if the file covers less than nine tenths of them: figures of what is still to come have no such windows.
func (e *events) whole(w config.Window) (begin, number int64) {
	size := int64(w.Size)
	begin, number = w.Start, (w.End-w.Start)/size
	if number > fewestWindows && e.first-begin > size/10 {
		begin, number = begin+size, number-1
	}
	if number > fewestWindows && w.End-e.last > size/10 {
		number--
	}
	return begin, number
}

// drawn is how many figures are drawn of a group in each window.
func drawn(s *config.Stream) (n int) {
	for _, f := range s.Figures {
		if f.Cost().Per == config.PerWindow {
			n++
		}
	}
	return n
}

// windows fills some windows of a stream.
func (e *events) windows(s *config.Stream) (some []windows.Window, bags []*windows.Bag) {
	size := int64(s.Window.Size)
	begin, number := e.whole(s.Window)
	figures := len(s.Groups) * drawn(s)
	most := max(2*blocks, min(int64(blocks*blockOf), mostFigures/int64(figures)))
	index := map[int64]int{}
	for i := range number {
		if number > most {
			// The last block ends with the last window.
			block := min(i*blocks/number, blocks-1)
			if end := number * (block + 1) / blocks; i < end-most/blocks {
				continue
			}
		}
		w := windows.Window{Start: begin + i*size, End: begin + (i+1)*size}
		index[i] = len(some)
		some = append(some, w)
		bags = append(bags, windows.NewBag(windows.BagSpec{Groups: s.Groups, MaxGroups: s.MaxGroups,
			Policy: s.Contribution, Window: w, Hasher: e.hasher, Adding: s.Adding()}))
	}
	for i := range e.all {
		x := &e.all[i]
		group := int(x.group)
		if s.Input.Group == "" {
			group = 0
		}
		if at, drawn := index[(x.time-begin)/size]; drawn && x.time >= begin && group != ungrouped {
			bags[at].Add(x.user, group, x.time, x.value)
		}
	}
	return some, bags
}

// draw draws the figures of a plan.
func (c *cell) draw(ctx context.Context, d draft, some []windows.Window, bags []*windows.Bag) error {
	s, file, err := d.stream(c.plan)
	if err != nil {
		return err
	}
	c.day = file.Payer(s.Budget, time.Now()).InAnyDay()
	r := decide.NewRehearsal(s, s.Window.Start)
	for i, w := range some {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		figures, err := r.Window(w, bags[i])
		if err != nil {
			return err
		}
		if i >= learning || len(some) <= 2*learning {
			c.figures = append(c.figures, figures...)
		}
	}
	for _, f := range c.figures {
		if f.Quality == "useful" {
			c.useful++
		}
	}
	return nil
}

// enough is the share of useful figures that a plan should have: most of them, also after a less lucky draw.
const enough = 0.6

// most reports whether most of the figures are useful.
func (c *cell) most() bool { return c.share() >= enough }

// care says how well a plan protects people: 2 if nobody can lose more than ε 1 in any 24 hours, 1 if everybody can at
// least hide, else 0.
func (c *cell) care() int {
	switch {
	case c.day.Epsilon.LessThanOrEqual(decimal.NewFromInt(1)):
		return 2
	case c.day.Hides():
		return 1
	}
	return 0
}

// choose returns the plan with the shortest windows, and of these the least ε, of which most figures are useful with
// the best care. If no plan with care has that, it is the one with care and the most useful figures, at least a third.
// If there is none either, people lose as little as most useful figures allow. And if nothing makes most figures
// useful, it is the plan with the most of them.
func choose(rows [][]*cell) *cell {
	all := slices.Concat(rows...)
	for care := 2; care > 0; care-- {
		if i := slices.IndexFunc(all, func(c *cell) bool { return c.care() >= care && c.most() }); i >= 0 {
			return all[i]
		}
	}
	best := func(of func(c *cell) bool, better func(c, best *cell) bool) (best *cell) {
		for _, c := range all {
			if of(c) && (best == nil || better(c, best)) {
				best = c
			}
		}
		return best
	}
	more := func(c, best *cell) bool { return c.share() > best.share() }
	return cmp.Or(
		best(func(c *cell) bool { return c.care() > 0 && c.share() >= 1./3 }, more),
		best((*cell).most, func(c, best *cell) bool { return c.day.Epsilon.LessThan(best.day.Epsilon) }),
		best(func(*cell) bool { return true }, more))
}
