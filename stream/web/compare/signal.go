package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/outputs"
)

// FalseMarksPerDay is the share of days on which a series has any mark if nothing changes. For medians and quantiles
// this was measured, and twice as much was not exceeded in any setting without a gap in the data.
const FalseMarksPerDay = 0.01

// leastBefore is how many earlier figures there must be to compare one with.
const leastBefore = 8

const (
	// Pause is how many windows in a row have to be as usual for a stretch to be over. Noise, or a wider interval to
	// which values are cut, makes some of them look so.
	Pause = 10
	// steady is how many figures in a row end a stretch at once if all of them have returned at least half of the way.
	// The page takes as many.
	steady = 3
)

// Span is how far back a window of some seconds is compared with others, in seconds.
func Span(size int64) int64 { return max(60*60, leastBefore*size) }

// Signal says that a stretch of figures begins that differ from those before by more than noise and the usual variation
// explain. Its JSON names are public.
type Signal struct {
	ID string `json:"id"` // of the record
	// Probability is how often such a difference between a figure and the median of those before it arises if nothing
	// has changed.
	Probability float64 `json:"probability"`
	// Basis names the source of the probability, as in [Comparison].
	Basis string `json:"basis"`
	// Direction says where the figure is: above or below the Median of those before it, which has the unit of the
	// figure.
	Direction string      `json:"direction"`
	Median    json.Number `json:"median"`
	Sentence  string      `json:"sentence"`
}

// beyond says how a figure differs from those before it.
type beyond struct {
	side     int // 1 above, −1 below, 0 not by more than is explained
	median   float64
	windows  int
	p        float64
	basis    string
	computed bool
}

// Signal says whether a stretch begins with the figure at i: it differs from those before it by more than noise and the
// usual variation explain, with a probability below alpha, and no stretch in the same direction goes on. nil: it does
// not, or nothing public tells.
//
// # With what a figure is compared
//
// With the median of the figures of its release in the hour before its window. Those that are marked count like all
// others. So when a level stays, it soon is the usual one, and a return is another change.
//
// # Why false marks are rare
//
// A series of n windows a day makes n comparisons a day. With alpha = [FalseMarksPerDay]/n the probability that any of
// them is a false mark is at most FalseMarksPerDay, however they depend on each other (the union bound). It remains to
// bound one comparison. All of this must explain it with less than alpha:
//
//   - Noise of a known law, for counts, sums, means and shares ([farFromMedian]). If values were cut to different
//     intervals, what that may have done to each pair is taken off first ([movedByCuts]). That bound fails in 1 of
//     1,000 pairs, which is more often than alpha. But it matters only if another interval is drawn, moves the value
//     far, and is not usual in this hour: in simulations of the same data in 110,000 windows, no figure was marked.
//   - The published usual_95 of medians and quantiles ([Point.usualAfter]).
//   - The variation of the hour itself ([Course.variation]).
func (c *Course) Signal(i int, alpha float64) *Signal {
	b := c.beyond(i, alpha)
	if b.side == 0 {
		return nil
	}
	if c.goesOn(i, b.side, alpha) {
		return nil
	}
	direction := "above"
	if b.side < 0 {
		direction = "below"
	}
	p := c.points[i]
	value := numberOf(*p.record.Value)
	middle := decimal.NewFromFloat(b.median).Round(1 - min(0, value.Exponent()))
	said := func(d decimal.Decimal) string { return d.Shift(shiftOf(p.record)).String() }
	return &Signal{ID: p.record.ID, Probability: b.p, Basis: b.basis, Direction: direction,
		Median: json.Number(middle.String()),
		Sentence: fmt.Sprintf("%s is %s %s, the median of the %s before it, by more than noise and the usual "+
			"variation explain.", strings.TrimSpace(grouped(said(value))+" "+p.record.InPercent().Unit), direction,
			grouped(said(middle)), several(b.windows, "window"))}
}

// goesOn reports whether a stretch that began on that side before the figure at i has not ended. So a second climb is
// marked too, however soon it follows the first. Marks of one series stay rare where nothing changes: they are bounded
// by how often a figure differs, and not by how stretches are told apart.
func (c *Course) goesOn(i, side int, alpha float64) bool {
	for j := i - 1; j >= max(0, i-Pause); j-- {
		if last := c.beyond(j, alpha); last.side == side {
			return !c.returned(j, i, last.median)
		}
	}
	return false
}

