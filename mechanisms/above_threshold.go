package mechanisms

import (
	"io"
	"math"
	"math/big"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// aboveThreshold visits the borders of public cells ([Cells]), which are geometric away from 0. It stops at the first x
// that seems to have αn users below it:
//
//	#(y < x) − αn + ν_x ≥ ρ,  ν_x ~ Exp(rate ε/2) for each x,  ρ ~ Exp(rate ε/(2·max(α, 1−α))) once.
//
// It begins at the end of the grid that is further from the quantile (for α < ½ everything is mirrored). In a tail with
// few users, below about 20/ε, the exponential mechanism gets lost in the wide empty range beyond them. This mechanism
// stops where the users end. The cell that it has passed last holds the quantile, as far as it knows, and its value is
// a uniform point of that cell: with so few users in the tail no choice within a cell would be better founded. If it
// does not stop, its value is the last point of the grid.
//
// Privacy: ε-DP. Let f_x = #(y < x) − αn, α ≥ ½. A stop at x needs f + ν < ρ at all points before and f_x + ν_x ≥ ρ. On
// a neighbouring sample, raising ρ and ν_x gives the same stop. The raised values are less likely by at most the factor
// e^{cost}:
//   - one more user at y, x ≤ y: all f fall by α; ν_x is raised by α. Costs ε_ν·α.
//   - one more user at y, x > y: some f rise by 1−α, f_x with them; ρ is raised by 1−α. Costs ε_ρ·(1−α).
//   - one user at y less, x ≤ y: all f rise by α; ρ is raised by α. Costs ε_ρ·α.
//   - one user at y less, x > y: some f rise by α and f_x falls by 1−α; ρ is raised by α, ν_x by 1. Costs ε_ρ·α + ε_ν.
//
// The last cost is the greatest: ε/2 + ε/2. It is approached only if there are many points and none of them stops. The
// point of the cell is post-processing.
//
// There is no bound on its error in ranks: all users, however many, may lie between two borders.
//
// Source: Durfee (2023), unbounded quantiles, here with a public grid that ends. A constant added to ρ would be public
// too; in trials on long tails 0 was as good as any.
type aboveThreshold struct {
	header
	p, q     int64 // α, or 1−α where mirrored: at least ½
	mirrored bool
	last     int64
	cells    []int64    // where each begins, and the end of the last one
	rate     exact.Rate // ε_ν/q
}

func newAboveThreshold(q *Query) (Mechanism, error) {
	r, err := q.ranks("above_threshold", func(_, den int64) (rankUtility, int64) { return nil, 2 * den })
	if err != nil {
		return nil, err
	}
	m := &aboveThreshold{header: header{r.name, privacy.NewPure(q.Epsilon)}, p: r.p, q: r.q, last: q.Grid.last,
		rate: r.rate, cells: q.Grid.cells()}
	if 2*m.p < m.q {
		m.p, m.mirrored = m.q-m.p, true
	}
	return m, nil
}

func (m *aboveThreshold) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw { return m.draw(s, source) })
}

func (m *aboveThreshold) draw(s *Sample, source *exact.Source) Draw {
	x, rho := m.end(), source.Uniform()
	for i := range m.borders() {
		if m.reaches(&rho, m.q*m.passed(s, i)-m.p*s.n, source) {
			first, end := m.cell(i)
			x = first + int64(source.Below(uint64(end-first)))
			break
		}
	}
	return Draw{Values: single(x, unbounded())}
}

// end returns the last point of the way.
func (m *aboveThreshold) end() int64 {
	if m.mirrored {
		return 0
	}
	return m.last
}

// endsAtZero reports whether the value 0 is at the end of the way, or beyond it.
func (m *aboveThreshold) endsAtZero(g *Grid) bool { return g.anchor == m.end() }

// passed returns how many users are before the i-th border on the way.
func (m *aboveThreshold) passed(s *Sample, i int) int64 {
	first, end := m.cell(i)
	if m.mirrored {
		return s.n - s.Below(first)
	}
	return s.Below(end)
}

// borders returns how many borders between cells there are.
func (m *aboveThreshold) borders() int { return len(m.cells) - 2 }

// cell returns the points from first to below end that come right before the i-th border on the way.
func (m *aboveThreshold) cell(i int) (first, end int64) {
	if m.mirrored {
		i = m.borders() - i
	}
	return m.cells[i], m.cells[i+1]
}

// reaches says that f + ν ≥ ρ for f = level/q and a new ν. With ρ = −ln(u)/ε_ρ and ε_ν/ε_ρ = p/q that has probability
// e^{−ε_ν(ρ−f)} = u^{p/q}·e^{ε_ν·f}, or 1 if that is more.
func (m *aboveThreshold) reaches(rho *exact.Uniform, level int64, source *exact.Source) bool {
	u, share := rho.Float(), float64(m.p)/float64(m.q)
	bonus := m.rate.Float() * float64(level)
	y := share*math.Log(u) + bonus
	// u is known to 2^−64; the rest is a few roundings.
	slack := 0x1p-62/u + math.Abs(bonus)*0x1p-50 + 0x1p-44
	if y > slack {
		return true
	}
	p := math.Exp(y)
	slack = 2*slack*p + 0x1p-62
	if !(slack < 0.25) { // too few digits of u
		slack = 2
	}
	return source.RealCoin(min(p, 1), slack, func(prec uint) exact.Interval {
		power := rho.Interval(prec).Log().Mul(exact.FromRat(big.NewRat(m.p, m.q), prec)).Exp()
		return power.Mul(m.rate.Interval(-level, prec))
	})
}
