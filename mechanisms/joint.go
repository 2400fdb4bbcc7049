package mechanisms

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/louver/louver/mechanisms/exact"
)

// joint draws several quantiles p_1 < … < p_m at once (JointExp: Gillenwater, Joseph, Kulesza 2021). For places
// o_1 ≤ … ≤ o_m, of which n_j users lie between o_{j−1} and o_j, and shares w_j = p_j − p_{j−1},
//
//	P(o) ∝ Π_j μ(o_j) · e^{−(ε/2Δ)·Σ_j |n_j − w_j·N|}.
//
// Privacy: ε-DP and ε-bounded-range. With N = n, the exact number of users, one more user raises one n_j by 1 and all
// w_j·n by w_j, so that the sum changes by at most (1−w_j) + Σ_{i≠j} w_i = 2(1−w_j) ≤ Δ = 2(1−w_min). Where a noisy
// count of the window has been released, N is that count, which is a constant here: Δ = 1, which is better. Before,
// every user is spread at random over the step of the grid that the value stands for ([spread]); that is a map of each
// user alone, so that neighbours stay neighbours. It gives users of equal values an order, without which values that
// many share could not be told apart from those beside them.
//
// The base measure of a tuple is that of m independent draws from μ put in order; an adaptive one is read as tapered. ρ = ε/(2Δq) is cut to 1000/q, q the
// common denominator of the p_j: a rank more is then less likely by e^{−1000}.
type joint struct {
	header
	grid    *Grid
	q       int64
	p       []int64 // p_j·q
	shares  []int64 // w_j·q, one more than p
	fine    *Measure
	digits  int // of a place within a grid point, in bits
	alone   exact.Rate
	counted exact.Rate
	rooms   sync.Pool // of *room
}

// room is what one draw works with.
type room struct {
	source   exact.Source
	spread   spread
	messages messages
}

func newJoint(q *Query) (Mechanism, error) {
	p, den, err := q.probabilities()
	if err != nil {
		return nil, err
	}
	m := &joint{header: header{"joint", boundedRange(q.Epsilon)}, grid: q.Grid, q: den, p: p}
	before := int64(0)
	for _, p := range append(slices.Clone(p), den) {
		m.shares = append(m.shares, p-before)
		before = p
	}
	// Few bits for the weights of points leave more for the places within a point.
	m.fine, m.digits = q.measure(10).refine()
	m.alone = m.cut(q.rate(2 * (den - slices.Min(m.shares))))
	m.counted = m.cut(q.rate(den))
	return m, nil
}

// cut returns the rate 2ρ, at most 2000/q.
func (m *joint) cut(rate exact.Rate) exact.Rate {
	if rate.Float() > 2000/float64(m.q) {
		return exact.NewRate(big.NewRat(2000, m.q))
	}
	return rate
}

// probabilities returns ascending p_j as numerators of one denominator.
func (q *Query) probabilities() (p []int64, den int64, err error) {
	if len(q.P) == 0 {
		return nil, 0, fmt.Errorf("p: quantiles take at least one probability")
	}
	if len(q.P) > 100 {
		return nil, 0, fmt.Errorf("p: %d probabilities are too many: at most 100", len(q.P))
	}
	common := big.NewInt(1)
	for i, d := range q.P {
		if _, _, err := fraction(d); err != nil {
			return nil, 0, err
		}
		if i > 0 && d.Cmp(q.P[i-1]) <= 0 {
			return nil, 0, fmt.Errorf("p %s must be greater than the one before it, %s", d, q.P[i-1])
		}
		f := d.Rat().Denom()
		common.Div(common, new(big.Int).GCD(nil, nil, common, f)).Mul(common, f)
	}
	if common.Cmp(big.NewInt(1e9)) > 0 {
		return nil, 0, fmt.Errorf("p: the probabilities have a common denominator of %s: at most 10^9", common)
	}
	for _, d := range q.P {
		p = append(p, new(big.Int).Quo(new(big.Int).Mul(d.Rat().Num(), common), d.Rat().Denom()).Int64())
	}
	return p, common.Int64(), nil
}

func (m *joint) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	if err := s.check(); err != nil {
		return Draw{}, err
	}
	r, ok := m.rooms.Get().(*room)
	if !ok {
		r = &room{}
	}
	defer m.leave(r)
	r.source.Reset(random)
	r.spread.begin(s, m.digits, &r.source)
	r.messages.begin(m, s, public.Users, &r.spread)
	d := newDraw(len(m.p), public.Users)
	for _, place := range r.messages.draw(&r.source) {
		d.Values = append(d.Values, place>>m.digits)
	}
	m.errors(&d, public.Users)
	return d, r.source.Err()
}

// leave keeps a room for a later draw, without the reader and the sample.
func (m *joint) leave(r *room) {
	r.source.Reset(nil)
	r.spread.sample = nil
	clear(r.spread.placed)
	m.rooms.Put(r)
}

// errors fills in how far a value may be from its quantile, in ranks among the spread users. A tuple whose value j is t
// ranks off has a penalty Σ|n_j − w_j·N| of at least 2t more than the least possible one. Some tuple comes within m+1
// ranks of that, as long as no two users share a place, and its weight in the base measure is at least v^m/m! of the
// least weight v.
func (m *joint) errors(d *Draw, users *NoisyCount) {
	k := float64(len(m.p))
	rounding := k + 1
	ranks := func(rate exact.Rate, eta float64) float64 {
		least := float64(slices.Min(m.fine.weight))
		return (k*math.Log(float64(m.fine.total())/least)-math.Log(eta))/(rate.Float()*float64(m.q)) + rounding
	}
	for _, p := range m.p {
		alpha := float64(p) / float64(m.q)
		if users == nil {
			d.RankError95 = append(d.RankError95, ranks(m.alone, 0.05))
			continue
		}
		// The places' ranks are bounded around the quantile of between N and n users.
		r := ranks(m.counted, 0.05-countRisk) + max(alpha, 1-alpha)*users.off()
		d.RankError95 = append(d.RankError95, r)
		low, high := percentiles(alpha, r, r, float64(users.Value)-users.off())
		d.PLow, d.PHigh = append(d.PLow, low), append(d.PHigh, high)
	}
}
