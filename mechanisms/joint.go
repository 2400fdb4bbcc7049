package mechanisms

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// joint draws several quantiles p_1 < … < p_m at once (JointExp: Gillenwater, Joseph, Kulesza 2021). For places
// o_1 ≤ … ≤ o_m with n_j users between o_{j−1} and o_j, and shares w_j = p_j − p_{j−1},
//
//	P(o) ∝ Π_j μ(o_j) · e^{−(ε/2Δ)·Σ_j |n_j − w_j·N|}.
//
// Every user is first spread at random over the step of the grid that the value stands for ([spread]). That gives users
// of equal values an order. Without it, values that many users share could not be told apart from their neighbours.
//
// Privacy: ε-DP, and ρ-zCDP with the ρ of an ε-bounded range. Let the users' places be given. With N = n, the exact
// number of users, one more user raises one n_j by 1 and all w_j·n by w_j, so that the sum changes by at most (1−w_j) +
// Σ_{i≠j} w_i = 2(1−w_j) ≤ Δ = 2(1−w_min). Where a noisy count of the window has been released, N is that count, which
// is a constant here: Δ = 1, which is better. So for given places this is an exponential mechanism of ε-bounded range.
//
// With places at random the law is a mixture, and a mixture of laws of bounded range need not have one itself. But a
// Rényi divergence is quasi-convex: that of two mixtures with the same weights is at most the largest of their parts
// (van Erven & Harremoës 2014, Theorem 13). Each user is placed independently. So let the parts be the places of the
// users in both samples, and of the additional one. Each pair of parts has a divergence of at most αρ, and hence so do
// the mixtures. For α → ∞ the same argument gives ε.
//
// The base measure of a tuple is that of m independent draws from μ put in order; an adaptive one is read as tapered.
// The rate κ = ε/(2Δq) of a level is cut to 1000/q, q the common denominator of the p_j: a rank more is then less
// likely by e^{−1000}.
type joint struct {
	header
	ranksLaw
	grid    *Grid
	digits  int // of a place within a grid point, in bits
	scratch scratches
}

func newJoint(q *Query) (Mechanism, error) {
	p, den, err := q.probabilities()
	if err != nil {
		return nil, err
	}
	m := &joint{header: header{"joint", privacy.NewBoundedRange(q.Epsilon)}, grid: q.Grid,
		ranksLaw: ranksLaw{q: den, p: p}}
	before := int64(0)
	for _, p := range append(slices.Clone(p), den) {
		m.shares = append(m.shares, p-before)
		before = p
	}
	// Few bits for the weights of points leave more for the places within a point.
	m.fine, m.digits = q.measure(10).refine()
	m.alone = m.cut(q.rate(2 * (den - slices.Min(m.shares))))
	m.counted = m.cut(q.rate(den))
	return m, m.affordable(q)
}

// mostMemory is how many bytes the messages of one draw may take, by public figures.
const mostMemory = 1 << 30

// affordable refuses an ε that is too small for this many quantiles, because the messages would cover nearly every
// user. The bound is that of [messages.begin] if no two users share a place. Users who do may widen the windows
// further, up to 48 bytes for each quantile and user.
func (m *joint) affordable(q *Query) error {
	count := float64(len(m.p))
	depth := 40 + count*math.Log(float64(m.fine.total())/float64(m.fine.lightest)) + (outermost+2)*math.Ln2
	users := 2*depth/(m.alone.Float()*float64(m.q)) + 4*float64(len(m.shares)) + 2
	if q.ExpectedUsers > 0 {
		users = min(users, 2*float64(q.ExpectedUsers))
	}
	bytes := 48 * count * users
	if bytes <= mostMemory {
		return nil
	}
	least := q.Epsilon.Mul(decimal.NewFromFloat(bytes / mostMemory))
	least = least.RoundUp(1 - int32(least.NumDigits()) - least.Exponent())
	return parameter.Wrong("epsilon", parameter.Shown(q.Epsilon),
		"at least about %s: %d quantiles by joint might take %.0f GiB for this one. Fewer quantiles and the mechanism "+
			"split take less",
		least, len(m.p), math.Ceil(bytes/(1<<30)))
}

