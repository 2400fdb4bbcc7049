package exact

import (
	"math"
	"math/big"
)

// Race finds out which of many candidates comes first: permute-and-flip (McKenna & Sheldon 2020) under a measure. A
// candidate of weight v and level l comes at the time V/w, for a uniform V in [0, 1] and w = v·e^{−κ·l}.
//
// Candidates of one weight and level enter as a group ([Race.Enter]). The first of k candidates comes at
//
//	(1 − u^{1/k})/w  for a uniform u,
//
// and by symmetry each of them is equally likely to be that one.
//
// Candidates that are too many to look at enter as the rest ([Race.Rest]). A candidate that has not come by the time s
// comes then with the rate w/(1−s·w). While s·w ≤ ½, that is at most 2w. So the rest is a Poisson process of the rate
// 2·Σ w', with weights w' ≥ w that are easy to sum; each arrival belongs to a candidate with probability ∝ w' and is kept
// with probability w/(1−s·w)/(2w') ([Race.Keep]). What is kept first has the law of the candidate that comes first
// (thinning: Lewis & Shedler 1979).
//
// The zero value is ready for Reset; its memory is used again. It is not safe for concurrent use.
type Race struct {
	source   *Source
	rate     Rate
	base     int64
	runners  []runner
	arrivals []Uniform // of the rest
	ceiling  float64   // no runner that comes later, in units of e^{κ·base}, can win
	level    int64     // of the weight computed last
	weight   float64
}

type runner struct {
	level  int64
	mass   uint64 // candidates; 0: the rest
	weight uint64 // of each candidate; twice that of all, for the rest
	chance Uniform
	lo, hi float64 // enclose ln t
}

// Reset empties the race. Levels are counted from base, which no level may be below.
func (r *Race) Reset(s *Source, rate Rate, base int64) {
	r.source, r.rate, r.base, r.runners, r.arrivals, r.ceiling = s, rate, base, r.runners[:0], r.arrivals[:0], math.Inf(1)
	r.level, r.weight = base, 1
	if r.runners == nil {
		r.runners = make([]runner, 0, 128)
	}
}

// Weight returns e^{−κ·(level−base)}, a float64.
func (r *Race) Weight(level int64) float64 {
	if level != r.level {
		r.level, r.weight = level, r.rate.Weight(level-r.base)
	}
	return r.weight
}

// Enter adds a group of mass ≥ 1 candidates of one weight ≥ 1 and one level, if it may win: its first candidate comes at
// u/(mass·w) or later, which most groups are too late with. It says whether it did; the groups in the race are counted
// from 0.
func (r *Race) Enter(mass, weight uint64, level int64) bool {
	x := runner{level: level, mass: mass, weight: weight, chance: r.source.Uniform()}
	// 2^−30 covers the errors of the weight and of a few roundings, 2^−62 the digits of u that are not known.
	w := float64(mass) * float64(weight) * r.Weight(level)
	if x.chance.Float()*(1-0x1p-30)-0x1p-62 > r.ceiling*(w+0x1p-200) {
		return false
	}
	sum, slack := exponential(&x.chance)
	sum /= float64(mass)
	r.enclose(&x, -math.Expm1(-sum), slack)
	r.runners = append(r.runners, x)
	r.ceiling = min(r.ceiling, math.Exp(x.hi)*(1+0x1p-40))
	return true
}

// Rest adds candidates whose weights sum up to mass, 1 ≤ mass < 2^63, none of which has a level below the given one. Their
// w must be at most half of that of a candidate in a group. The rest enters last; its position is the number of groups in the race.
func (r *Race) Rest(mass uint64, level int64) {
	r.runners = append(r.runners, runner{level: level, weight: 2 * mass})
	r.arrive()
}

// arrive brings the next arrival of the rest, which is the last runner.
func (r *Race) arrive() {
	r.arrivals = append(r.arrivals, r.source.Uniform())
	sum, slack := r.sum()
	r.enclose(&r.runners[len(r.runners)-1], sum, slack)
}

// sum returns the arrivals' time in units of the mean gap between them, with a bound of its relative error.
func (r *Race) sum() (sum, slack float64) {
	for i := range r.arrivals {
		e, s := exponential(&r.arrivals[i])
		sum, slack = sum+e, slack+s
	}
	return sum, slack
}

// exponential returns −ln(1−u) and a bound of its relative error: of what the unknown digits can change, and of a few
// roundings.
func exponential(chance *Uniform) (x, slack float64) {
	u := chance.Float()
	known := min(u, 1-0x1p-53)
	return -math.Log1p(-known), 0x1p-48 + 0x1p-60/u + 0x1p-50/(1-known)
}

