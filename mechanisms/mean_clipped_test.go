package mechanisms

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/shopspring/decimal"
)

// pairSums are A and B of a histogram in l..h.
func pairSums(hist []int64, l, h int64) (a, b int64) {
	for x, users := range hist {
		cut := min(max(int64(x), l), h)
		a += users * (cut - l)
		b += users * (h - cut)
	}
	return a, b
}

// twoSidedLaw is P(Z = z) ∝ e^{−rate·|z|} for |z| ≤ side, at index z + side.
func twoSidedLaw(rate float64) (p []float64, side int64) {
	side = int64(34/rate) + 1
	p = make([]float64, 2*side+1)
	for z := -side; z <= side; z++ {
		p[z+side] = math.Exp(-rate*math.Abs(float64(z))) * math.Expm1(rate) / (math.Exp(rate) + 1)
	}
	return p, side
}

// offsetLaw is the law of the mean's offset from l, in steps of the grid, straight from its definition.
func offsetLaw(a, b, width int64, epsilon float64) []float64 {
	law := make([]float64, width+1)
	if width == 0 {
		return []float64{1}
	}
	p, side := twoSidedLaw(epsilon / float64(width))
	for i, pa := range p {
		x := max(0, a+int64(i)-side)
		for j, pb := range p {
			y := max(0, b+int64(j)-side)
			at := width / 2
			if x+y > 0 {
				at = (2*width*x + x + y) / (2 * (x + y))
			}
			law[at] += pa * pb
		}
	}
	return law
}

// meanLawOf is the law of the mean on the grid by a known plan, at f times ε.
func meanLawOf(c *clipping, hist []int64, p plan, f float64) []float64 {
	law := make([]float64, len(hist))
	for _, x := range intervalLaw(c, hist, p, f) {
		a, b := pairSums(hist, x.l, x.h)
		for at, q := range offsetLaw(a, b, x.h-x.l, f*p.sums.rate()) {
			law[x.l+int64(at)] += x.p * q
		}
	}
	return law
}

func near(t *testing.T, name string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d outcomes, want %d", name, len(got), len(want))
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9*want[i] {
			t.Errorf("%s: P(%d) = %.12g, want %.12g", name, i, got[i], want[i])
		}
	}
}

// The formulas here and those of the program that made the vectors are the same.
func TestMeanVectors(t *testing.T) {
	v := readMeanVectors(t)
	for _, x := range v.Last {
		near(t, fmt.Sprint("offset ", x.A, x.B), offsetLaw(x.A, x.B, x.Width, x.Epsilon), x.Law)
	}
	for _, x := range v.Laws {
		c := clippingOf(t, anchored(t, x.N, x.Anchor), x.Epsilon)
		near(t, fmt.Sprint("law ", x.Data), meanLawOf(c, histogram(x.N, x.Data), c.planFor(big.NewRat(x.Information, 1), 0), 1), x.Law)
	}
	for _, x := range v.Own {
		c := clippingOf(t, anchored(t, x.N, x.Anchor), x.Epsilon)
		hist := histogram(x.N, x.Data)
		branches, plans := ownLaw(c, int64(len(x.Data)), 1)
		for _, b := range x.Branches {
			if got := branches[planName(b.Sure, b.Halvings)]; math.Abs(got/b.Probability-1) > 1e-9 {
				t.Errorf("%v: branch %v, %d has %.12g, want %.12g", x.Data, b.Sure, b.Halvings, got, b.Probability)
			}
		}
		law := make([]float64, x.N+1)
		for name, p := range plans {
			for i, q := range meanLawOf(c, hist, p, 1) {
				law[i] += branches[name] * q
			}
		}
		near(t, fmt.Sprint("own count ", x.Data), law, x.Law)
	}
}

func planName(sure bool, halvings uint) string { return fmt.Sprint(sure, halvings) }

