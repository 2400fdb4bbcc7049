package ledger

import (
	"fmt"
	"iter"
	"math/big"
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/record"
)

// SoFar is the distribution so far: a running total of each number of a histogram, and the figures that are computed
// from them. Its periods and leaves are those of a [Total]. What is drawn are noisy numbers of finished stretches of
// time. The totals follow from them, and everything else from the totals.
type SoFar struct {
	// Total describes the histogram, with the ε of a period. Its own Groups and Error95 are empty.
	Total
	// Figures describe what is computed from the histogram.
	Figures []record.Series `json:"figures,omitempty"`
	// Groups are the distributions of the groups, in order, if the leaf ends with the window.
	Groups []GroupSoFar `json:"groups,omitempty"`
}

// GroupSoFar is the distribution of a group after a leaf.
type GroupSoFar struct {
	// Draws are the noisy numbers of the stretches that end with the leaf, the shortest first.
	Draws []DrawnNumbers `json:"numbers"`
	// Values are the number of all users, with the totals of all numbers, and then the figures. One without a value is
	// withheld, because the histogram shows nobody.
	Values []Value `json:"values,omitempty"`
}

// DrawnNumbers are the noisy numbers of a stretch: of each bucket, and of each group of buckets. Those of square_root
// may be too large for 64 bits.
type DrawnNumbers struct {
	Raw    []*big.Int `json:"raw"`
	Coarse []*big.Int `json:"coarse,omitempty"`
}

// all are the numbers of the buckets, and then those of the groups of buckets.
func (n DrawnNumbers) all() []*big.Int { return slices.Concat(n.Raw, n.Coarse) }

// histogram returns the histogram without its noise, and how many numbers it has.
func (c *SoFar) histogram() (h *Histogram, numbers int, err error) {
	if c.Release.Buckets == nil {
		return nil, 0, fmt.Errorf("release %q has no buckets", c.Release.Name)
	}
	if h, err = newHistogram(c.Release, c.Figures); err != nil {
		return nil, 0, err
	}
	return h, h.Buckets.Len() + h.Buckets.Groups(), nil
}

func (c *SoFar) draw(draws [][]*big.Int) {
	h, numbers, err := c.histogram()
	if err != nil {
		return // check refuses it
	}
	c.Groups = make([]GroupSoFar, len(draws)/numbers)
	for g := range c.Groups {
		own := draws[g*numbers : (g+1)*numbers]
		nodes := make([]DrawnNumbers, len(own[0]))
		for l := range nodes {
			for i, y := range own {
				if i < h.Buckets.Len() {
					nodes[l].Raw = append(nodes[l].Raw, y[l])
				} else {
					nodes[l].Coarse = append(nodes[l].Coarse, y[l])
				}
			}
		}
		c.Groups[g].Draws = nodes
	}
}

// drawsOf returns the draws of each number of a group, the shortest stretch first.
func (c *SoFar) drawsOf(g, numbers int) [][]*big.Int {
	draws := make([][]*big.Int, numbers)
	for _, node := range c.Groups[g].Draws {
		for i, y := range node.all() {
			draws[i] = append(draws[i], y)
		}
	}
	return draws
}

// after computes the totals from what was drawn and what was known before, and the figures from the totals.
func (c *SoFar) after(s Continual, e Entry) error {
	finishes, err := c.takes(s, e, len(c.Groups))
	if err != nil || !finishes {
		c.Groups = nil
		return err
	}
	h, numbers, err := c.histogram()
	if err != nil {
		return err
	}
	strategy, err := c.Strategy()
	if err != nil {
		return err
	}
	h.Noise = mechanisms.TotalNoise(strategy, c.Leaf)
	for g := range c.Groups {
		if err := c.fits(g, h); err != nil {
			return fmt.Errorf("group %q: %w", e.Groups[g].Name, err)
		}
		if err := c.compute(g, numbers, strategy, h); err != nil {
			return fmt.Errorf("group %q: %w", e.Groups[g].Name, err)
		}
	}
	return nil
}