// enclose bounds ln t for a time of t·e^{κ·level}/weight.
func (r *Race) enclose(x *runner, t, slack float64) {
	shift := r.rate.approx * float64(x.level-r.base)
	middle := math.Log(t) - math.Log(float64(x.weight)) + shift
	slack += 0x1p-44 + shift*0x1p-50
	x.lo, x.hi = middle-slack, middle+slack
	if !(slack < 1) || math.IsNaN(middle) || math.IsInf(middle, 0) {
		x.lo, x.hi = math.Inf(-1), math.Inf(1)
	}
}

// Keep says whether the rest, which has won, has won with a candidate of the given weight and level, drawn with a
// probability proportional to its weight. If not, the rest stays in the race with its next arrival.
func (r *Race) Keep(weight uint64, level int64) bool {
	rest := &r.runners[len(r.runners)-1]
	gap := level - rest.level
	// With a = e^{−κ·gap} and a sum e of the arrivals, w/w' is a and s·w is a·e·weight/rest.weight, at most ½.
	a, share := r.rate.Weight(gap), float64(weight)/float64(rest.weight)
	e, slack := r.sum()
	p := a / (2 - 2*min(a*e*share, 0.5))
	slack = p*(4*WeightError+2*slack) + 0x1p-62
	if !(slack < 0.25) {
		p, slack = 0.5, 1
	}
	kept := r.source.RealCoin(p, slack, func(prec uint) Interval {
		a, e := r.rate.Interval(gap, prec), r.total(prec)
		half := FromRat(big.NewRat(1, 2), prec)
		late := a.Mul(e).Mul(FromUint(weight, prec)).Quo(FromUint(rest.weight, prec))
		if late.Hi.Cmp(half.Hi) > 0 { // nothing but rounding, or too few digits as yet
			late.Hi = half.Hi
		}
		return a.Quo(FromInt(2, prec).Mul(FromInt(1, prec).Sub(late)))
	})
	if !kept {
		r.arrive()
	}
	return kept
}

// total encloses what sum computes.
func (r *Race) total(prec uint) Interval {
	e := FromInt(0, prec)
	for i := range r.arrivals {
		e = e.Sub(r.arrivals[i].missed(prec).Log())
	}
	return e
}

// missed encloses 1−u.
func (u *Uniform) missed(prec uint) Interval {
	x := FromInt(1, prec).Sub(u.Interval(prec))
	if x.Lo.Sign() < 0 {
		x.Lo = down(prec)
	}
	return x
}

// Winner returns the position of the group that comes first, or that of the rest.
func (r *Race) Winner() int {
	best, ceiling := 0, math.Inf(1)
	for i := range r.runners {
		if x := &r.runners[i]; x.hi <= ceiling {
			best, ceiling = i, x.hi
		}
	}
	var open []int
	for i := range r.runners {
		if i != best && r.runners[i].lo <= ceiling {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return best
	}
	r.source.refined++
	open = append(open, best)
	for prec := uint(firstPrec); ; prec *= 2 {
		times := make([]Interval, len(open))
		first := 0
		for k, i := range open {
			times[k] = r.time(i, prec)
			if times[k].Hi.Cmp(times[first].Hi) < 0 {
				first = k
			}
		}
		certain := true
		for k := range open {
			certain = certain && (k == first || times[first].Before(times[k]))
		}
		if certain {
			return open[first]
		}
	}
}

// time encloses ln t of a runner.
func (r *Race) time(i int, prec uint) Interval {
	x := &r.runners[i]
	var t Interval
	if x.mass == 0 {
		t = r.total(prec)
	} else {
		u := x.chance.missed(prec)
		if u.Lo.Sign() == 0 {
			return Interval{down(prec).SetInf(true), up(prec).SetInf(false)}
		}
		t = FromInt(1, prec).Sub(u.Log().Quo(FromUint(x.mass, prec)).Exp())
	}
	if t.Hi.Sign() <= 0 || t.Hi.IsInf() { // too few digits as yet
		return Interval{down(prec).SetInf(true), up(prec).SetInf(false)}
	}
	if t.Lo.Sign() < 0 {
		t.Lo = down(prec)
	}
	shift := new(big.Rat).SetInt64(x.level - r.base)
	shift.Mul(shift, r.rate.exact)
	return t.Log().Sub(FromUint(x.weight, prec).Log()).Add(FromRat(shift, prec))
}
