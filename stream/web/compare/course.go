package compare

import (
	"math"
	"slices"

	"github.com/louver/louver/stream/outputs"
)

// Point is a figure, prepared to be compared with others.
type Point struct {
	record     outputs.Record
	start, end int64 // of the window, Unix seconds
	value      float64
	usual      float64 // its usual_95, or 0
	users      float64 // the released number of all users, or 0
	noise      noise
}

// PointOf prepares a figure. It returns nil if nothing public tells what explains its differences: it is withheld, or
// that of a watch, a running total or a figure on change, or it has none of a usual_95, an interval and an error_95.
func PointOf(r outputs.Record) *Point {
	if r.Value == nil || r.Held() {
		return nil
	}
	p := &Point{record: r, start: r.WindowStart.Unix(), end: r.WindowEnd.Unix(), value: float(*r.Value)}
	if r.Users != nil {
		p.users = float64(*r.Users)
	}
	switch {
	case isQuantile(r):
		p.usual = usualOf([]outputs.Record{r})
		if p.usual == 0 && r.Interval == nil {
			return nil
		}
	case r.Error95 == nil:
		return nil
	default:
		p.noise = noiseOf(r)
	}
	return p
}

// like reports whether two figures are of the same kind: an edit of the release may have changed it.
func (p *Point) like(o *Point) bool {
	a, b := p.record, o.record
	return a.Statistic == b.Statistic && a.Unit == b.Unit && a.Mechanism == b.Mechanism &&
		(p.usual == 0) == (o.usual == 0) && (a.Interval == nil) == (b.Interval == nil)
}

// Course is a series of figures, some of which are compared with those before them. It is not safe for concurrent use.
type Course struct {
	points  []*Point // by the ends of their windows; nil for those that cannot be compared
	known   []beyond
	middles []float64 // of the hours before; NaN if not computed yet, and −Inf if an hour has too few figures
}

// NewCourse returns the course of some figures, by the ends of their windows. nil stands for one that cannot be
// compared.
func NewCourse(points []*Point) *Course {
	c := &Course{points, make([]beyond, len(points)), make([]float64, len(points))}
	for i := range c.middles {
		c.middles[i] = math.NaN()
	}
	return c
}

// each calls f with the places of the figures that one is compared with, newest first: those like it whose windows
// ended before it began, in the hour before.
func (c *Course) each(i int, f func(j int) (more bool)) {
	p := c.points[i]
	oldest := p.start - Span(p.end-p.start)
	for j := i - 1; j >= 0; j-- {
		if o := c.points[j]; o != nil && o.end <= p.start && o.like(p) {
			if o.start < oldest || !f(j) {
				return
			}
		}
	}
}

// before returns the figures that one is compared with, oldest first.
func (c *Course) before(i int) []*Point {
	var all []*Point
	c.each(i, func(j int) bool {
		all = append(all, c.points[j])
		return true
	})
	slices.Reverse(all)
	return all
}

// middle returns the median of the figures that one is compared with, and −Inf if they are too few.
func (c *Course) middle(i int) float64 {
	if !math.IsNaN(c.middles[i]) {
		return c.middles[i]
	}
	var values []float64
	c.each(i, func(j int) bool {
		values = append(values, c.points[j].value)
		return true
	})
	c.middles[i] = math.Inf(-1)
	if len(values) >= leastBefore {
		c.middles[i] = median(values)
	}
	return c.middles[i]
}

// variation measures how far the figures of the hour before a window lie apart. Two things count, and of these the
// larger:
//
//   - the mean distance of a figure from the one before it. It holds noise, who comes, and peaks that come again and
//     again. The largest twentieth of the distances is left out, so that one incident does not make the next one usual;
//   - the usual distance of a figure from the median of the hour before its own. It also holds waves and drifts, whose
//     figures follow their neighbours closely. It is the median of these distances, which a change does not move: until
//     the level after it is the median, it takes half of an hour. A factor of 1/ln 2 makes it the mean of exponential
//     distances.
//
// Distances between windows that overlap would be too small, and so they are between windows that do not. There are no
// more independent ones than the hour has such windows.
func (c *Course) variation(i int) variation {
	p := c.points[i]
	var far, off []float64
	c.each(i, func(j int) bool {
		o := c.points[j]
		c.each(j, func(k int) bool {
			far = append(far, math.Abs(o.value-c.points[k].value))
			return false
		})
		if m := c.middle(j); !math.IsInf(m, -1) {
			off = append(off, math.Abs(o.value-m))
		}
		return true
	})
	if len(far) == 0 {
		return variation{math.Inf(1), 1}
	}
	v := variationOf(far)
	v.of = min(v.of, float64(Span(p.end-p.start))/float64(p.end-p.start))
	if len(off) >= leastBefore {
		slices.Sort(off)
		v.scale = max(v.scale, off[(len(off)-1)/2]/math.Ln2)
	}
	return v
}

// mostKnown is how many distances are taken to tell a scale, at most. Distances of neighbours depend on each other, and
// heavy tails need room. The law of usual_95 has as many (mechanisms.Apart).
const mostKnown = 17

// variation is how far the figures of a stretch of time lie from each other by noise and by what usually happens.
type variation struct {
	// scale is the mean of a usual distance, and of is how many distances tell it.
	scale, of float64
}

// variationOf returns what some distances between neighbours tell, of which there is at least one. The largest
// twentieth of them is left out.
func variationOf(far []float64) variation {
	slices.Sort(far)
	far = far[:len(far)-len(far)/20]
	v := variation{of: min(mostKnown, float64(len(far)))}
	for _, d := range far {
		v.scale += d / float64(len(far))
	}
	return v
}

// apart is the probability of a distance of d or more, if the distances so far were exponential ones of an unknown
// scale. It is (1 + d/(n·scale))^−n, a Lomax law: the ratio of a new distance to the sum of n others. A scale of 0
// explains nothing.
func (v variation) apart(d float64) float64 { return math.Pow(1+d/(v.of*v.scale), -v.of) }

// median returns the middle of some values, or the middle between the two middle ones. It changes their order.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return values[(n-1)/2]/2 + values[n/2]/2
}
