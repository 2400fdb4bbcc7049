package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/louver/louver/mechanisms/exact"
)

// draw returns places o_1 ≤ … ≤ o_m. The next draw overwrites them, and they mean nothing if there is an error.
func (x *messages) draw(source *exact.Source) []int64 {
	for {
		if source.Coin(1, 1+1<<outermost) {
			if places, ok := x.outside(source); ok {
				return places
			}
		} else if places, ok := x.inside(source); ok {
			return places
		}
	}
}

// outside tries a tuple that is not within the windows.
func (x *messages) outside(source *exact.Source) ([]int64, bool) {
	places := resized(x.places, len(x.p))
	x.places = places
	for j := range places {
		places[j] = x.fine.at(source.Below(x.fine.total()))
	}
	slices.Sort(places)
	level, before, within := int64(0), int64(0), true
	for j, o := range places {
		c := x.spread.below(o)
		level += x.penalty(j, c-before)
		before = c
		within = within && x.window[j].lo <= c && c <= x.window[j].hi
	}
	level += x.penalty(len(x.p), x.n-before)
	if within {
		return nil, false
	}
	ratio := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), outermost))
	logRatio := outermost * math.Ln2
	for j := range places {
		ratio.Mul(ratio, new(big.Rat).SetFrac(new(big.Int).SetUint64(x.fine.total()), big.NewInt(int64(j+1))))
		logRatio += math.Log(float64(x.fine.total()) / float64(j+1))
	}
	return places, x.keep(source, logRatio, level, func() *big.Rat { return ratio })
}

// inside tries a tuple that the messages choose, from right to left.
func (x *messages) inside(source *exact.Source) ([]int64, bool) {
	places := resized(x.places, len(x.p))
	x.places, x.factors = places, x.factors[:0]
	logRatio, level := 0., int64(0)
	pick := func(logs []float64) int {
		i, chance, total := x.pick(logs, source)
		x.factors = append(x.factors, factor{total, chance})
		logRatio += math.Log(float64(total) / float64(chance))
		return i
	}
	j := len(x.p) - 1
	next := x.n // c_{j+1}
	for j >= 0 {
		w := &x.window[j]
		logs := x.take(int64(len(w.out)))
		for i, out := range w.out {
			c := w.lo + int64(i)
			switch {
			case j == len(x.p)-1:
				logs[i] = out + x.end(c)
			case c < next:
				logs[i] = out - x.rate.Float()*float64(x.penalty(j+1, next-c))
			default:
				logs[i] = math.Inf(-1)
			}
		}
		c := w.lo + int64(pick(logs))
		x.memory = x.memory[:len(x.memory)-len(logs)]
		logs = logs[:0]
		for run := 1; run <= j+1; run++ {
			logs = append(logs, x.run(j, c, run))
		}
		run := pick(logs) + 1
		level += x.penalty(j+1, next-c)
		from, mass := x.massOf(c)
		for k := range run {
			places[j-k] = x.fine.at(from + source.Below(mass))
			x.factors = append(x.factors, factor{mass, uint64(k + 1)})
			logRatio += math.Log(float64(mass) / float64(k+1))
			if k > 0 {
				level += x.zero[j-k+1]
			}
		}
		slices.Sort(places[j-run+1 : j+1])
		j -= run
		next = c
	}
	level += x.penalty(0, next)
	return places, x.keep(source, logRatio, level, func() *big.Rat {
		ratio := big.NewRat(1, 1)
		for _, f := range x.factors {
			ratio.Mul(ratio, new(big.Rat).SetFrac(new(big.Int).SetUint64(f.num), new(big.Int).SetUint64(f.den)))
		}
		return ratio
	})
}

// pick chooses among weights given as logarithms, with probability exactly chance/total.
func (x *messages) pick(logs []float64, source *exact.Source) (i int, chance, total uint64) {
	scale := pickScale(len(logs))
	top := slices.Max(logs)
	x.sums = x.sums[:0]
	for _, l := range logs {
		if !math.IsInf(l, -1) { // every possible choice must remain possible
			total += uint64(math.Exp(l-top)*scale) + 1
		}
		x.sums = append(x.sums, total)
	}
	u := source.Below(total)
	i, _ = slices.BinarySearch(x.sums, u+1)
	chance = x.sums[i]
	if i > 0 {
		chance -= x.sums[i-1]
	}
	return i, chance, total
}

// keep returns true with probability ratio·e^{−2κ·level}/A. A is so large that this is at most e^{−slack}, up to the
// roundings of these few lines. If it is not, the draw fails, because its law would be another one.
func (x *messages) keep(source *exact.Source, logRatio float64, level int64, ratio func() *big.Rat) bool {
	logKept := logRatio - x.rate.Float()*float64(level) - x.logA
	if logKept > -leastSlack/2 {
		x.err = fmt.Errorf("joint: a tuple would be kept with probability e^%g; want at most e^%g", logKept, -x.slack)
		return true
	}
	approx := math.Exp(logKept)
	return source.RealCoin(approx, approx*0x1p-20+0x1p-62, func(prec uint) exact.Interval {
		y := new(big.Rat).SetFloat64(x.logA)
		return exact.FromRat(ratio(), prec).Mul(x.rate.Interval(level, prec)).Mul(exact.FromRat(y, prec).Neg().Exp())
	})
}

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