// ownLaw is the law of the plan that a count of its own gives, at f times ε.
func ownLaw(c *clipping, n int64, f float64) (chance map[string]float64, plans map[string]plan) {
	chance, plans = map[string]float64{}, map[string]plan{}
	rate := f * c.own.rate()
	side := int64(max(34/rate, 900/clipEpsilon(c))) + 1 // all plans are among them
	p := make([]float64, 2*side+1)
	for z := -side; z <= side; z++ {
		p[z+side] = math.Exp(-rate * math.Abs(float64(z)))
		if own, ok := c.own.(gaussian); ok {
			v, _ := own.variance(1).Float64()
			p[z+side] = math.Exp(-f * f * float64(z*z) / (2 * v))
		}
	}
	p = dptest.Normalise(p)
	for i, q := range p {
		count := max(0, n+int64(i)-side)
		information := new(big.Rat).Mul(c.epsilon, big.NewRat(count, 1))
		plan := c.planFor(information.Sub(information, c.unit), 1)
		name := planName(plan.interval.Float() < 0.4*clipEpsilon(c), plan.halvings)
		chance[name] += q
		plans[name] = plan
	}
	return chance, plans
}

func clipEpsilon(c *clipping) float64 {
	e, _ := c.epsilon.Float64()
	return e
}

