package mechanisms

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Measure is a public base measure on a grid: how much each point is favoured before any data is seen. An exponential
// mechanism may be multiplied by any measure and keeps its ε exactly, because the weight of a point is the same on all
// samples. Neighbouring points with the same whole weight form a cell, so masses are exact integers. It is immutable
// and safe for concurrent use.
type Measure struct {
	bounds []int64  // cell j holds the points bounds[j] ≤ x < bounds[j+1]
	weight []uint64 // of one point of cell j, at least 1
	upTo   []uint64 // upTo[j] is the mass of the cells left of j; the last entry is the total, less than 2^63

	heaviest, lightest uint64 // the extreme weights

	// The points left of a point weigh at most left times as much as the point, and those right of it at most right
	// times. Together they weigh at most both times as much as any one point.
	left, right, both float64
}

// Uniform returns the measure that gives all points of the grid the same weight.
func Uniform(g *Grid) *Measure {
	return newMeasure([]int64{0, g.last + 1}, []uint64{1})
}

// Cells returns the measure that is logarithmic away from the value 0 and linear elsewhere: all cells have the same
// mass, and a cell is about a sixteenth as wide as it is far from 0, but never wider than 1/32 of the grid.
func Cells(g *Grid) *Measure {
	bounds := g.cells()
	return cellMeasure(bounds, evenMass(bounds), finest)
}

// cells returns the cells of all measures.
func (g *Grid) cells() []int64 { return cellBounds(g.last+1, g.anchor, 16, 32) }

// evenMass returns the same mass for all cells, in Q32.
func evenMass(bounds []int64) []uint64 {
	mass := make([]uint64, len(bounds)-1)
	for j := range mass {
		mass[j] = one / uint64(len(mass))
	}
	return mass
}

// one is about the mass of all cells together: cell masses are numbers in Q32.
const one uint64 = 1 << 32

// cellBounds returns the cells of a grid of the given number of points, as the positions where they begin and the end
// of the last: a few hundred, each 1/perDistance as wide as it is far from the anchor and never wider than 1/fewest of
// the grid. Where 0 lies inside the grid, distances count from a 64th of the points on, so that nothing finer than
// 1/(64·perDistance) of the range is resolved around it.
func cellBounds(points, anchor, perDistance, fewest int64) []int64 {
	widest := (points + fewest - 1) / fewest
	offset := int64(0)
	if 0 < anchor && anchor < points-1 {
		offset = (points + 63) / 64
	}
	width := func(distance int64) int64 { return max(1, min((distance+offset)/perDistance, widest)) }
	var bounds []int64
	for at := anchor; at > 0; {
		at -= min(width(anchor-at+1), at)
		bounds = append(bounds, at)
	}
	slices.Reverse(bounds)
	for at := anchor; at < points; at += min(width(at-anchor), points-at) {
		bounds = append(bounds, at)
	}
	return append(bounds, points)
}

// finest is how many binary digits more than a cell the points of most measures have.
const finest = 30

// cellMeasure spreads the mass of each cell, in Q32 and about 2^32 in all, evenly over its points, with some more
// binary digits, at most [finest].
func cellMeasure(bounds []int64, mass []uint64, digits int) *Measure {
	weight := make([]uint64, len(mass))
	for j, m := range mass {
		weight[j] = max(1, (m<<digits)/uint64(bounds[j+1]-bounds[j]))
	}
	return newMeasure(bounds, weight)
}

func newMeasure(bounds []int64, weight []uint64) *Measure {
	m := &Measure{bounds: bounds, weight: weight, upTo: make([]uint64, len(bounds)), heaviest: slices.Max(weight),
		lightest: slices.Min(weight)}
	for j, w := range weight {
		m.upTo[j+1] = m.upTo[j] + w*uint64(bounds[j+1]-bounds[j])
	}
	// In each cell, the last point has the most to its left and the first one the most to its right.
	around := func(j int, x int64) (left, right float64) {
		w := m.weight[j]
		before := m.upTo[j] + w*uint64(x-bounds[j])
		return float64(before) / float64(w), float64(m.total()-before-w) / float64(w)
	}
	for j := range weight {
		l, _ := around(j, bounds[j+1]-1)
		_, r := around(j, bounds[j])
		m.left, m.right = max(m.left, l), max(m.right, r)
	}
	for j := range weight {
		for _, x := range [2]int64{bounds[j], bounds[j+1] - 1} { // the sum is linear between them
			l, r := around(j, x)
			m.both = max(m.both, l/max(m.left, 1)+r/max(m.right, 1))
		}
	}
	return m
}

// total returns the mass of the whole grid.
func (m *Measure) total() uint64 { return m.upTo[len(m.upTo)-1] }

// below returns the mass of the points less than x, for 0 ≤ x ≤ N+1.
func (m *Measure) below(x int64) uint64 {
	j := m.cell(x)
	return m.upTo[j] + m.weight[j]*uint64(x-m.bounds[j])
}

