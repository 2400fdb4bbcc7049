package mechanisms

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

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
	before, plan := int64(-1), plan{}
	for i, q := range p {
		if count := max(0, n+int64(i)-side); count != before { // few users: almost half of the counts are 0
			information := new(big.Rat).Mul(c.epsilon, big.NewRat(count, 1))
			before, plan = count, c.planFor(information.Sub(information, c.unit), 1)
		}
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

// coarse publishes on the grid itself, which has few enough points to count.
func coarse(m Mechanism) Mechanism {
	switch m := m.(type) {
	case *clippedMean:
		m.parts = 1
	case *wholeMean:
		m.parts = 1
	}
	return m
}

// countedLaw is the law of the mean on the grid beside a count of the given number of users, at f times ε.
func countedLaw(c *clipping, hist []int64, p plan, users int64, f float64) []float64 {
	law := make([]float64, len(hist))
	for _, x := range intervalLaw(c, hist, p, f) {
		if x.l == x.h {
			law[x.l] += x.p
			continue
		}
		sums := quartersOf(hist, x.l, x.h)
		moreA, moreB := addedBack(c, p, x.l, x.h)
		sum := float64(sums.a-sums.b) + float64(moreA-moreB)/2
		noise, side := noiseLaw(p.sums, uint64(4*(x.h-x.l)), f, 0)
		for i, q := range noise {
			mean := float64(x.l+x.h)/2 + (sum+float64(int64(i)-side))/float64(8*users)
			law[int64(math.Floor(min(max(mean, float64(x.l)), float64(x.h))+0.5))] += x.p * q
		}
	}
	return law
}

// Draws of the whole mechanism follow the law of its definition, for both noises.
func TestClippedMeanSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{53})
	check := func(name string, m Mechanism, hist []int64, public Public, law func(f float64) []float64) {
		t.Helper()
		s := sampleOf(smallGrid(t, len(hist)), hist)
		dptest.CheckDraws(t, name, 30000, func(f float64) []float64 { return dptest.Normalise(law(f)) }, func() int {
			d := draw(t, m, s, public, random)
			return int(d.Values[0].Number)
		})
	}
	narrow, wide := []int64{3, 4, 0, 5, 9, 0, 2}, []int64{0, 30, 50, 40, 2, 0, 0, 1}
	for _, c := range []struct {
		mechanism, epsilon string
		hist               []int64
	}{{"clipped", "1", narrow}, {"clipped", "0.5", wide}, {"clipped_gaussian", "1", narrow},
		{"clipped_gaussian", "0.4", narrow}} {
		g := smallGrid(t, len(c.hist))
		q := Query{Statistic: Mean, Mechanism: c.mechanism, Epsilon: dec(c.epsilon), Grid: g}
		own := coarse(build(t, q)).(*clippedMean)
		check(c.mechanism+", own count", own, c.hist, Public{}, func(f float64) []float64 {
			law := make([]float64, len(c.hist))
			chance, plans := merged(own.clipping, total(c.hist), f)
			for k, p := range plans {
				for i, x := range meanLawOf(own.clipping, c.hist, p, f) {
					law[i] += chance[k] * x
				}
			}
			return law
		})
		q.ExpectedUsers = 200
		m := coarse(build(t, q)).(*clippedMean)
		p := m.plan(0, nil, nil)
		check(c.mechanism+", users expected", m, c.hist, Public{},
			func(f float64) []float64 { return meanLawOf(m.clipping, c.hist, p, f) })

		// The count is deliberately off by a few users.
		users := &NoisyCount{Value: total(c.hist) + 3, Epsilon: 2}
		beside := m.plan(0, users, nil)
		check(c.mechanism+", counted", m, c.hist, Public{Users: users}, func(f float64) []float64 {
			return countedLaw(m.clipping, c.hist, beside, users.Value, f)
		})
	}
	for _, hist := range [][]int64{narrow, wide} {
		last := int64(len(hist) - 1)
		m := coarse(build(t, Query{Statistic: Mean, Mechanism: "two_sums", Epsilon: dec("0.5"),
			Grid: smallGrid(t, len(hist))})).(*wholeMean)
		check("two sums", m, hist, Public{}, func(f float64) []float64 {
			x := quartersOf(hist, 0, last) // whole ones here
			p, side := noiseLaw(m.noise, uint64(last), f, 0)
			return offsetLaw(x.a/4, x.b/4, 0, 0, last, 1, p, side)
		})
	}
}

// concentratedMean is everything that a draw of clipped_gaussian shows: the decision of its own count, the interval,
// and the mean in fractions of a step.
type concentratedMean struct {
	sure     bool
	l, h, at int64
}

