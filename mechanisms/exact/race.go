package exact

import (
	"math"
	"math/big"
)

// Race finds the first head of permute-and-flip (McKenna & Sheldon 2020) among groups of candidates. Each candidate
// comes at a uniform time in [0, 1] and is a head with probability e^{−κ·level}. Among mass candidates that are heads
// with probability p, none has come by the time t with probability (1−pt)^mass, so that the first comes at
//
//	t = (1 − u^{1/mass})/p  for a uniform u,
//
// beyond 1 if there is none. (ln(1/t) is the largest of mass exponential variables, less κ·level: permute-and-flip is
// report-noisy-max with exponential noise.) The zero value is ready for Reset; its
// memory is used again. It is not safe for concurrent use.
type Race struct {
	source  *Source
	rate    Rate
	base    int64
	runners []runner
	firsts  []step // memory for the first step of runners that are new
}

type runner struct {
	level   int64
	steps   []step
	lo, hi  float64 // enclose ln t
	present bool
}

// step is one factor u^{1/mass}, u = 1 − chance.
type step struct {
	chance Uniform
	mass   uint64
}

// Reset empties the race. Levels are counted from base, which no level may be below.
func (r *Race) Reset(s *Source, rate Rate, base int64) {
	r.source, r.rate, r.base, r.runners = s, rate, base, r.runners[:0]
	if r.runners == nil {
		r.runners = make([]runner, 0, 64)
	}
}

// Enter adds a group of mass ≥ 1 candidates of one level and returns its position.
func (r *Race) Enter(mass uint64, level int64) int {
	i := len(r.runners)
	if i < cap(r.runners) {
		r.runners = r.runners[:i+1]
	} else {
		r.runners = append(r.runners, runner{})
	}
	x := &r.runners[i]
	if x.steps == nil {
		if len(r.firsts) == 0 {
			r.firsts = make([]step, max(64, i))
		}
		x.steps, r.firsts = r.firsts[:0:1], r.firsts[1:]
	}
	x.level, x.steps = level, x.steps[:0]
	r.Again(i, mass)
	return i
}

// Again makes group i, whose first head is not wanted, come with its next one, out of mass candidates left. With none
// left it is out of the race.
func (r *Race) Again(i int, mass uint64) {
	x := &r.runners[i]
	x.present = mass > 0
	if !x.present {
		return
	}
	x.steps = append(x.steps, step{r.source.Uniform(), mass})
	sum, slack := 0.0, 0x1p-44
	for _, s := range x.steps {
		u := s.chance.Float()
		sum += -math.Log1p(-min(u, 1-0x1p-53)) / float64(s.mass)
		slack += 0x1p-60/u + 0x1p-50/(1-min(u, 1-0x1p-53)) // what the digits unknown can change the logarithm by, relatively
	}
	shift := r.rate.approx * float64(x.level-r.base)
	middle := math.Log(-math.Expm1(-sum)) + shift
	x.lo, x.hi = middle-slack-shift*0x1p-50, middle+slack+shift*0x1p-50
	if math.IsNaN(middle) || math.IsInf(middle, 0) {
		x.lo, x.hi = math.Inf(-1), math.Inf(1)
	}
}

// Winner returns the group whose first head comes first.
func (r *Race) Winner() int {
	best, ceiling := 0, math.Inf(1)
	for i, x := range r.runners {
		if x.present && x.hi <= ceiling {
			best, ceiling = i, x.hi
		}
	}
	var open []int
	for i, x := range r.runners {
		if x.present && i != best && x.lo <= ceiling {
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

// time encloses ln t of group i.
func (r *Race) time(i int, prec uint) Interval {
	x := &r.runners[i]
	one := FromInt(1, prec)
	sum := FromInt(0, prec)
	for k := range x.steps {
		u := one.Sub(x.steps[k].chance.Interval(prec))
		if u.Lo.Sign() <= 0 {
			return Interval{down(prec).SetInf(true), up(prec).SetInf(false)}
		}
		sum = sum.Add(u.Log().Quo(FromUint(x.steps[k].mass, prec)))
	}
	shift := new(big.Rat).SetInt64(x.level - r.base)
	miss := one.Sub(sum.Exp())
	if miss.Hi.Sign() <= 0 { // nothing but rounding: too few digits as yet
		return Interval{down(prec).SetInf(true), up(prec).SetInf(false)}
	}
	if miss.Lo.Sign() < 0 {
		miss.Lo = down(prec)
	}
	return miss.Log().Add(FromRat(shift.Mul(shift, r.rate.exact), prec))
}
