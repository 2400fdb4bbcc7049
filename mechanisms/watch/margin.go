package watch

import (
	"math"
	"sort"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// What a watch will see, from public figures alone: how far beyond the target it fires, how often it fires without
// cause, and what excess it sees.

// choose sets the plan. Of all divisions of ε it takes the one that sees the smallest excess with 95 % in the first
// window.
func (w *Watch) choose() error {
	least := math.Inf(1)
	for share := int64(1); share < shares; share++ {
		p := w.divide(share)
		margin, ok := w.margin(p)
		if !ok {
			continue
		}
		p.margin = margin
		if excess := w.seen(p); excess < least {
			least, w.plan = excess, p
		}
	}
	if math.IsInf(least, 1) {
		return parameter.Wrong("epsilon", w.promise.Epsilon,
			"a larger one: with this ε the watch would need more than 2^28 users beyond its condition")
	}
	return nil
}

// margin returns c for a division of ε, in units.
//
// While q ≤ target, a comparison fires with probability at most E[e^{−r_ν(c+ρ)}] = e^{−r_ν·c}·quiet. That holds for the
// first one after arming. Later ones are made only with a ρ that has been silent so far, and that makes larger ρ more
// likely. So the probability of any of them is at most their number times this, however often the watch is armed anew.
func (w *Watch) margin(p plan) (units int64, ok bool) {
	c := math.Log(w.comparisons*p.quiet()/w.falseAlarms) / p.nu.Float()
	c = math.Ceil(c * (1 + 1e-12))
	return int64(max(c, 0)), c <= float64(mechanisms.MaxUsers*w.den)
}

// quiet is E[e^{−r_ν·ρ}] = (1 − e^{−r_ρ})/(1 − e^{−r_ρ−r_ν}), with rates per unit.
func (p plan) quiet() float64 {
	return math.Expm1(-p.rho.Float()) / math.Expm1(-p.rho.Float()-p.nu.Float())
}

// miss is the probability that a new instance is silent if q lies x units beyond target + c.
//
// For x ≥ 0 it is P(ρ > x)·(1 − E[e^{−r_ν(ρ−x)} | ρ > x]). For x < 0 it is 1 − e^{r_ν·x}·E[e^{−r_ν·ρ}].
func (p plan) miss(x float64) float64 {
	rho, nu := p.rho.Float(), p.nu.Float()
	if x < 0 {
		return 1 - math.Exp(nu*x)*p.quiet()
	}
	return math.Exp(-rho*(x+1)) * math.Expm1(-nu) / math.Expm1(-rho-nu)
}

// seen is the least excess over the target, in units, that a new instance misses with probability at most 5 %. It is
// +Inf if there is none up to 2^29 users.
func (w *Watch) seen(p plan) float64 {
	most := int(2 * mechanisms.MaxUsers * w.den)
	excess := sort.Search(most, func(i int) bool { return p.miss(float64(i)-float64(p.margin)) <= 0.05 })
	if excess == most {
		return math.Inf(1)
	}
	return float64(excess)
}

// Margin is c: how many users the watch adds to its target so that it rarely fires without cause.
func (w *Watch) Margin() float64 { return float64(w.plan.margin) / float64(w.den) }

// Excess95 is the excess, in users, with which the watch fires with 95 % in the first window that has it. The excess is
// the number of users beyond the share of all users, beyond the number of users, or missing from that number.
func (w *Watch) Excess95() float64 { return w.seen(w.plan) / float64(w.den) }

// Miss is the probability that a newly armed watch stays silent in a window in which one group has this excess, in
// users.
func (w *Watch) Miss(excess float64) float64 {
	return w.plan.miss(math.Floor(excess*float64(w.den)*(1+1e-12)) - float64(w.plan.margin))
}

// Most is the largest excess that a group of so many users can have, over all conditions: if all of them are above the
// threshold, or none of them, or nobody is there.
func (w *Watch) Most(users int64) float64 {
	most := int64(math.MinInt64)
	for _, t := range w.tests {
		if t.counted != nil {
			most = max(most, max(t.hit, t.miss)*users-t.target)
			continue
		}
		most = max(most, -t.target)
	}
	return float64(most) / float64(w.den)
}
