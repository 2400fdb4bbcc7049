package smooth

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/shopspring/decimal"
)

// Spec says what is released and how. Numbers are exact decimals: the law that is drawn is that of their text.
type Spec struct {
	// Statistic is "mean", "trimmed_mean", "median" (the midpoint of the two in the middle) or "quantile" (the value of rank
	// ⌈P·n⌉).
	Statistic string
	// P is the probability of a quantile, in (0, 1).
	P decimal.Decimal
	// Trim is the fraction τ that a trimmed mean cuts from each end, ⌊τ·n⌋ values, in [0, ½).
	Trim decimal.Decimal
	// Noise is "power", "cauchy", "student_t", "laplace", "gaussian", "lln", "uln" or "arsinh".
	Noise string
	// Gamma > 1 is the exponent of "cauchy"; zero: 2.
	Gamma decimal.Decimal
	// Published takes the calibration of the paper that proposed the noise instead of the tightest one known.
	Published bool
	// ReplaceOne makes the number of values public: neighbours differ in one value. A median is then the value of rank
	// ⌈n/2⌉. It is there to reproduce the papers' figures.
	ReplaceOne bool
	// Epsilon is the ε of the promise, in [10^−9, 10^6]. Delta, in (0, 1), is for "laplace" and "gaussian" and 0 otherwise.
	Epsilon, Delta decimal.Decimal
	// Beta is the smoothness β of the sensitivity; zero: the noise's own choice, mostly ε/8.
	Beta decimal.Decimal
	// Last is the last index N of the grid, in 0..2^53.
	Last int64
}

// Promise is what one draw costs the user whose value it saw.
type Promise struct {
	Epsilon, Delta decimal.Decimal
	// Pure: ε-differential privacy. Otherwise (ε, δ) if δ > 0, and ρ-zCDP without any pure ε if δ = 0.
	Pure bool
	// Rho is the zCDP parameter ½ε², rounded up; 0 where δ > 0.
	Rho float64
}

// Mechanism draws what a [Spec] says. It is immutable and safe for concurrent use.
type Mechanism struct {
	statistic statistic
	noise     noise
	beta      *big.Rat
	nearBeta  float64
	nearAlpha span
	last      int64
	promise   Promise
}

// statistic is a number of a sample that can be released by smooth sensitivity.
type statistic interface {
	// value returns the statistic as num/den, den ≥ 1.
	value(x *ranks) (num wide, den int64)
	// smooth adds all local sensitivities that matter.
	smooth(x *ranks, l *largest)
}

// limits of what is accepted; beyond them nothing sensible is asked for.
var (
	leastEpsilon = decimal.New(1, -9)
	mostEpsilon  = decimal.New(1, 6)
	leastBeta    = decimal.New(1, -12)
	mostGamma    = decimal.New(1000, 0)
	leastDelta   = decimal.New(1, -100)
)

// New checks a spec. Its errors name what is wrong, the value and what would be right.
func New(s Spec) (*Mechanism, error) {
	if s.Last < 0 || s.Last > 1<<53 {
		return nil, fmt.Errorf("last index %d: want it in 0..2^53", s.Last)
	}
	if err := checkExponents(s); err != nil {
		return nil, err
	}
	stat, err := newStatistic(s)
	if err != nil {
		return nil, err
	}
	if s.Epsilon.Cmp(leastEpsilon) < 0 || s.Epsilon.Cmp(mostEpsilon) > 0 {
		return nil, fmt.Errorf("epsilon %s: want it between %s and %s", s.Epsilon, leastEpsilon, mostEpsilon)
	}
	if !s.Beta.IsZero() && s.Beta.Cmp(leastBeta) < 0 {
		return nil, fmt.Errorf("beta %s: want at least %s, or none", s.Beta, leastBeta)
	}
	if s.Gamma.Sign() < 0 || s.Gamma.Cmp(mostGamma) > 0 {
		return nil, fmt.Errorf("gamma %s: want it in (1, %s]", s.Gamma, mostGamma)
	}
	if !s.Gamma.IsZero() && s.Noise != "cauchy" {
		return nil, fmt.Errorf("gamma %s: %s has no such parameter, it is the exponent of cauchy", s.Gamma, s.Noise)
	}
	known := makers()
	entry, ok := known[s.Noise]
	if !ok {
		return nil, fmt.Errorf("noise %q: want one of %q", s.Noise, slices.Sorted(maps.Keys(known)))
	}
	switch {
	case entry.kind == approximate && (s.Delta.Sign() <= 0 || s.Delta.Cmp(decimal.New(1, 0)) >= 0):
		return nil, fmt.Errorf("delta %s: %s gives (epsilon, delta) and wants delta in (0, 1)", s.Delta, s.Noise)
	case entry.kind == approximate && s.Delta.Cmp(leastDelta) < 0:
		return nil, fmt.Errorf("delta %s: want at least %s", s.Delta, leastDelta)
	case entry.kind != approximate && !s.Delta.IsZero():
		return nil, fmt.Errorf("delta %s: %s spends none, want 0", s.Delta, s.Noise)
	}

	c := calibration{epsilon: s.Epsilon.Rat(), delta: s.Delta.Rat(), published: s.Published}
	if !s.Beta.IsZero() {
		c.beta = s.Beta.Rat()
	}
	if !s.Gamma.IsZero() {
		c.gamma = s.Gamma.Rat()
	}
	m := &Mechanism{statistic: stat, last: s.Last}
	if m.noise, m.beta, err = entry.make(c); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Noise, err)
	}
	m.nearBeta, _ = m.beta.Float64()
	m.nearAlpha = spanOf(m.noise.alpha(firstPrec))
	m.promise = Promise{Epsilon: s.Epsilon, Delta: s.Delta, Pure: entry.kind == pure}
	if entry.kind != approximate {
		m.promise.Rho = halfSquare(c.epsilon)
	}
	return m, nil
}