// merged is the law of the plan with those that draw alike taken together.
func merged(c *clipping, n int64, f float64) (chance []float64, plans []plan) {
	all, with := ownLaw(c, n, f)
	place := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := with[name]
		alike := fmt.Sprint(p.interval.Float(), c.last>>p.halvings)
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

// remembered is merged for one f, computed once for each n.
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

// lumped is the law of sum + Z as far as it tells neighbours apart, for 0 ≤ sum ≤ most: beyond, all values have one ratio.
func lumped(sum, most int64, rate float64) []float64 {
	r := math.Exp(-rate)
	law := []float64{math.Pow(r, float64(sum+1)) / (1 + r)}
	for v := range most + 1 {
		law = append(law, math.Pow(r, math.Abs(float64(v-sum)))*(1-r)/(1+r))
	}
	return append(law, math.Pow(r, float64(most+1-sum))/(1+r))
}

func total(hist []int64) (n int64) {
	for _, k := range hist {
		n += k
	}
	return n
}

// jointLaw is the law of all that is published: which way the own count decides, the interval, and both sums, whose
// noises have the law given.
func jointLaw(c *clipping, branches func(int64) ([]float64, []plan), hist []int64, f float64, noisy func(sum int64, z noise, width uint64) []float64) []float64 {
	var law []float64
	chance, plans := branches(total(hist))
	for i, p := range plans {
		for _, x := range intervalLaw(c, hist, p, f) {
			if x.l == x.h {
				law = append(law, chance[i]*x.p)
				continue
			}
			a, b := pairSums(hist, x.l, x.h)
			second := noisy(b, p.sums, uint64(x.h-x.l))
			for _, pa := range noisy(a, p.sums, uint64(x.h-x.l)) {
				for _, pb := range second {
					law = append(law, chance[i]*x.p*pa*pb)
				}
			}
		}
	}
	return law
}

// What is published jointly: which way the own count decides, the interval, and both sums.
func TestClippedMeanPrivacy(t *testing.T) {
	for _, points := range []int{3, 4} {
		for _, anchor := range []int64{0, 1} {
			for _, epsilon := range []float64{0.5, 2} {
				const users = 3
				c := clippingOf(t, anchored(t, int64(points-1), anchor), epsilon)
				c.last = 255 // w0 is 7, 3, 1 and 0, by s
				most := int64((users + 1) * (points - 1))
				dptest.CheckPrivacy(t, fmt.Sprint("clipped, ", points, " points"), points, users, epsilon, 0.9, func(e float64) dptest.Law {
					f := e / epsilon
					branches := remembered(c, f)
					return func(hist []int64) []float64 {
						return jointLaw(c, branches, hist, f, func(sum int64, z noise, width uint64) []float64 {
							return lumped(sum, most, f*z.rate()/float64(width))
						})
					}
				})
			}
		}
	}
}

// The Gaussian variant keeps to its ρ: D_α ≤ α·ρ for Rényi divergences between neighbours of all that is published, both
// ways round. Twice the ε breaks it.
func TestClippedGaussianPrivacy(t *testing.T) {
	const points, users = 3, 2
	for _, epsilon := range []float64{1, 3} {
		m := build(t, Query{Statistic: Mean, Mechanism: "clipped_gaussian", Epsilon: decimal.NewFromFloat(epsilon), Grid: smallGrid(t, points)}).(*clippedMean)
		m.last = 127
		rho := m.Promise().Rho
		worst := func(factor float64) float64 {
			branches := remembered(m.clipping, factor)
			law := func(hist []int64) []float64 {
				return jointLaw(m.clipping, branches, hist, factor, func(sum int64, z noise, width uint64) []float64 {
					return gaussianLaw(sum, z.(gaussian).variance(width), factor)
				})
			}
			return worstDivergence(points, users, law)
		}
		got := worst(1)
		t.Logf("ε = %v: %.4f ρ", epsilon, got/rho)
		if got > rho*(1+1e-9) || got < 0.7*rho {
			t.Errorf("ε = %v: ρ = %v is lost of %v", epsilon, got, rho)
		}
		if got := worst(2); got <= rho {
			t.Errorf("ε = %v: a doubled ε goes unnoticed: ρ = %v", epsilon, got)
		}
	}
}

// gaussianLaw is the law of sum + Z for all values that matter, with factor times the ε.
func gaussianLaw(sum int64, variance *big.Rat, factor float64) []float64 {
	v, _ := variance.Float64()
	v /= factor * factor
	var law []float64
	for x := int64(-60); x <= 60; x++ {
		law = append(law, math.Exp(-float64((x-sum)*(x-sum))/(2*v)))
	}
	return dptest.Normalise(law)
}

// worstDivergence is the largest D_α/α of neighbours, both ways round.
func worstDivergence(points, users int, law dptest.Law) (worst float64) {
	dptest.Neighbours(points, users, law, func(p, q []float64) {
		for _, alpha := range []float64{1.01, 1.5, 2, 4, 8} {
			worst = max(worst, renyi(p, q, alpha)/alpha, renyi(q, p, alpha)/alpha)
		}
	})
	return worst
}

func renyi(p, q []float64, alpha float64) float64 {
	sum := 0.0
	for i := range p {
		if p[i] > 0 && q[i] > 0 { // where one has underflowed, neither matters
			sum += math.Exp(alpha*math.Log(p[i]) + (1-alpha)*math.Log(q[i]))
		}
	}
	return math.Log(sum) / (alpha - 1)
}

// The same where the information is public and one sum is released, from the middle.
func TestCountedMeanPrivacy(t *testing.T) {
	const points, users = 4, 4
	for _, information := range []int64{0, 100} {
		for _, epsilon := range []float64{0.5, 3} {
			c := clippingOf(t, anchored(t, points-1, 0), epsilon)
			c.last = 127
			p := c.planFor(big.NewRat(information, 1), 0)
			const most = 2 * (users + 1) * (points - 1)
			dptest.CheckPrivacy(t, "clipped, counted", points, users, epsilon, 0.85, func(e float64) dptest.Law {
				f := e / epsilon
				return func(hist []int64) []float64 {
					var law []float64
					for _, x := range intervalLaw(c, hist, p, f) {
						if x.l == x.h {
							law = append(law, x.p)
							continue
						}
						a, b := pairSums(hist, x.l, x.h)
						// Shifted, so that no sum is negative.
						for _, q := range lumped(a-b+most/2, most, f*p.sums.rate()/float64(x.h-x.l)) {
							law = append(law, x.p*q)
						}
					}
					return law
				}
			})
		}
	}
}

func TestTwoSumsPrivacy(t *testing.T) {
	const points, users = 5, 4
	for _, epsilon := range []float64{0.1, 1, 4} {
		m := build(t, Query{Statistic: Mean, Mechanism: "two_sums", Epsilon: decimal.NewFromFloat(epsilon), Grid: smallGrid(t, points)}).(*wholeMean)
		const most = (users + 1) * (points - 1)
		dptest.CheckPrivacy(t, "two sums", points, users, epsilon, 0.99, func(e float64) dptest.Law {
			rate := e / epsilon * m.noise.rate() / (points - 1)
			return func(hist []int64) []float64 {
				a, b := pairSums(hist, 0, points-1)
				var law []float64
				for _, pa := range lumped(a, most, rate) {
					for _, pb := range lumped(b, most, rate) {
						law = append(law, pa*pb)
					}
				}
				return law
			}
		})
	}
}

// coarse publishes on the grid itself, whose points are few enough to count.
func coarse(m Mechanism) Mechanism {
	switch m := m.(type) {
	case *clippedMean:
		m.parts = 1
	case *wholeMean:
		m.parts = 1
	}
	return m
}

// Draws of the whole mechanism follow the law of its definition.
func TestClippedMeanSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{53})
	check := func(name string, m Mechanism, hist []int64, public Public, law func(f float64) []float64) {
		t.Helper()
		s := sampleOf(smallGrid(t, len(hist)), hist)
		counts := dptest.Counts(60000, len(hist), func() int {
			d, err := m.Draw(s, public, random)
			if err != nil {
				t.Fatal(err)
			}
			return int(d.Values[0])
		})
		dptest.CheckSampler(t, name, counts, law)
	}
	for _, c := range []struct {
		hist    []int64
		epsilon string
	}{{[]int64{3, 4, 0, 5, 9, 0, 2}, "1"}, {[]int64{0, 30, 50, 40, 2, 0, 0, 1}, "0.5"}} {
		g := smallGrid(t, len(c.hist))
		n := total(c.hist)
		q := Query{Statistic: Mean, Epsilon: dec(c.epsilon), Grid: g}
		m := coarse(build(t, q)).(*clippedMean)
		check("own count", m, c.hist, Public{}, func(f float64) []float64 {
			law := make([]float64, len(c.hist))
			chance, plans := merged(m.clipping, n, f)
			for k, p := range plans {
				for i, x := range meanLawOf(m.clipping, c.hist, p, f) {
					law[i] += chance[k] * x
				}
			}
			return dptest.Normalise(law)
		})
		q.ExpectedUsers = 200
		m = coarse(build(t, q)).(*clippedMean)
		p := m.plan(0, nil, nil)
		check("users expected", m, c.hist, Public{}, func(f float64) []float64 { return dptest.Normalise(meanLawOf(m.clipping, c.hist, p, f)) })

		// A count that is off by a few users, on purpose.
		users := &NoisyCount{Value: n + 3, Epsilon: 2}
		p = m.plan(0, users, nil)
		check("counted", m, c.hist, Public{Users: users}, func(f float64) []float64 {
			law := make([]float64, len(c.hist))
			for _, x := range intervalLaw(m.clipping, c.hist, p, f) {
				a, b := pairSums(c.hist, x.l, x.h)
				if x.l == x.h {
					law[x.l] += x.p
					continue
				}
				noise, side := twoSidedLaw(f * p.sums.rate() / float64(x.h-x.l))
				for i, q := range noise {
					mean := float64(x.l+x.h)/2 + float64(a-b+int64(i)-side)/float64(2*(n+3))
					law[int64(math.Floor(min(max(mean, float64(x.l)), float64(x.h))+0.5))] += x.p * q
				}
			}
			return dptest.Normalise(law)
		})
		w := coarse(build(t, Query{Statistic: Mean, Mechanism: "two_sums", Epsilon: dec(c.epsilon), Grid: g})).(*wholeMean)
		check("two sums", w, c.hist, Public{}, func(f float64) []float64 {
			a, b := pairSums(c.hist, 0, g.last)
			return dptest.Normalise(offsetLaw(a, b, g.last, f*w.noise.rate()))
		})
	}
}

