package exact

import "math"

// Flip turns choices of a [Wheel] into permute-and-flip (McKenna & Sheldon 2020). A choice of the wheel is a candidate x
// with probability proportional to its weight w_x, as in the exponential mechanism. Permute-and-flip lets each candidate
// come at a time V/w_x, for a uniform V in [0, 1] of its own, and takes the one that comes first.
//
// Let the heaviest candidate weigh 1. A candidate that has not come by the time t < 1 comes then with the rate
// w/(1 − t·w), which is at most w/(1 − t). So all of them come among the arrivals of a Poisson process with the rate
// R/(1 − t), R = Σ w: an arrival belongs to x with probability w_x/R, which is what the wheel chooses, and is kept with
// probability
//
//	(w_x/(1 − t·w_x))/(w_x/(1 − t)) = q/(1 − w_x + q·w_x),  q = 1 − t.
//
// What is kept first has the law of what comes first (thinning: Lewis & Shedler 1979). The clock −ln q makes the rate
// R/(1 − t) an even R, so that q = Π u_i^{1/R} at the k-th arrival, for uniform u_1 … u_k.
//
// Arrivals before the first that is kept, and this one: R·∫₀¹ Π(1 − t·w_x)/(1 − t) dt, which is at most
// R·(1 − e^{1−R})/(R − 1) ≤ 1.3 on average.
//
// The zero value is ready for Reset; its memory is used again. It is not safe for concurrent use.
type Flip struct {
	wheel  *Wheel
	top    Candidate
	waits  []Uniform // u_1 … u_k
	sum    float64   // Σ −ln u_i
	slack  float64   // how far off the sum is at most
	volume float64   // R
}

// Candidate is one of weight Mass·e^{−κ·Level}, Mass ≥ 1.
type Candidate struct {
	Mass  uint64
	Level int64
}

// Reset begins at the time 0. The wheel must hold all candidates, and top must be the heaviest.
func (f *Flip) Reset(w *Wheel, top Candidate) {
	f.wheel, f.top, f.waits, f.sum, f.slack = w, top, f.waits[:0], 0, 0
	f.volume = w.Total() / (float64(top.Mass) * w.Weight(top.Level))
}

// Arrive waits for the next arrival. Whose it is the wheel chooses.
func (f *Flip) Arrive(s *Source) {
	wait := s.Uniform()
	f.waits = append(f.waits, wait)
	u := wait.Float()
	e := -math.Log(u)
	f.sum += e
	// What the unknown digits of u can change, and a few roundings.
	f.slack += 0x1p-63/u + 0x1p-50*(1+e)
}

// Keep says whether the arrival is kept that the wheel has given to x. If not, the next one must arrive.
func (f *Flip) Keep(s *Source, x Candidate) bool {
	if x == f.top {
		return true
	}
	keep, slack := f.near(x)
	return s.RealCoin(keep, slack, func(prec uint) Interval { return f.keep(x, prec) })
}

// near returns about the probability with which x is kept and how far off that is at most.
func (f *Flip) near(x Candidate) (keep, slack float64) {
	p := min(1, float64(x.Mass)/float64(f.top.Mass)*(f.wheel.Weight(x.Level)/f.wheel.Weight(f.top.Level)))
	wait := f.sum / f.volume
	q := math.Exp(-wait)
	rest := 1 - p + p*q
	keep = q / rest
	// Relative errors: of R, of q by twice that of the exponent, and of the quotient; 2^−50 is for a few roundings.
	ofVolume := 8*WeightError + float64(len(f.wheel.pieces))*0x1p-50
	ofQ := 2*(f.slack/f.volume+wait*ofVolume) + 0x1p-50
	off := ofQ + (p*(8*WeightError+ofQ)+0x1p-50)/rest
	if !(off < 0.25) {
		return 0.5, 1
	}
	return keep, 2*keep*off + 0x1p-62
}

// keep encloses the probability with which x is kept.
func (f *Flip) keep(x Candidate, prec uint) Interval {
	rate, one := f.wheel.rate, FromInt(1, prec)
	logs := FromInt(0, prec)
	for i := range f.waits {
		logs = logs.Add(f.waits[i].Interval(prec).Log())
	}
	top := FromUint(f.top.Mass, prec).Mul(rate.Interval(f.top.Level-f.wheel.base, prec))
	q := logs.Mul(top.Quo(f.wheel.sums(prec, nil))).Exp()
	p := FromUint(x.Mass, prec).Quo(FromUint(f.top.Mass, prec)).Mul(rate.Interval(x.Level-f.top.Level, prec))
	if p.Hi.Cmp(one.Hi) > 0 { // nothing but rounding
		p.Hi = one.Hi
	}
	return q.Quo(one.Sub(p).Add(p.Mul(q)))
}

// Heavier says whether x weighs more than y.
func (r Rate) Heavier(x, y Candidate) bool {
	switch {
	case x.Mass <= y.Mass && x.Level >= y.Level:
		return false
	case x.Mass >= y.Mass && x.Level <= y.Level:
		return true
	case x.Level < y.Level:
		return !r.Heavier(y, x) // they are not alike: e^{κ·k} is irrational for k ≠ 0
	}
	ratio := float64(x.Mass) / float64(y.Mass) * r.Weight(x.Level-y.Level)
	if d := ratio - 1; d > 4*WeightError || d < -4*WeightError {
		return d > 0
	}
	for prec := uint(firstPrec); ; prec *= 2 {
		w := r.Interval(x.Level-y.Level, prec).Mul(FromUint(x.Mass, prec))
		other := FromUint(y.Mass, prec)
		if other.Before(w) {
			return true
		}
		if w.Before(other) {
			return false
		}
	}
}
