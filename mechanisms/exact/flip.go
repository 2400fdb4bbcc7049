package exact

import "math"

// Flip turns choices of a [Wheel] into permute-and-flip (McKenna & Sheldon 2020). The wheel chooses a candidate x with
// probability proportional to its weight w_x, as the exponential mechanism does. In permute-and-flip, each candidate
// arrives at a time V/w_x, where V is its own uniform number in [0, 1], and the first to arrive is taken.
//
// Let the heaviest candidate have weight 1. A candidate that has not arrived by the time t < 1 then arrives with rate
// w/(1 − t·w), which is at most w/(1 − t). So a Poisson process with rate R/(1 − t), R = Σ w, can generate all
// arrivals: an arrival belongs to x with probability w_x/R, the wheel's own law, and is kept with probability
//
//	(w_x/(1 − t·w_x))/(w_x/(1 − t)) = q/(1 − w_x + q·w_x),  q = 1 − t.
//
// The first kept arrival has the law of the first candidate to arrive (thinning: Lewis & Shedler 1979). On the clock
// −ln q the rate R/(1 − t) becomes a constant R, so that q = Π u_i^{1/R} at the k-th arrival, for uniform u_1 … u_k.
//
// The number of arrivals up to the first kept one is R·∫₀¹ Π(1 − t·w_x)/(1 − t) dt on average, which is at most
// R·(1 − e^{1−R})/(R − 1) ≤ 1.3.
//
// The zero value is ready for Reset, which reuses its memory. It is not safe for concurrent use.
type Flip struct {
	wheel  *Wheel
	top    Candidate
	waits  []Uniform // u_1 … u_k
	sum    float64   // Σ −ln u_i
	slack  float64   // bound on the sum's error
	volume float64   // R
}

// Candidate has weight Mass·e^{−κ·Level}, Mass ≥ 1.
type Candidate struct {
	Mass  uint64
	Level int64
}

// Reset starts at time 0. The wheel must hold all candidates, and top must be the heaviest.
func (f *Flip) Reset(w *Wheel, top Candidate) {
	f.wheel, f.top, f.waits, f.sum, f.slack = w, top, f.waits[:0], 0, 0
	f.volume = w.Total() / (float64(top.Mass) * w.Weight(top.Level))
}

// Arrive waits for the next arrival. The wheel then chooses which candidate it belongs to.
func (f *Flip) Arrive(s *Source) {
	wait := s.Uniform()
	f.waits = append(f.waits, wait)
	u := wait.Float()
	e := -math.Log(u)
	f.sum += e
	// The unknown digits of u, and a few roundings.
	f.slack += 0x1p-63/u + 0x1p-50*(1+e)
}

// Keep reports whether to keep an arrival that the wheel gave to x. If not, call Arrive again.
func (f *Flip) Keep(s *Source, x Candidate) bool {
	if x == f.top {
		return true
	}
	keep, slack := f.near(x)
	return s.RealCoin(keep, slack, func(prec uint) Interval { return f.keep(x, prec) })
}

// near returns the approximate probability of keeping x, and a bound on its error.
func (f *Flip) near(x Candidate) (keep, slack float64) {
	p := min(1, float64(x.Mass)/float64(f.top.Mass)*(f.wheel.Weight(x.Level)/f.wheel.Weight(f.top.Level)))
	wait := f.sum / f.volume
	q := math.Exp(-wait)
	rest := 1 - p + p*q
	keep = q / rest
	// Relative errors: that of R, twice that of the exponent for q, and that of the quotient. 2^−50 covers a few
	// roundings.
	ofVolume := 8*WeightError + float64(len(f.wheel.pieces))*0x1p-50
	ofQ := 2*(f.slack/f.volume+wait*ofVolume) + 0x1p-50
	off := ofQ + (p*(8*WeightError+ofQ)+0x1p-50)/rest
	if !(off < 0.25) {
		return 0.5, 1
	}
	return keep, 2*keep*off + 0x1p-62
}

// keep encloses the probability of keeping x.
func (f *Flip) keep(x Candidate, prec uint) Interval {
	rate, one := f.wheel.rate, FromInt(1, prec)
	logs := FromInt(0, prec)
	for i := range f.waits {
		logs = logs.Add(f.waits[i].Interval(prec).Log())
	}
	top := FromUint(f.top.Mass, prec).Mul(rate.Interval(f.top.Level-f.wheel.base, prec))
	q := logs.Mul(top.Quo(f.wheel.sums(prec, nil))).Exp()
	p := FromUint(x.Mass, prec).Quo(FromUint(f.top.Mass, prec)).Mul(rate.Interval(x.Level-f.top.Level, prec))
	if p.Hi.Cmp(one.Hi) > 0 { // only rounding can cause this
		p.Hi = one.Hi
	}
	return q.Quo(one.Sub(p).Add(p.Mul(q)))
}

// Heavier reports whether x weighs more than y.
func (r Rate) Heavier(x, y Candidate) bool {
	switch {
	case x.Mass <= y.Mass && x.Level >= y.Level:
		return false
	case x.Mass >= y.Mass && x.Level <= y.Level:
		return true
	case x.Level < y.Level:
		return !r.Heavier(y, x) // the weights differ: e^{κ·k} is irrational for k ≠ 0
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
