package mechanisms

import (
	"math/bits"
	"slices"

	"github.com/louver/louver/mechanisms/exact"
)

// spread gives every user a random place inside the step of the grid that the user's value stands for, so that users of
// equal values have an order. Point x is divided into 2^digits places x·2^digits + s; each user takes one at random,
// independently of all others. The users of a value are placed when they are first looked at.
type spread struct {
	sample *Sample
	digits int
	source *exact.Source
	placed map[int][]int64 // sorted places of the users of the j-th distinct value
	memory []int64         // from which places are taken
	free   []int64         // what is left of memory
	counts []int64         // users at each place of one value
}

// begin forgets all places. Their memory is used again.
func (p *spread) begin(s *Sample, digits int, source *exact.Source) {
	p.sample, p.digits, p.source, p.free = s, digits, source, p.memory
	if p.placed == nil {
		p.placed = make(map[int][]int64, 64)
	}
	clear(p.placed)
}

// place returns that of the i-th user in order, 1 ≤ i ≤ n.
func (p *spread) place(i int64) int64 {
	j := p.sample.at(i)
	return p.placesAt(j)[i-p.sample.before(j)-1]
}

// below returns how many users have a place less than y.
func (p *spread) below(y int64) int64 {
	j, found := slices.BinarySearch(p.sample.values, y>>p.digits)
	c := p.sample.before(j)
	if found {
		within, _ := slices.BinarySearch(p.placesAt(j), y)
		c += int64(within)
	}
	return c
}

func (p *spread) placesAt(j int) []int64 {
	if places, ok := p.placed[j]; ok {
		return places
	}
	users, first := p.sample.count(j), p.sample.values[j]<<p.digits
	if int64(len(p.free)) < users {
		p.memory = make([]int64, max(1024, 2*int64(len(p.memory)), users))
		p.free = p.memory
	}
	places := p.free[:0:users]
	p.free = p.free[users:]
	size := int64(1) << p.digits
	if p.digits == 0 || users >= size/4 { // many users a place: count them
		p.counts = resized(p.counts, int(size))
		clear(p.counts)
		p.draw(users, func(s int64) { p.counts[s]++ })
		for s, c := range p.counts {
			for range c {
				places = append(places, first+int64(s))
			}
		}
	} else {
		p.draw(users, func(s int64) { places = append(places, first+s) })
		slices.Sort(places)
	}
	p.placed[j] = places
	return places
}

// draw calls f with n uniform numbers of digits bits each.
func (p *spread) draw(n int64, f func(s int64)) {
	if p.digits == 0 {
		for range n {
			f(0)
		}
		return
	}
	perWord := int64(64 / p.digits)
	for n > 0 {
		word := p.source.Uint64()
		for range min(n, perWord) {
			f(int64(word & (1<<p.digits - 1)))
			word >>= p.digits
		}
		n -= perWord
	}
}

// refine returns the measure of the places: each has the weight of its point. It divides points into as many places
// as the total mass allows, at most 2^16.
func (m *Measure) refine() (fine *Measure, digits int) {
	digits = max(0, min(16, 62-bits.Len64(m.total())))
	bounds := make([]int64, len(m.bounds))
	for j, b := range m.bounds {
		bounds[j] = b << digits
	}
	return newMeasure(bounds, m.weight), digits
}

// resized returns a slice of n elements, whatever is in them.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
