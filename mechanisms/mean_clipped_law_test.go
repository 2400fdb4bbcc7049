package mechanisms

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// quarters are the sums A and B of a histogram in l..h, and the number of users outside.
type quarters struct{ a, b, out int64 }

// quartersOf adds them up from their definition.
func quartersOf(hist []int64, l, h int64) (x quarters) {
	for v, users := range hist {
		switch v := int64(v); {
		case v < l:
			x.b += 3 * (h - l) * users
			x.out += users
		case v > h:
			x.a += 3 * (h - l) * users
			x.out += users
		default:
			x.a += 4 * (v - l) * users
			x.b += 4 * (h - v) * users
		}
	}
	return x
}

// addedBack is twice what is added back to the noisy sums of l..h.
func addedBack(c *clipping, p plan, l, h int64) (a, b int64) {
	all := (h - l) * p.free
	switch last := c.borders[len(c.borders)-1] - 1; {
	case l == 0 && h == last:
		return 0, 0
	case l == 0:
		return 2 * all, 0
	case h == last:
		return 0, 2 * all
	}
	return all, all
}

// noiseOutside is the noise of the number of users outside l..h. It is nil if nobody can be.
func noiseOutside(c *clipping, p plan, l, h int64) noise {
	switch last := c.borders[len(c.borders)-1] - 1; {
	case l == 0 && h == last:
		return nil
	case l == h:
		return p.sums
	}
	return p.sums.beside()
}

// noiseLaw is the law of the noise for a sensitivity, at f times its ε, at index z + side: P(z) ∝ e^{−r·|z|} for
// r = f·ε over the sensitivity, or e^{−(r·z)²/2} for Gaussian noise, whose ε is √(2ρ). It extends until the remainder
// is negligible, and at least to least.
func noiseLaw(z noise, sensitivity uint64, f float64, least int64) (p []float64, side int64) {
	r := f * z.rate() / float64(sensitivity)
	far, exponent := 34/r, math.Abs
	if _, ok := z.(gaussian); ok {
		far, exponent = 9/r, func(x float64) float64 { return x * x / 2 }
	}
	side = max(int64(far)+1, least)
	for z := -side; z <= side; z++ {
		p = append(p, math.Exp(-exponent(r*float64(z))))
	}
	return dptest.Normalise(p), side
}

// offsetLaw is the law of the mean's offset from l, in fractions of the grid's step, directly from its definition. a
// and b are the sums, of which twice the noisy ones and more count. p is the law of each sum's noise, at index z +
// side. For each x, the y that give the same offset follow each other: up to the last one with 2·width·x + x + y ≥
// 2·offset·(x + y).
func offsetLaw(a, b, moreA, moreB, width, parts int64, p []float64, side int64) []float64 {
	width *= parts
	law := make([]float64, width+1)
	size := int64(len(p))
	upTo := make([]float64, size+1)
	for i, q := range p {
		upTo[i+1] = upTo[i] + q
	}
	for i, pa := range p {
		x := max(0, 2*(a+int64(i)-side)+moreA)
		for j := int64(0); j < size; {
			y := max(0, 2*(b+j-side)+moreB)
			at, most := width/2, int64(0) // if both are 0
			if x+y > 0 {
				at, most = (2*width*x+x+y)/(2*(x+y)), math.MaxInt32
				if at > 0 {
					most = x * (2*width + 1 - 2*at) / (2*at - 1)
				}
			}
			end := min(floorDiv(most-moreB, 2)+side-b+1, size)
			law[at] += pa * (upTo[end] - upTo[j])
			j = end
		}
	}
	return law
}

// meanLawOf is the law of the mean on the grid for a known plan, at f times ε.
func meanLawOf(c *clipping, hist []int64, p plan, f float64) []float64 {
	law := make([]float64, len(hist))
	for _, x := range intervalLaw(c, hist, p, f) {
		if x.l == x.h {
			law[x.l] += x.p
			continue
		}
		sums := quartersOf(hist, x.l, x.h)
		moreA, moreB := addedBack(c, p, x.l, x.h)
		noise, side := noiseLaw(p.sums, uint64(4*(x.h-x.l)), f, 0)
		for at, q := range offsetLaw(sums.a, sums.b, moreA, moreB, x.h-x.l, 1, noise, side) {
			law[x.l+int64(at)] += x.p * q
		}
	}
	return law
}

// division returns the division of a plan.
func (c *clipping) division(p plan) division {
	if p.interval.Float() == c.shares[p.own][1].interval.Float() {
		return division{"1/3", p.halvings, p.finer}
	}
	return division{"1/2", p.halvings, p.finer}
}

// ownLaw is the law of the plan that the own count gives, at f times ε.
func ownLaw(c *clipping, n int64, f float64) (chance map[division]float64, plans map[division]plan) {
	chance, plans = map[division]float64{}, map[division]plan{}
	epsilon, _ := c.epsilon.Float64()
	p, side := noiseLaw(c.own, 1, f, int64(7100/epsilon)+1) // this covers all plans
	for i, q := range p {
		count := max(0, n+int64(i)-side)
		information := new(big.Rat).Mul(c.epsilon, big.NewRat(count, 1))
		plan := c.planFor(information.Sub(information, c.unit), 1)
		name := c.division(plan)
		chance[name] += q
		plans[name] = plan
	}
	return chance, plans
}

// merged is the law of the plan, with plans that draw alike merged.
func merged(c *clipping, n int64, f float64) (chance []float64, plans []plan) {
	all, with := ownLaw(c, n, f)
	place := map[string]int{}
	for _, name := range slices.SortedFunc(maps.Keys(all), func(a, b division) int {
		return cmp.Or(cmp.Compare(a.Theta, b.Theta), cmp.Compare(a.Halvings, b.Halvings), cmp.Compare(a.Finer, b.Finer))
	}) {
		p := with[name]
		alike := fmt.Sprint(p.interval.Float(), c.last>>p.halvings, c.last>>p.finer)
		i, known := place[alike]
		if !known {
			i = len(plans)
			place[alike] = i
			chance, plans = append(chance, 0), append(plans, p)
		}
		chance[i] += all[name]
	}
	return chance, plans
}

// remembered is merged for one f, computed only once for each n.
func remembered(c *clipping, f float64) func(n int64) ([]float64, []plan) {
	type outcome struct {
		chance []float64
		plans  []plan
	}
	known := map[int64]outcome{}
	return func(n int64) ([]float64, []plan) {
		x, ok := known[n]
		if !ok {
			x.chance, x.plans = merged(c, n, f)
			known[n] = x
		}
		return x.chance, x.plans
	}
}

func total(hist []int64) (n int64) {
	for _, k := range hist {
		n += k
	}
	return n
}
