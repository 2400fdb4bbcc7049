package mechanisms

import (
	"io"
	"math/big"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// meanLaplace divides a noisy sum by a noisy count, each with half of ε and discrete Laplace noise; the quotient is
// clamped to the grid and rounded to its nearest point, ties upward. A noisy count below 1 is taken as 1.
//
// Privacy: ε-DP. The sum is of distances from the middle of the grid, so that one user changes it by at most
// reach = ⌈N/2⌉ and, with noise of P(z) ∝ e^{−|z|·(ε/2)/reach}, its law by a factor within e^{±ε/2}; the count by 1 and
// its law by the same. All else is post-processing.
//
// Source: Dwork, McSherry, Nissim, Smith (2006).
type meanLaplace struct {
	header
	middle, last int64
	num, den     uint64 // ε/2 a user
	reach        uint64
}

func newMeanLaplace(q *Query) (Mechanism, error) {
	num, den, err := parameter.Epsilon(q.Epsilon)
	if err != nil {
		return nil, err
	}
	m := &meanLaplace{header: header{"laplace", privacy.NewPure(q.Epsilon)}, middle: q.Grid.last / 2, last: q.Grid.last,
		num: num, den: 2 * den}
	m.reach = uint64(m.last - m.middle)
	return m, nil
}

func (m *meanLaplace) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw {
		sum := s.added().Sum(0, m.last).Big() // less n times the middle it is the sum of the distances
		sum.Sub(sum, new(big.Int).Mul(big.NewInt(m.middle), big.NewInt(s.n)))
		x := m.quotient(sum, s.n,
			source.DiscreteLaplace(m.num, m.den, m.reach), source.DiscreteLaplace(m.num, m.den, 1))
		return Draw{Values: single(x, unbounded())}
	})
}

// quotient returns the grid point nearest to the noisy mean.
func (m *meanLaplace) quotient(sum *big.Int, n int64, sumNoise, countNoise *big.Int) int64 {
	total, count := new(big.Int).Add(sum, sumNoise), new(big.Int).Add(big.NewInt(n), countNoise)
	if count.Sign() <= 0 {
		count.SetInt64(1)
	}
	// ⌊total/count + ½⌋
	total.Lsh(total, 1).Add(total, count)
	total.Div(total, count.Lsh(count, 1))
	return m.middle + cut(total, -m.middle, m.last-m.middle)
}