// cut returns the rate 2κ, at most 2000/q.
func (m *joint) cut(rate exact.Rate) exact.Rate {
	if rate.Float() > 2000/float64(m.q) {
		return exact.NewRate(big.NewRat(2000, m.q))
	}
	return rate
}

// probabilities returns ascending p_j as numerators of one denominator.
func (q *Query) probabilities() (p []int64, den int64, err error) {
	if len(q.P) == 0 {
		return nil, 0, parameter.Wrong("p", "missing", "at least one number greater than 0 and less than 1")
	}
	if len(q.P) > 100 {
		return nil, 0, parameter.Wrong("p", fmt.Sprintf("a list of %d", len(q.P)), "at most 100 numbers")
	}
	common := big.NewInt(1)
	for i, d := range q.P {
		if _, _, err := parameter.Probability(d); err != nil {
			return nil, 0, err
		}
		if i > 0 && d.Cmp(q.P[i-1]) <= 0 {
			return nil, 0, parameter.Wrong("p", listed(q.P),
				"ascending numbers, each once: %s follows %s", d, q.P[i-1])
		}
		f := d.Rat().Denom()
		common.Div(common, new(big.Int).GCD(nil, nil, common, f)).Mul(common, f)
	}
	if common.Cmp(big.NewInt(1e9)) > 0 {
		return nil, 0, parameter.Wrong("p", listed(q.P),
			"fewer digits: the common denominator is %s, and may be at most 10^9", common)
	}
	for _, d := range q.P {
		p = append(p, new(big.Int).Quo(new(big.Int).Mul(d.Rat().Num(), common), d.Rat().Denom()).Int64())
	}
	return p, common.Int64(), nil
}

func (m *joint) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	return m.scratch.draw(s, random, func(k *scratch) (Draw, error) {
		k.spread.begin(s, m.digits, &k.source)
		k.messages.begin(&m.ranksLaw, s, public.Users, &k.spread)
		places := k.messages.draw(&k.source)
		for j := range places {
			places[j] >>= m.digits
		}
		return Draw{Values: numbered(places, m.Errors(public))}, k.messages.err
	})
}

// Errors says how far a value may be from its quantile, in ranks among the spread users. A tuple whose value j is t
// ranks off has a penalty Σ|n_j − w_j·N| of at least 2t more than the least possible one. Some tuple comes within m+1
// ranks of that, as long as no two users share a place, and its weight in the base measure is at least v^m/m! of the
// least weight v.
func (m *joint) Errors(public Public) []Bound {
	k := float64(len(m.p))
	rounding := k + 1
	ranks := func(rate exact.Rate, eta float64) float64 {
		least := float64(slices.Min(m.fine.weight))
		return (k*math.Log(float64(m.fine.total())/least)-math.Log(eta))/(rate.Float()*float64(m.q)) + rounding
	}
	bounds := make([]Bound, len(m.p))
	for j, p := range m.p {
		alpha, users, b := float64(p)/float64(m.q), public.Users, &bounds[j]
		*b = unbounded()
		if users == nil {
			b.RankError95 = ranks(m.alone, 0.05)
			continue
		}
		// The places' ranks are bounded around the quantile of between N and n users.
		r := ranks(m.counted, 0.05-countRisk) + max(alpha, 1-alpha)*users.off()
		b.RankError95 = r
		b.PLow, b.PHigh = percentiles(alpha, r, r, float64(users.Value)-users.off())
	}
	return bounds
}

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
	return m.scratch.draw(s, random, func(k *scratch) (Draw, error) {
		values := make([]int64, len(m.parts))
		for i, r := range m.parts {
			values[i] = r.draw(s, r.measure, k)
		}
		slices.Sort(values)
		return Draw{Values: numbered(values, m.Errors(public))}, nil
	})
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