// The mean of the cut values is within Error95 of the draw with probability 95 % at least, and the bound is no idle one.
func TestClippedMeanError(t *testing.T) {
	random := rand.NewChaCha8([32]byte{54})
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		mechanism, epsilon string
		n                  int
		counted            bool
	}{{"clipped", "1", 1000, false}, {"clipped", "0.1", 300, false}, {"clipped", "0.1", 20, false}, {"clipped", "1", 1000, true}, {"clipped", "0.1", 500, true},
		{"two_sums", "1", 100, false}, {"two_sums", "1", 100, true}, {"clipped_gaussian", "1", 1000, false}, {"clipped_gaussian", "0.2", 1000, true}} {
		q := Query{Statistic: Mean, Mechanism: c.mechanism, Epsilon: dec(c.epsilon), Grid: g}
		m, s := build(t, q), latencies(g, c.n)
		scale := q.Scale(m)
		count := build(t, Query{Statistic: Count, Epsilon: dec("1"), Grid: g})
		const draws = 3000
		within, half := 0, 0
		for range draws {
			public := Public{}
			if c.counted {
				d, err := count.Draw(s, Public{}, random)
				if err != nil {
					t.Fatal(err)
				}
				public.Users = &NoisyCount{Value: d.Values[0], Epsilon: 1}
			}
			d, err := m.Draw(s, public, random)
			if err != nil {
				t.Fatal(err)
			}
			clip := []int64{0, g.last * 1000}
			if d.Clip != nil {
				clip = d.Clip
			}
			a, _ := s.distances(clip[0]/1000, clip[1]/1000)
			truth, _ := new(big.Rat).SetFrac(a, big.NewInt(int64(c.n))).Float64()
			off := math.Abs(scale.Float(d.Values[0]) - scale.Float(clip[0]) - truth)
			bound := d.Error95[0]
			if off <= bound+0.0005 { // rounding to the grid
				within++
			}
			if off <= bound/4 && bound > 0 {
				half++
			}
		}
		// Binomial(3000, 0.95): less than 2791 with probability below 10⁻⁶.
		t.Logf("%+v: %.3f within the bound, %.3f within a quarter of it", c, float64(within)/draws, float64(half)/draws)
		if within < 2791 {
			t.Errorf("%+v: %d of %d draws are within the bound", c, within, draws)
		}
		if half > 2790 {
			t.Errorf("%+v: %d of %d draws are within a quarter of the bound", c, half, draws)
		}
	}
}

