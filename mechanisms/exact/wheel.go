package exact

import "sort"

// Wheel chooses among pieces with probability proportional to mass·e^{−κ·level}: the exponential mechanism over groups
// of candidates of one utility. The zero value is ready for Reset; its memory is used again. It is not safe for
// concurrent use.
type Wheel struct {
	rate   Rate
	base   int64
	pieces []piece
	known  [16]struct { // weights computed last, by the level's last digits
		level  int64
		weight float64
	}
}

type piece struct {
	mass  uint64
	level int64
	upTo  float64 // sum of mass·weight up to and with this piece
}

// Reset empties the wheel. Levels are counted from base, which no level may be below.
func (w *Wheel) Reset(rate Rate, base int64) {
	if w.pieces == nil {
		w.pieces = make([]piece, 0, 64)
	}
	w.rate, w.base, w.pieces = rate, base, w.pieces[:0]
	for i := range w.known {
		w.known[i].level, w.known[i].weight = base, 1
	}
}

// Weight returns e^{−κ·(level−base)}, a float64 as good as the wheel's own.
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

// Spin returns the position of the chosen piece. A piece at the base level with mass ≥ 1 must be there.
//
// A uniform number u falls into one of the pieces' shares. The float64 sums have a relative error of at most
// WeightError + 2^−52 for the product + len·2^−53 for the additions; u·total has two roundings more. Where u falls
// closer than that to the border of two shares, the shares are computed again as intervals.
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

// refine finds the piece whose share holds all of u, if one does.
func (w *Wheel) refine(u Interval) (int, bool) {
	upTo := make([]Interval, 0, len(w.pieces))
	x := u.Mul(w.sums(u.Prec(), func(sum Interval) { upTo = append(upTo, sum) }))
	i := sort.Search(len(upTo)-1, func(i int) bool { return x.Before(upTo[i]) })
	return i, i == 0 || upTo[i-1].Before(x)
}

// sums encloses the sum of mass·weight over all pieces and calls f, unless it is nil, with that up to each of them.
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