// concentratedLaw is its law, from the definition and not from the mechanism's own figures: ρ = ½ε², of which the count
// takes ρ/32, the interval ρ/4 if I = ε·N0 − 8 is less than 64 and ρ/8 otherwise, and the sums the rest. Each of the
// three has its ε multiplied by a factor.
func concentratedLaw(hist []int64, epsilon float64, parts int64, ofCount, ofInterval,
	ofSums float64) map[concentratedMean]float64 {
	normal := func(rho, sensitivity, f float64) (p []float64, side int64) {
		sigma := sensitivity / math.Sqrt(2*rho) / f
		side = int64(9*sigma) + 1
		for z := -side; z <= side; z++ {
			p = append(p, math.Exp(-float64(z*z)/(2*sigma*sigma)))
		}
		return dptest.Normalise(p), side
	}
	rho, n, last := epsilon*epsilon/2, total(hist), int64(len(hist)-1)
	few := 0.
	count, side := normal(rho/32, 1, ofCount)
	for i, q := range count {
		if epsilon*float64(max(0, n+int64(i)-side))-8 < 64 {
			few += q
		}
	}
	law := map[concentratedMean]float64{}
	for _, sure := range []bool{false, true} {
		chance, rate, share := few, epsilon, 1./4
		if sure {
			chance, rate, share = 1-few, epsilon*math.Sqrt(0.5), 1./8
		}
		sum, intervals := 0., map[[2]int64]float64{}
		for l := range last + 1 {
			for h := l; h <= last; h++ {
				out := n
				for x := l; x <= h; x++ {
					out -= hist[x]
				}
				w := math.Pow(float64(h-l+1), -3) * math.Exp(-ofInterval*rate*math.Max(float64(out), math.Ceil(1/rate)))
				intervals[[2]int64{l, h}] = w
				sum += w
			}
		}
		for lh, w := range intervals {
			l, h := lh[0], lh[1]
			if l == h {
				law[concentratedMean{sure, l, h, l * parts}] = chance * w / sum
				continue
			}
			x, w0 := quartersOf(hist, l, h), h-l
			k0 := int64(math.Ceil(1 / rate))
			moreA, moreB := int64(0), int64(0) // twice what is added back
			switch {
			case l > 0 && h < last:
				moreA, moreB = k0*w0, k0*w0
			case h < last:
				moreA = 2 * k0 * w0
			case l > 0:
				moreB = 2 * k0 * w0
			}
			noise, side := normal(rho*(1-1./32-share), float64(4*w0), ofSums)
			for at, q := range offsetLaw(x.a, x.b, moreA, moreB, w0, parts, noise, side) {
				law[concentratedMean{sure, l, h, l*parts + int64(at)}] = chance * w / sum * q
			}
		}
	}
	return law
}

// The whole draw of the zCDP variant follows the law of its definition: its own count, the interval and both noises.
// The test notices a wrong ε in any of the three.
func TestClippedGaussianDraw(t *testing.T) {
	random := rand.NewChaCha8([32]byte{57})
	const parts = 50
	for _, c := range []struct {
		hist    []int64
		epsilon string
	}{{[]int64{0, 18, 25, 14, 5, 2, 0, 2}, "1"}, {[]int64{3, 0, 9, 12, 4}, "2.5"}} {
		g := smallGrid(t, len(c.hist))
		m := build(t, Query{Statistic: Mean, Mechanism: "clipped_gaussian", Epsilon: dec(c.epsilon),
			Grid: g}).(*clippedMean)
		m.parts = parts
		law := func(ofCount, ofInterval, ofSums float64) map[concentratedMean]float64 {
			return concentratedLaw(c.hist, dec(c.epsilon).InexactFloat64(), parts, ofCount, ofInterval, ofSums)
		}
		// The own count shows in how many users there are at least: I reaches 64 for ε·N0 ≥ 72.
		least := int64(math.Ceil(72/dec(c.epsilon).InexactFloat64())) - m.own.reach(1, 0.1).Int64()
		place := map[concentratedMean]int{}
		for x := range law(1, 1, 1) {
			place[x] = len(place)
		}
		list := func(law map[concentratedMean]float64) []float64 {
			p := make([]float64, len(place))
			for x, q := range law {
				p[place[x]] = q
			}
			return p
		}
		s := sampleOf(g, c.hist)
		counts := dptest.Counts(20000, len(place), func() int {
			d := draw(t, m, s, Public{}, random)
			x := concentratedMean{d.Outside.fewest >= least, d.Clip[0] / parts, d.Clip[1] / parts, d.Values[0].Number}
			i, ok := place[x]
			if !ok {
				t.Fatalf("%+v cannot be", x)
			}
			return i
		})
		name := "clipped_gaussian, ε " + c.epsilon + ", "
		// The own count shows in its decision, and a test of the decision alone detects it better.
		decisions := make([]int64, 2)
		for x, i := range place {
			if x.sure {
				decisions[1] += counts[i]
			} else {
				decisions[0] += counts[i]
			}
		}
		dptest.CheckSampler(t, name+"own count", decisions, func(f float64) []float64 {
			sure := 0.0
			for x, q := range law(f, 1, 1) {
				if x.sure {
					sure += q
				}
			}
			return []float64{1 - sure, sure}
		})
		dptest.CheckSampler(t, name+"interval", counts, func(f float64) []float64 { return list(law(1, f, 1)) })
		dptest.CheckSampler(t, name+"sums", counts, func(f float64) []float64 { return list(law(1, 1, f)) })
	}
}