// compute computes the values of a group.
func (c *SoFar) compute(g, numbers int, strategy running.Strategy, h *Histogram) error {
	totals := make([]int64, numbers)
	for i, draws := range c.drawsOf(g, numbers) {
		sum, err := c.past.number(g*numbers+i).total(strategy, c.Leaf, draws)
		if err != nil {
			return err
		}
		totals[i] = histogram.Bounded(sum)
	}
	k := h.Buckets.Len()
	n := &Numbers{Raw: totals[:k:k], Coarse: totals[k:]}
	values := make([]Value, len(c.Figures))
	total, _, err := h.sum(n, 1, values)
	c.Groups[g].Values = append([]Value{total}, values...)
	return err
}

// fits checks that each stretch of a group has a number for each bucket and each group of buckets.
func (c *SoFar) fits(g int, h *Histogram) error {
	for _, node := range c.Groups[g].Draws {
		if len(node.Raw) != h.Buckets.Len() || len(node.Coarse) != h.Buckets.Groups() ||
			slices.Contains(node.all(), nil) {
			return fmt.Errorf("%d numbers and %d of groups; want %d and %d", len(node.Raw), len(node.Coarse),
				h.Buckets.Len(), h.Buckets.Groups())
		}
	}
	return nil
}

func (c *SoFar) facts(s Continual, e Entry) kind {
	f := &SoFar{Total: *c.Total.facts(s, e).(*Total), Figures: c.Figures}
	if s.Looks() {
		for _, of := range c.Groups {
			f.Groups = append(f.Groups, GroupSoFar{Draws: of.Draws})
		}
	}
	return f
}

func (c *SoFar) check(s Continual, e Entry) error {
	if err := c.checkPeriod(s, e); err != nil {
		return err
	}
	h, _, err := c.histogram()
	if err != nil {
		return err
	}
	if len(h.free) != len(c.Figures) || len(c.Total.Groups) > 0 || c.Error95 != nil {
		return fmt.Errorf("%d of %d figures are computed from it", len(h.free), len(c.Figures))
	}
	if want := c.drawn(s, e); len(c.Groups) != want {
		return fmt.Errorf("distributions of %d groups; want %d", len(c.Groups), want)
	}
	for g, of := range c.Groups {
		name := e.Groups[g].Name
		if err := c.fits(g, h); err != nil {
			return fmt.Errorf("group %q: %w", name, err)
		}
		if len(of.Draws) == 0 || len(of.Values) != 1+len(c.Figures) || of.Values[0].Value == nil {
			return fmt.Errorf("group %q has %d draws and %d values; want draws, and %d values", name, len(of.Draws),
				len(of.Values), 1+len(c.Figures))
		}
		if err := h.fits(of.Values[0].Numbers); err != nil {
			return fmt.Errorf("group %q: %w", name, err)
		}
		for _, v := range of.Values {
			if err := v.check(); err != nil {
				return fmt.Errorf("group %q: %w", name, err)
			}
		}
	}
	return nil
}

func (c *SoFar) fold(s Continual, e Entry, of *instance, _ iter.Seq[*instance]) (over bool, err error) {
	_, numbers, err := c.histogram()
	if err != nil {
		return false, err
	}
	var draws [][]*big.Int
	for g := range c.Groups {
		draws = append(draws, c.drawsOf(g, numbers)...)
	}
	return c.goOn(s, e, of, draws)
}

func (c *SoFar) series(Continual) []record.Series {
	return append([]record.Series{c.Release}, c.Figures...)
}

func (c *SoFar) fill(f *record.Value, s Continual, e Entry, g Group, i int) {
	if !c.fillPeriod(f, s, e) {
		return
	}
	v := c.Groups[e.group(g.Name)].Values[i]
	if v.Value == nil {
		withhold(f, record.TooFewUsers)
		return
	}
	fill(f, v)
	if v.Numbers == nil {
		return
	}
	h, _, err := c.histogram() // it was checked
	if err != nil {
		return
	}
	// The noise of an estimate does not change the counts.
	f.Buckets = h.distribution(c.Release.Buckets.Ends, *v.Numbers, 1)
}