// Share returns the share of the measure that lies below point x, half of the point's own weight included. It is in
// [0, 1], and the same double on every machine.
func (m *Measure) Share(x int64) float64 {
	return float64(2*m.below(x)+m.weight[m.cell(x)]) / float64(2*m.total())
}

// cell returns the cell of point x, and the last one for N+1.
func (m *Measure) cell(x int64) int { return lastUpTo(m.bounds[:len(m.weight)], x) }

// lastUpTo returns the position of the last of some ascending numbers that is at most x, and 0 if none is.
func lastUpTo[T int64 | uint64](numbers []T, x T) int {
	lo, hi := 0, len(numbers)
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); numbers[mid] <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// at returns the point x with below(x) ≤ u < below(x+1): a uniform u below the total gives each point its weight.
func (m *Measure) at(u uint64) int64 {
	j := m.cellOf(u)
	return m.bounds[j] + int64((u-m.upTo[j])/m.weight[j])
}

// cellOf returns the cell of the point at(u).
func (m *Measure) cellOf(u uint64) int { return lastUpTo(m.upTo[:len(m.weight)], u) }

// surprise returns ln(V/(η·v)) for the total mass V and the least weight v of a point. For any data, the points that
// are worse than the best by that many e-foldings of an exponential mechanism have probability at most η in all.
func (m *Measure) surprise(eta float64) float64 {
	return math.Log(float64(m.total()) / float64(m.lightest) / eta)
}

// surprises returns numbers of e-foldings for the left and for the right of the best point. Points that are that much
// worse than it, on their side, have probability at most η in all, on both sides together.
func (m *Measure) surprises(eta float64) (left, right float64) {
	return math.Log(max(m.left, 1) * m.both / eta), math.Log(max(m.right, 1) * m.both / eta)
}

// check refuses a measure that was made for a grid of another size.
func (m *Measure) check(g *Grid) error {
	if end := m.bounds[len(m.bounds)-1]; end != g.last+1 {
		return fmt.Errorf("the measure is for a grid of %d points; want one of %d", end, g.last+1)
	}
	return nil
}

// AppendBinary appends cells and weights in a fixed form, the same bytes for the same measure on every machine. It
// implements encoding.BinaryAppender and never fails.
func (m *Measure) AppendBinary(b []byte) ([]byte, error) {
	for j, w := range m.weight {
		b = binary.BigEndian.AppendUint64(b, uint64(m.bounds[j]))
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return binary.BigEndian.AppendUint64(b, uint64(m.bounds[len(m.bounds)-1])), nil
}

// Tapered returns the default measure. It has the cells of [Cells], but from 1/128 of the grid on the mass of a cell
// falls with its distance from the value 0:
//
//	mass_j ∝ 1/d_j,  d_j = max(start, offset + distance of cell j from 0),  start = max(16, (N+1)/128),
//
// where offset is 1/64 of the grid if 0 lies inside it, else 1.
//
// A draw with almost no information follows the measure. Under [Cells] the few cells at the far end of a wide grid make
// up most of its mean error. Under Tapered every octave of distance contributes equally. Data in the upper part of the
// range pay the price, as the study in the folder experiments shows. On grids of a few points it is the same as Cells.
//
// Privacy: it is a function of the public grid. See [Measure].
func Tapered(g *Grid) *Measure {
	bounds := g.cells()
	return cellMeasure(bounds, taperedMass(bounds, g.anchor), finest)
}

// taperedMass returns the mass of each cell in Q32, about 2^32 in all.
func taperedMass(bounds []int64, anchor int64) []uint64 {
	points := bounds[len(bounds)-1]
	start, offset := max(16, points/128), int64(1)
	if 0 < anchor && anchor < points-1 {
		offset = (points + 63) / 64
	}
	// There are at most 2·(16·ln(d/start) + 48) cells up to the distance d, so that the shares add up to less than
	// 2^64.
	raw, sum := make([]uint64, len(bounds)-1), uint64(0)
	for j := range raw {
		distance := offset + max(bounds[j]-anchor, anchor-bounds[j+1], 0)
		raw[j] = (1 << 62) / uint64(max(start, distance))
		sum += raw[j]
	}
	mass := raw
	for j, r := range raw {
		hi, lo := bits.Mul64(r, one)
		mass[j], _ = bits.Div64(hi, lo, sum)
	}
	return mass
}

// measure returns the base measure that the query names, with some binary digits for the points of a cell. An adaptive
// measure begins as the tapered one.
func (q *Query) measure(digits int) *Measure {
	bounds := q.Grid.cells()
	switch q.Prior {
	case "uniform":
		return Uniform(q.Grid)
	case "cells":
		return cellMeasure(bounds, evenMass(bounds), digits)
	}
	return cellMeasure(bounds, taperedMass(bounds, q.Grid.anchor), digits)
}