// returned reports whether [steady] figures in a row between two places have come back at least half of the way from
// the first of the two to the median before it.
func (c *Course) returned(from, to int, median float64) bool {
	first, inRow := c.points[from].value, 0
	half := (first + median) / 2
	for _, p := range c.points[from+1 : to] {
		if inRow++; p == nil || (p.value > half) == (first > half) {
			inRow = 0
		}
		if inRow == steady {
			return true
		}
	}
	return false
}

// Compared reports whether the figure at i can be marked at all: something public tells what explains its differences,
// and there are enough figures before it.
func (c *Course) Compared(i int) bool { return c.points[i] != nil && len(c.before(i)) >= leastBefore }

// beyond compares the figure at i with those of the hour before it.
func (c *Course) beyond(i int, alpha float64) beyond {
	p := c.points[i]
	if p == nil || c.known[i].computed {
		return c.known[i]
	}
	c.known[i].computed = true
	hour := c.before(i)
	if len(hour) < leastBefore {
		return beyond{}
	}
	middle := c.middle(i)
	d := math.Abs(p.value - middle)
	chance, basis := p.explained(hour, d)
	if d == 0 || chance >= alpha {
		return beyond{} // most figures are like this, and cost no more
	}
	if chance = max(chance, c.variation(i).apart(d)); chance >= alpha {
		return beyond{}
	}
	switch basis {
	case byError:
		chance = max(chance, farFromMedian(p, hour, d))
	case byInterval:
		if 2*countOf(hour, p.meets) > len(hour) {
			return beyond{}
		}
	}
	if chance < alpha {
		side := 1
		if p.value < middle {
			side = -1
		}
		c.known[i] = beyond{side, middle, len(hour), chance, basis, true}
	}
	return c.known[i]
}

// explained is how often a figure differs by d from those before it, at least, by what its record says alone.
func (p *Point) explained(hour []*Point, d float64) (chance float64, basis string) {
	switch {
	case p.usual > 0:
		return mechanisms.Apart(d, p.usualAfter(hour[len(hour)-1])), byUsual
	case p.noise.scale == 0:
		return 0, byInterval
	}
	return p.noise.tail(d), byError
}

// usualAfter returns the usual difference of a figure and the one before it, as it was known before. It grows with the
// value, since cells of the grid are logarithmic, and with fewer users. A figure's own usual_95 already holds how far
// it is from the one before. So it only bounds the result, and serves where no ratio to that one is known.
func (p *Point) usualAfter(before *Point) float64 {
	most := max(p.usual, before.usual)
	if p.users <= 0 || before.users <= 0 || before.value == 0 {
		return most
	}
	return min(most, before.usual*max(1, math.Abs(p.value/before.value))*max(1, before.users/p.users))
}

// missesOfPairs is the probability with which a bound on what cuts did to a pair may fail.
const missesOfPairs = 0.001

// farFromMedian bounds the probability that noise alone puts a value at least d away from the median of m others, apart
// from what cuts did. Then at least half of these are d away from it, and so at least k = ⌈m/2⌉ − m + s of any s of
// them. The mean number of those is the sum of the chances of pairs, so by Markov's inequality the probability is at
// most 1/k times that sum. Which s are taken does not depend on the noise of values. Those of the least chances are
// best: a few pairs whose cuts explain anything do not count then.
func farFromMedian(p *Point, others []*Point, d float64) float64 {
	m := len(others)
	chances := make([]float64, m)
	for i, o := range others {
		chances[i] = 1
		if moved, ok := movedByCuts([]outputs.Record{p.record, o.record}, 1, missesOfPairs); ok && moved < d {
			if c, alike := chance(p.noise, o.noise, d-moved); alike {
				chances[i] = c
			}
		}
	}
	slices.Sort(chances)
	sum, least := 0.0, 1.0
	for i, c := range chances {
		sum += c
		if k := (m+1)/2 - m + i + 1; k > 0 {
			least = min(least, sum/float64(k))
		}
	}
	return least
}

// meets reports whether the intervals of two figures meet.
func (p *Point) meets(o *Point) bool {
	x, y := p.record.Interval, o.record.Interval
	return float(x.High) >= float(y.Low) && float(y.High) >= float(x.Low)
}

func countOf(points []*Point, f func(*Point) bool) (n int) {
	for _, p := range points {
		if f(p) {
			n++
		}
	}
	return n
}
