package smooth

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// Spec defines a release. Numbers are exact decimals: draws follow the law of their text.
type Spec struct {
	// Statistic is "mean", "trimmed_mean", "median" (the midpoint of the two middle values) or "quantile" (the value of
	// rank ⌈P·n⌉).
	Statistic string
	// P is the probability of a quantile, in (0, 1).
	P decimal.Decimal
	// Trim is the fraction τ that a trimmed mean cuts from each end, ⌊τ·n⌋ values, in [0, ½).
	Trim decimal.Decimal
	// Noise is "power", "cauchy", "student_t", "laplace", "gaussian", "lln", "uln" or "arsinh".
	Noise string
	// Gamma > 1 is the exponent of "cauchy". Zero means 2.
	Gamma decimal.Decimal
	// Published uses the calibration of the paper that proposed the noise instead of the tightest known.
	Published bool
	// ReplaceOne makes the number of values public: neighbours differ in one value. A median is then the value of rank
	// ⌈n/2⌉. Use it to reproduce the papers' figures.
	ReplaceOne bool
	// Epsilon is the ε of the promise, in [10^−9, 10^6]. Delta is in (0, 0.1) for "laplace" and "gaussian", and 0
	// otherwise.
	Epsilon, Delta decimal.Decimal
	// Beta is the smoothness β of the sensitivity. Zero leaves it to the noise, which mostly takes ε/8.
	Beta decimal.Decimal
	// Last is the last index N of the grid, in 0..2^53.
	Last int64
}

// Mechanism draws according to a [Spec]. It is immutable and safe for concurrent use.
type Mechanism struct {
	statistic statistic
	noise     noise
	beta      *big.Rat
	nearBeta  float64
	nearAlpha span
	last      int64
	promise   privacy.Promise
}

// statistic is a statistic of a sample that smooth sensitivity can release.
type statistic interface {
	// value returns the statistic as num/den, den ≥ 1.
	value(x *ranks) (num wide, den int64)
	// smooth adds all local sensitivities that matter.
	smooth(x *ranks, l *largest)
}

// Limits on parameters. Nothing sensible is outside them.
var (
	leastEpsilon = decimal.New(1, -9)
	mostEpsilon  = decimal.New(1, 6)
	leastBeta    = decimal.New(1, -12)
	mostGamma    = decimal.New(1000, 0)
	leastDelta   = decimal.New(1, -100)
	mostDelta    = decimal.New(1, -1) // the promise may fail with this probability
)

