package mechanisms

import (
	"io"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// split draws several quantiles one by one, each by margin with an equal share of ε, and puts them in order.
//
// Privacy: ε-DP as a sum of m parts of ε/m (basic composition); each is bounded-range, so that their ρ add up to less
// than ε²/(8m). Putting in order is post-processing.
type split struct {
	header
	parts   []*ranks
	scratch scratches
}

func newSplit(q *Query) (Mechanism, error) {
	if _, _, err := q.probabilities(); err != nil {
		return nil, err
	}
	m := &split{}
	count := int64(len(q.P))
	for _, p := range q.P {
		part := *q
		part.Statistic, part.P = Quantile, []decimal.Decimal{p}
		r, err := part.margin(count)
		if err != nil {
			return nil, err
		}
		m.parts = append(m.parts, r)
	}
	m.header = header{"split",
		privacy.NewPieces(q.Epsilon, float64(count)*privacy.RhoOfRange(q.Epsilon.InexactFloat64()/float64(count)))}
	return m, nil
}

func (m *split) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	if err := s.Check(); err != nil {
		return Draw{}, err
	}
	k := m.scratch.take(random)
	defer m.scratch.put(k)
	values := make([]int64, len(m.parts))
	for i, r := range m.parts {
		values[i] = r.draw(s, r.measure, k)
	}
	slices.Sort(values)
	return Draw{Values: numbered(values, m.Errors(public))}, k.source.Err()
}

// Errors hold for all values together. All values take the widest bound, so that it holds for the values in order too:
// the j-th value in order is at least one of those drawn for p_j, …, p_m and at most one of those for p_1, …, p_j.
func (m *split) Errors(public Public) []Bound {
	ranks := func(eta float64) float64 {
		widest := 0.
		for _, r := range m.parts {
			widest = math.Max(widest, math.Max(r.left, r.right)*r.measure.surprise(eta/float64(len(m.parts))))
		}
		return widest
	}
	bounds := make([]Bound, len(m.parts))
	all, counted := ranks(0.05), ranks(0.05-countRisk)
	for i, r := range m.parts {
		bounds[i] = unbounded()
		bounds[i].RankError95 = all
		if users := public.Users; users != nil {
			bounds[i].PLow, bounds[i].PHigh = percentiles(float64(r.p)/float64(r.q), counted, counted, users.fewest())
		}
	}
	return bounds
}
