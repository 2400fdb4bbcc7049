package exact

import "sort"

// Wheel chooses among pieces with probability proportional to mass·e^{−κ·level}: the exponential mechanism over groups
// of candidates of one utility. The zero value is ready for Reset, which reuses its memory. It is not safe for
// concurrent use.
type Wheel struct {
	rate   Rate
	base   int64
	pieces []piece
	known  [16]struct { // recently computed weights, by the low bits of the level
		level  int64
		weight float64
	}
}

type piece struct {
	mass  uint64
	level int64
	upTo  float64 // sum of mass·weight up to and including this piece
}

// Reset empties the wheel. No level may be below base, from which levels are counted.
func (w *Wheel) Reset(rate Rate, base int64) {
	if w.pieces == nil {
		w.pieces = make([]piece, 0, 64)
	}
	w.rate, w.base, w.pieces = rate, base, w.pieces[:0]
	for i := range w.known {
		w.known[i].level, w.known[i].weight = base, 1
	}
}

// Weight returns e^{−κ·(level−base)} as a float64 with the wheel's own accuracy.
func (w *Wheel) Weight(level int64) float64 {
	k := &w.known[level&15]
	if level != k.level {
		k.level, k.weight = level, w.rate.Weight(level-w.base)
	}
	return k.weight
}

// Add appends a piece.
func (w *Wheel) Add(mass uint64, level int64) {
	w.pieces = append(w.pieces, piece{mass, level, w.Total() + float64(mass)*w.Weight(level)})
}

// Total returns the sum of mass·weight, as a float64.
func (w *Wheel) Total() float64 {
	if len(w.pieces) == 0 {
		return 0
	}
	return w.pieces[len(w.pieces)-1].upTo
}

// Spin returns the position of the chosen piece. The wheel must hold a piece at the base level with mass ≥ 1.
//
// A uniform number u falls into one of the pieces' shares. The relative error of the float64 sums is at most
// WeightError, plus 2^−52 for the product, plus len·2^−53 for the additions. u·total adds two roundings. If u is closer
// than that to the border of two shares, the shares are computed again as intervals.
func (w *Wheel) Spin(s *Source) int {
	u, total := s.Uniform(), w.Total()
	slack := total * (4*WeightError + float64(len(w.pieces))*0x1p-51)
	x := u.Float() * total
	i := sort.Search(len(w.pieces)-1, func(i int) bool { return x < w.pieces[i].upTo })
	if (i == 0 || x-slack > w.pieces[i-1].upTo) && (i == len(w.pieces)-1 || x+slack < w.pieces[i].upTo) {
		return i
	}
	s.refined++
	for prec := uint(firstPrec); ; prec *= 2 {
		if i, ok := w.refine(u.Interval(prec)); ok {
			return i
		}
	}
}

// refine finds the piece whose share contains all of u, if there is one.
func (w *Wheel) refine(u Interval) (int, bool) {
	upTo := make([]Interval, 0, len(w.pieces))
	x := u.Mul(w.sums(u.Prec(), func(sum Interval) { upTo = append(upTo, sum) }))
	i := sort.Search(len(upTo)-1, func(i int) bool { return x.Before(upTo[i]) })
	return i, i == 0 || upTo[i-1].Before(x)
}

// sums encloses the sum of mass·weight over all pieces. If f is not nil, it is called with the sum up to each piece.
func (w *Wheel) sums(prec uint, f func(upTo Interval)) Interval {
	sum := FromInt(0, prec)
	var weight Interval
	for i, p := range w.pieces {
		if i == 0 || p.level != w.pieces[i-1].level {
			weight = w.rate.Interval(p.level-w.base, prec)
		}
		sum = sum.Add(weight.Mul(FromUint(p.mass, prec)))
		if f != nil {
			f(sum)
		}
	}
	return sum
}