// checkExponents refuses numbers such as 1e−1000000000, which would take all memory.
func checkExponents(s Spec) error {
	const most = 120
	for _, x := range []struct {
		name  string
		value decimal.Decimal
	}{{"p", s.P}, {"trim", s.Trim}, {"gamma", s.Gamma}, {"epsilon", s.Epsilon}, {"delta", s.Delta}, {"beta", s.Beta}} {
		if e := x.value.Exponent(); e > most || e < -most {
			return fmt.Errorf("%s has a decimal exponent of %d: want it within ±%d", x.name, e, most)
		}
	}
	return nil
}

func newStatistic(s Spec) (statistic, error) {
	if !slices.Contains([]string{"mean", "trimmed_mean", "median", "quantile"}, s.Statistic) {
		return nil, fmt.Errorf(`statistic %q: want "mean", "trimmed_mean", "median" or "quantile"`, s.Statistic)
	}
	if s.Statistic != "quantile" && !s.P.IsZero() {
		return nil, fmt.Errorf("p %s: a %s has no such parameter", s.P, s.Statistic)
	}
	if s.Statistic != "trimmed_mean" && !s.Trim.IsZero() {
		return nil, fmt.Errorf("trim %s: a %s has no such parameter", s.Trim, s.Statistic)
	}
	switch s.Statistic {
	case "mean", "trimmed_mean":
		trim, err := newFraction("trim", s.Trim)
		if err != nil {
			return nil, err
		}
		if s.Trim.Cmp(decimal.New(5, -1)) >= 0 {
			return nil, fmt.Errorf("trim %s: want it in [0, 0.5), or nothing is left", s.Trim)
		}
		if s.ReplaceOne {
			return replaceTrimmed{trimmed{trim}}, nil
		}
		return trimmed{trim}, nil
	case "median":
		if s.ReplaceOne {
			return replaceQuantile{quantile{fraction{1, 2}}}, nil
		}
		return median{}, nil
	}
	p, err := newFraction("p", s.P)
	if err != nil {
		return nil, err
	}
	if s.P.IsZero() {
		return nil, errors.New("p 0: want it in (0, 1)")
	}
	if s.ReplaceOne {
		return replaceQuantile{quantile{p}}, nil
	}
	return quantile{p}, nil
}

func errNotPublished(name string) error {
	return fmt.Errorf("calibration published: %s has none, want the default", name)
}

// halfSquare returns ½ε², rounded up.
func halfSquare(epsilon *big.Rat) float64 {
	x := new(big.Rat).Mul(epsilon, epsilon)
	x.Mul(x, big.NewRat(1, 2))
	f, _ := x.Float64()
	if new(big.Rat).SetFloat64(f).Cmp(x) < 0 {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}

// On returns the same mechanism on a grid of another last index N, in 0..2^53.
func (m *Mechanism) On(last int64) *Mechanism {
	other := *m
	other.last = last
	return &other
}

// Promise is what every draw costs.
func (m *Mechanism) Promise() Promise { return m.promise }

// Draw makes one private draw and returns a grid index. values holds distinct indices in 0..N, ascending, and counts
// how many users hold each, at least 1; both may be empty, and neither is changed or kept. random must be a
// cryptographic source, read by nobody else meanwhile. Draw fails only if random does.
func (m *Mechanism) Draw(values, counts []int64, random io.Reader) (int64, error) {
	index, _, err := m.draw(values, counts, random)
	return index, err
}

// draw also counts the refinements.
func (m *Mechanism) draw(values, counts []int64, random io.Reader) (index int64, refined int, err error) {
	d := m.prepare(newRanks(values, counts, m.last))
	source := exact.NewSource(random)
	d.negative = source.Coin(1, 2)
	m.noise.draw(source, &d.variates)
	index, refined = d.round()
	return index, refined, source.Err()
}

// prepare computes all but the noise.
func (m *Mechanism) prepare(x *ranks) *release {
	d := &release{mechanism: m}
	num, den := m.statistic.value(x)
	d.centre = newCentre(num, den)
	d.scale = newLargest(m.nearBeta)
	m.statistic.smooth(x, &d.scale)
	return d
}
