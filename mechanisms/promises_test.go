package mechanisms

import (
	"crypto/rand"
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// both is the law of two independent draws.
func both(p, q []float64) (law []float64) {
	for _, a := range p {
		for _, b := range q {
			law = append(law, a*b)
		}
	}
	return law
}

// Mechanisms of several draws are charged the sum of the draws' ρ. All draws together lose at most that: D_α ≤ α·ρ for
// the Rényi divergences between neighbours, in both directions. Twice the ε breaks this.
func TestRhoOfPieces(t *testing.T) {
	for _, epsilon := range []string{"0.5", "2"} {
		three := smallGrid(t, 3)
		split := build(t, Query{Statistic: Quantiles, Mechanism: "split", P: ps("0.25", "0.5"), Epsilon: dec(epsilon),
			Grid: three}).(*split)
		paid := intervalOf(t, three, "0.5", epsilon, "0.95")
		low, high := paid.side.shifted(-1.3), paid.side.shifted(1.3)
		mean := build(t, Query{Statistic: Mean, Epsilon: dec(epsilon), Grid: anchored(t, 2, 0)}).(*clippedMean)
		mean.last = 255
		even := Uniform(three)
		for _, c := range []struct {
			name  string
			m     Mechanism
			users int
			least float64 // the fraction of ρ that is lost
			law   func(f float64) dptest.Law
		}{
			{"split", split, 6, 0.6, func(f float64) dptest.Law {
				return func(h []int64) []float64 {
					s := sampleOf(three, h)
					return both(split.parts[0].law(s, f, even), split.parts[1].law(s, f, even))
				}
			}},
			{"interval", paid, 6, 0.5, func(f float64) dptest.Law {
				return func(h []int64) []float64 {
					s, p := sampleOf(three, h), sampleOf(three, h).padded(three)
					return both(paid.estimate.law(s, f, even), both(low.law(p, f, even), high.law(p, f, even)))
				}
			}},
			{"clipped", mean, 3, 0.3, // the most expensive way to draw needs more users
				func(f float64) dptest.Law {
					branches := remembered(mean.clipping, f)
					return func(h []int64) []float64 {
						return jointLaw(mean.clipping, branches, h, 4, f, laplaceLaw(f))
					}
				}},
		} {
			rho, half := c.m.Promise().Rho.InexactFloat64(),
				dec(epsilon).Mul(dec(epsilon)).Mul(decimal.New(5, -1)).InexactFloat64()
			got := worstDivergence(c.users, plain(c.law(1)))
			t.Logf("%s, ε = %s: ρ = %.4f of ½ε², of which %.4f is lost", c.name, epsilon, rho/half, got/rho)
			if got > rho*(1+1e-9) || got < c.least*rho {
				t.Errorf("%s, ε = %s: ρ = %v is lost of %v", c.name, epsilon, got, rho)
			}
			if got := worstDivergence(c.users, plain(c.law(2))); got <= rho {
				t.Errorf("%s, ε = %s: a doubled ε goes unnoticed: ρ = %v", c.name, epsilon, got)
			}
		}
	}
}

// TestRawMayBeAddedUp: the raw draws of a group without users have a mean of 0, although values below 0 are cut off.
// Their law is symmetric, so that |Σx| > 5.5·√Σx² has a probability of 2·e^{−5.5²/2} = 5·10^−7 at most, whatever their
// tails (Hoeffding, given the sizes). The values of 1,000 windows have a sum of about 12·√Σx². Where a magnitude is
// found, it is often 0 and then there is no noise, so their values are only seen to be cut.
func TestRawMayBeAddedUp(t *testing.T) {
	const windows = 1000
	for _, q := range []Query{
		{Statistic: Count}, {Statistic: Count, Mechanism: "gaussian"}, {Statistic: Count, Above: new(dec("3"))},
		{Statistic: Outside}, {Statistic: Sum, Clip: "none"}, {Statistic: Sum}, {Statistic: Sum, Grid: grid(t, "-9", "0", "1")},
		{Statistic: Sum, Mechanism: "clipped_gaussian", ZCDP: true},
	} {
		if q.Epsilon = dec("0.1"); q.Grid == nil {
			q.Grid = grid(t, "0", "9", "1")
		}
		m := build(t, q)
		s, least, most := NewSample[Point](q.Grid, nil), int64(0), int64(math.MaxInt64)
		if q.Grid.lo < 0 {
			least, most = math.MinInt64, 0
		}
		var raw, squares, shown float64
		cuts := 0
		for range windows {
			d := draw(t, m, s, Public{}, rand.Reader)
			x := d.Values[0]
			if x.Raw == nil || x.Number != min(max(*x.Raw, least), most) {
				t.Fatalf("%s by %s: %+v", q.Statistic, m.Name(), x)
			}
			raw += float64(*x.Raw)
			squares += float64(*x.Raw) * float64(*x.Raw)
			shown += float64(x.Number)
			if x.Number != *x.Raw {
				cuts++
			}
		}
		name, far := string(q.Statistic)+" by "+m.Name(), 5.5*math.Sqrt(squares)
		if math.Abs(raw) > far {
			t.Errorf("%s: the draws have a sum of %.2f, want at most %.2f", name, raw, far)
		}
		if cuts == 0 || !Clips(m) && math.Abs(shown) <= far {
			t.Errorf("%s: %d values are cut, and all have a sum of %.2f, want more than %.2f", name, cuts, shown, far)
		}
	}
}

// TestRawIsOnlyWhereSomethingIsCut: other figures have none.
func TestRawIsOnlyWhereSomethingIsCut(t *testing.T) {
	g := grid(t, "-5", "5", "1")
	s := NewSample(g, []Point{{3, 20}})
	for _, q := range append(everyQuery(g), Query{Statistic: Sum, Clip: "none", Epsilon: dec("1"), Grid: g}) {
		d, err := build(t, q).Draw(s, Public{}, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		want := q.Statistic == Count || q.Statistic == Outside
		if got := d.Values[0].Raw != nil; got != want {
			t.Errorf("%s by %s: raw: %t, want %t", q.Statistic, q.Mechanism, got, want)
		}
	}
}