// New checks a spec. Its errors name the parameter, its value and the values that are valid.
func New(s Spec) (*Mechanism, error) {
	if s.Last < 0 || s.Last > 1<<53 {
		return nil, parameter.Wrong("grid", s.Last, "a last index in 0..2^53")
	}
	if err := checkExponents(s); err != nil {
		return nil, err
	}
	stat, err := newStatistic(s)
	if err != nil {
		return nil, err
	}
	if s.Epsilon.Cmp(leastEpsilon) < 0 || s.Epsilon.Cmp(mostEpsilon) > 0 {
		return nil, parameter.Wrong("epsilon", s.Epsilon, "a number from %s to %s", leastEpsilon, mostEpsilon)
	}
	if !s.Beta.IsZero() && s.Beta.Cmp(leastBeta) < 0 {
		return nil, parameter.Wrong("beta", s.Beta, "at least %s, or none", leastBeta)
	}
	if s.Gamma.Sign() < 0 || s.Gamma.Cmp(mostGamma) > 0 {
		return nil, parameter.Wrong("gamma", s.Gamma, "more than 1 and at most %s", mostGamma)
	}
	if !s.Gamma.IsZero() && s.Noise != "cauchy" {
		return nil, parameter.Wrong("gamma", s.Gamma,
			"none: it is the exponent of cauchy, and %s has no such parameter", s.Noise)
	}
	known := makers()
	entry, ok := known[s.Noise]
	if !ok {
		return nil, parameter.Wrong("noise", s.Noise, "one of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	switch {
	case entry.kind == privacy.Approximate && (s.Delta.Sign() <= 0 || s.Delta.Cmp(mostDelta) >= 0):
		return nil, parameter.Wrong("delta", s.Delta,
			"a number greater than 0 and less than %s: %s needs a delta", mostDelta, s.Noise)
	case entry.kind == privacy.Approximate && s.Delta.Cmp(leastDelta) < 0:
		return nil, parameter.Wrong("delta", s.Delta, "at least %s", leastDelta)
	case entry.kind != privacy.Approximate && !s.Delta.IsZero():
		return nil, parameter.Wrong("delta", s.Delta, "0: %s needs no delta", s.Noise)
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
		if e := (*parameter.Error)(nil); errors.As(err, &e) {
			err = parameter.Wrong(e.Parameter, e.Value, "%s, for %s", e.Want, s.Noise)
		}
		return nil, err
	}
	m.nearBeta, _ = m.beta.Float64()
	m.nearAlpha = spanOf(m.noise.alpha(firstPrec))
	switch entry.kind {
	case privacy.Approximate:
		m.promise = privacy.NewApproximate(s.Epsilon, s.Delta)
	case privacy.ZCDP:
		m.promise = privacy.NewZCDP(s.Epsilon)
	default:
		m.promise = privacy.NewPure(s.Epsilon)
	}
	return m, nil
}

// checkExponents refuses numbers like 1e−1000000000, which would use all memory.
func checkExponents(s Spec) error {
	const most = 120
	for _, x := range []struct {
		name  string
		value decimal.Decimal
	}{{"p", s.P}, {"trim", s.Trim}, {"gamma", s.Gamma}, {"epsilon", s.Epsilon}, {"delta", s.Delta}, {"beta", s.Beta}} {
		if e := x.value.Exponent(); e > most || e < -most {
			return parameter.Wrong(x.name, fmt.Sprintf("%se%d", x.value.Coefficient(), e),
				"a decimal exponent within ±%d", most)
		}
	}
	return nil
}

func newStatistic(s Spec) (statistic, error) {
	if !slices.Contains([]string{"mean", "trimmed_mean", "median", "quantile"}, s.Statistic) {
		return nil, parameter.Wrong("statistic", s.Statistic, "mean, trimmed_mean, median or quantile")
	}
	if s.Statistic != "quantile" && !s.P.IsZero() {
		return nil, parameter.Wrong("p", s.P, "none: a %s has no such parameter", s.Statistic)
	}
	if s.Statistic != "trimmed_mean" && !s.Trim.IsZero() {
		return nil, parameter.Wrong("trim", s.Trim, "none: a %s has no such parameter", s.Statistic)
	}
	switch s.Statistic {
	case "mean", "trimmed_mean":
		trim, err := newFraction("trim", s.Trim)
		if err != nil {
			return nil, err
		}
		if s.Trim.Cmp(decimal.New(5, -1)) >= 0 {
			return nil, parameter.Wrong("trim", s.Trim, "at least 0 and less than 0.5, so that something is left")
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
		return nil, parameter.Wrong("p", 0, "a number greater than 0 and less than 1")
	}
	if s.ReplaceOne {
		return replaceQuantile{quantile{p}}, nil
	}
	return quantile{p}, nil
}

func errNotPublished(name string) error {
	return parameter.Wrong("calibration", "published", "tight: there is no published calibration of %s", name)
}

// Promise returns the cost of every draw.
func (m *Mechanism) Promise() privacy.Promise { return m.promise }

// Draw makes one private draw, a grid index in 0..N. random must be a cryptographic source that nothing else reads
// meanwhile. Draw fails only if random does.
func (m *Mechanism) Draw(x *Values, random io.Reader) (int64, error) {
	index, _, err := m.draw(x.within(0, m.last, 1), random)
	return index, err
}

// DrawWithin makes one private draw for the values cut to low..high, low ≤ high. Each step from low on is divided into
// parts. The result lies in 0..N, N = (high − low)·parts, which must be at most 2^53.
func (m *Mechanism) DrawWithin(x *Values, low, high, parts int64, random io.Reader) (int64, error) {
	on := *m
	on.last = (high - low) * parts
	index, _, err := on.draw(x.within(low, high, parts), random)
	return index, err
}

// draw also returns the number of refinements.
func (m *Mechanism) draw(x *ranks, random io.Reader) (index int64, refined int, err error) {
	return m.prepare(x).draw(random)
}

// draw draws the noise.
func (d *release) draw(random io.Reader) (index int64, refined int, err error) {
	source := exact.NewSource(random)
	d.negative = source.Coin(1, 2)
	d.mechanism.noise.draw(source, &d.variates)
	index, refined = d.round()
	return index, refined, source.Err()
}

// prepare computes everything except the noise.
func (m *Mechanism) prepare(x *ranks) *release {
	d := &release{mechanism: m}
	num, den := m.statistic.value(x)
	d.centre = newCentre(num, den)
	d.scale = newLargest(m.nearBeta)
	m.statistic.smooth(x, &d.scale)
	return d
}
