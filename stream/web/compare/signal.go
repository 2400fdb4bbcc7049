package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
)

// FalseMarksPerDay bounds the probability that noise alone marks any window of a series in a day.
const FalseMarksPerDay = 0.01

// leastBefore is how many earlier figures there must be to compare one with.
const leastBefore = 3

// Signal says that a figure differs from those before it by more than noise explains. Its JSON names are public.
type Signal struct {
	ID string `json:"id"` // of the record
	// Probability is at most how often noise alone makes such a difference between one figure and the mean of those
	// before it.
	Probability float64 `json:"probability"`
	// Basis names the source of the probability, as in [Comparison].
	Basis    string `json:"basis"`
	Sentence string `json:"sentence"`
}

// Point is a figure, prepared to be compared with others.
type Point struct {
	record outputs.Record
	value  float64
	laws   [len(bases)]noise // of its error, by basis; a scale of 0: not known
}

// PointOf prepares a figure. It returns nil if it cannot be compared: it is withheld, or that of a watch, or it repeats
// a value that is published on change.
func PointOf(r outputs.Record) *Point {
	if r.Value == nil || r.Held() {
		return nil
	}
	p := &Point{record: r, value: numberOf(*r.Value).InexactFloat64()}
	for i, by := range bases {
		p.laws[i], _ = by.noise(r)
	}
	return p
}

// cut reports whether the figure is a count that may have been cut at 0.
func (p *Point) cut() bool {
	return p.value == 0 && (p.record.Mechanism == "geometric" || p.record.Mechanism == "gaussian")
}

// Signal compares a figure with those of its release whose windows ended before it began: usually those of an hour. It
// is a signal if noise alone makes such a difference with a probability below alpha. nil: it is not, or nothing public
// tells.
//
// # Why false marks are rare
//
// A figure is compared once, so a series of n windows a day makes n comparisons a day. With alpha =
// [FalseMarksPerDay]/n the probability that any of them is a false mark is at most FalseMarksPerDay (Bonferroni: the
// union bound holds however the comparisons depend on each other, and they do, for hours overlap).
//
// It remains to bound one comparison. Let the truth be the same in all these windows, X the error of the figure and Ȳ
// the mean of the n independent errors Yᵢ before it. For every real t:
//
//   - Laplace of scale b: P(X ≥ t) ≤ ½·e^{−t/b}. For t ≥ 0 they are equal. For t < 0 and u = e^{−t/b} it says
//     1 − 1/(2u) ≤ u/2, which is (u − 1)² ≥ 0.
//   - Geometric with p = e^{−1/b}: P(X ≥ t) ≤ e^{−t/b}/(1 + p). For t > 0 the tail from ⌈t⌉ on is p^⌈t⌉/(1+p). For t ≤
//     0 and u = p^t it follows from (u − 1)(u − p) ≥ 0.
//
// Put t = d + Ȳ and take the mean over Ȳ: P(X − Ȳ ≥ d) ≤ c·e^{−d/b}·∏ E[e^{Yᵢ/(nb)}] with c = ½ or 1/(1+p). Both sides
// together have twice that. The factors are the moment generating functions of the errors ([noise.moment]), and nearly
// 1.
//
// Normal errors and those of gaussian counts are sub-Gaussian: E[e^{λY}] ≤ e^{λ²s²/2} with their scale s (Canonne,
// Kamath and Steinke 2020 for the discrete Gaussian). So P(|X − Ȳ| ≥ d) ≤ 2·e^{−d²/2v} with v = s² + Σsᵢ²/n².
//
// A count is cut at 0. If no earlier count is 0, none of them is cut. The figure itself may be, which only brings it
// nearer to them. So whenever such a figure is marked, it would be marked without the cut, too. If any earlier count is
// 0, nothing is compared.
//
// The laws of counts are those of the mechanisms. That of a mean or sum is as in [Figures]. An interval or a smoothed
// band says how often it misses, and not what lies far beyond it: there the bound holds as long as the tails are no
// heavier than exponential ones.
func (p *Point) Signal(before []*Point, alpha float64) *Signal {
	if len(before) < leastBefore {
		return nil
	}
	mean, basis := 0., -1
	for _, b := range before {
		if b.cut() || b.record.Statistic != p.record.Statistic || b.record.Unit != p.record.Unit ||
			b.record.Mechanism != p.record.Mechanism {
			return nil
		}
		mean += b.value / float64(len(before))
	}
	for i := len(bases) - 1; i >= 0; i-- {
		if p.laws[i].scale > 0 && !slices.ContainsFunc(before, func(b *Point) bool { return b.laws[i].scale == 0 }) {
			basis = i
		}
	}
	if basis < 0 || p.value == mean {
		return nil
	}
	errors := make([]noise, len(before))
	for i, b := range before {
		errors[i] = b.laws[basis]
	}
	chance := farFromMean(p.laws[basis], errors, math.Abs(p.value-mean))
	if chance >= alpha {
		return nil
	}
	direction := "above"
	if p.value < mean {
		direction = "below"
	}
	value := numberOf(*p.record.Value)
	return &Signal{ID: p.record.ID, Probability: chance, Basis: bases[basis].name,
		Sentence: fmt.Sprintf("%s is %s %s, the mean of the %s before it, by more than noise explains.",
			strings.TrimSpace(grouped(value.String())+" "+p.record.Unit), direction, alike(decimal.NewFromFloat(mean),
				value), several(len(before), "window"))}
}

// farFromMean bounds the probability that an error is at least d > 0 away from the mean of others: see [Point.Signal].
func farFromMean(x noise, others []noise, d float64) float64 {
	n := float64(len(others))
	variance := 0.
	tailed := x.law == laplace || x.law == geometric
	for _, y := range others {
		if tailed != (y.law == laplace || y.law == geometric) {
			return 1
		}
		variance += y.scale * y.scale / (n * n)
	}
	if !tailed {
		return min(1, 2*math.Exp(-d*d/(2*(x.scale*x.scale+variance))))
	}
	log := -d / x.scale
	if x.law == geometric {
		log += math.Log(2 / (1 + math.Exp(-1/x.scale)))
	}
	for _, y := range others {
		log += math.Log(y.moment(1 / (n * x.scale)))
	}
	return min(1, math.Exp(log))
}

// moment is E[e^{λY}] of a Laplace or geometric error, for λ > 0: 1/(1 − λ²s²), and (1−p)²/((1−pe^λ)(1−pe^{−λ})) with
// p = e^{−1/s}. It is infinite from λ = 1/s on.
func (y noise) moment(lambda float64) float64 {
	switch {
	case lambda*y.scale >= 1:
		return math.Inf(1)
	case y.law == geometric:
		p := math.Exp(-1 / y.scale)
		return (1 - p) * (1 - p) / ((1 - p*math.Exp(lambda)) * (1 - p*math.Exp(-lambda)))
	}
	return 1 / (1 - lambda*lambda*y.scale*y.scale)
}