// MeanError95 holds whatever the data. It adds up both noises, of which next to an end of the bounds only one counts: it is
// reached to a quarter and more.
func TestMeanErrorHoldsForAllData(t *testing.T) {
	random := rand.NewChaCha8([32]byte{56})
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		epsilon string
		n       int64
		counted bool
	}{{"1", 100, false}, {"0.1", 100, false}, {"0.1", 2000, false}, {"1", 100, true}, {"0.5", 1000, true}} {
		q := Query{Statistic: Mean, Clip: "none", Epsilon: dec(c.epsilon), Grid: g}
		m, count := build(t, q), build(t, Query{Statistic: Count, Epsilon: dec("1"), Grid: g})
		scale, largest := q.Scale(m), 0.0
		var beside *NoisyCount
		if c.counted {
			beside = &NoisyCount{Value: c.n, Epsilon: 1}
		}
		bound := q.MeanError95(c.n, beside)
		for _, points := range [][]Point{{{0, c.n}}, {{g.last, c.n}}, {{0, c.n / 2}, {g.last, c.n / 2}}, {{20000, c.n}}} {
			s := NewSample(g, points)
			sum, _ := s.distances(0, g.last)
			truth, _ := new(big.Rat).SetFrac(sum, big.NewInt(c.n)).Float64()
			const draws = 2000
			var errors []float64
			for range draws {
				public := Public{}
				if c.counted {
					d, err := count.Draw(s, Public{}, random)
					if err != nil {
						t.Fatal(err)
					}
					public.Users = &NoisyCount{Value: d.Values[0], Epsilon: 1}
				}
				d, err := m.Draw(s, public, random)
				if err != nil {
					t.Fatal(err)
				}
				errors = append(errors, math.Abs(scale.Float(d.Values[0])-truth))
			}
			slices.Sort(errors)
			// Binomial(2000, 0.95): fewer than 1850 with probability below 10⁻⁶.
			if errors[1849] > bound+0.001 {
				t.Errorf("%+v, %v: 1850 of 2000 errors are up to %v, the bound is %v", c, points, errors[1849], bound)
			}
			largest = max(largest, errors[1900])
		}
		if t.Logf("%+v: 95 %% of the errors are up to %.4g, the bound is %.4g", c, largest, bound); largest < bound/4 {
			t.Errorf("%+v: the bound of %v is far from %v", c, bound, largest)
		}
	}
}

func TestClippedMeanExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{55})
	wide := grid(t, "0", "9007199254740992", "1")
	for _, epsilon := range []string{"0.000000001", "0.0001", "0.123456789", "1", "1e6"} {
		for _, g := range []*Grid{wide, smallGrid(t, 2), smallGrid(t, 3)} {
			for _, points := range [][]Point{nil, {{g.last, 1}}, {{0, 5e6}, {g.last, 5e6}}, {{1, 1e7}}} {
				for _, name := range []string{"clipped", "two_sums", "clipped_gaussian"} {
					for _, users := range []*NoisyCount{nil, {Value: 0, Epsilon: 1e6}, {Value: 1 << 62, Epsilon: 1e-9}} {
						q := Query{Statistic: Mean, Mechanism: name, Epsilon: dec(epsilon), Grid: g}
						m := build(t, q)
						d, err := m.Draw(NewSample(g, points), Public{Users: users}, random)
						parts := g.parts()
						if err != nil || d.Values[0] < 0 || d.Values[0] > g.last*parts || d.Error95[0] < 0 || d.Error95[0] > float64(g.last) {
							t.Fatalf("ε=%s %v: %v, %v", epsilon, points, d, err)
						}
						if len(points) == 1 && points[0].Count > 1e6 && g.last < 10 && epsilon == "1e6" && users == nil && d.Values[0] != 1000 {
							t.Errorf("the mean of 10^7 users at 1 is %d thousandths", d.Values[0])
						}
					}
				}
			}
		}
	}
}

// What the zCDP account is charged: the parts of the dearest way, and less where the users are public.
func TestClippedMeanRho(t *testing.T) {
	g := smallGrid(t, 100)
	for _, epsilon := range []float64{0.01, 0.5, 2} {
		q := Query{Statistic: Mean, Epsilon: decimal.NewFromFloat(epsilon), Grid: g}
		share := func(of float64) float64 { return epsilon * of }
		square := func(x float64) float64 { return x * x / 2 }
		counted := square(share(2./3)) + rhoOfRange(share(1./3))
		own := square(share(1./16)) + square(share(15./16*2/3)) + rhoOfRange(share(15./16/3))
		got := build(t, q).Promise()
		if want := max(counted, own); math.Abs(got.Rho/want-1) > 1e-9 || got.Rho > 0.24*epsilon*epsilon || got.BoundedRange || got.Concentrated {
			t.Errorf("ε = %v: ρ = %v, the parts give %v", epsilon, got.Rho, want)
		}
	}
}
