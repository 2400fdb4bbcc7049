package running

import (
	"fmt"
	"io"
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// squareRoot draws at every leaf t a weighted sum of all leaves so far,
//
//	y_t = Σ_{s≤t} F_{t−s}·x_s + Z_t,  Z discrete Gaussian of variance n·c²·ΣF_k²/(2ρ),
//
// with f_k = C(2k,k)/4^k, the coefficients of (1−x)^−½, and F_k = f_k·2^32 to the nearest whole number. The total is
// Σ F_{t−s}·y_s / 2^64: the square of that power series is 1/(1−x), which sums up. n is how many sums run side by side
// ([Period.Parts]), and 1 for a single total.
//
// Privacy: ρ-zCDP for the whole period, ρ = ½ε², ρ/n in each part. The sum of squares goes over the leaves of the
// longest period. A person with the amounts v, Σ|v| ≤ c, shifts y by Σ v_s·(column s). A norm is convex, so the shift
// is longest where all of c is at one leaf. It is longest at the first leaf, whose column has all coefficients. So
// ‖shift‖² ≤ c²·ΣF_k².
// If a person adds to several sums of a part, such as the buckets of a histogram, the shift is a sum of columns of
// several matrices with Σ|v| ≤ c, and longest again where all of c is at the first leaf of one of them.
// If what a person does depends on earlier totals, the bound holds along every path, because y_t depends on leaves up
// to t only.
//
// The rounding of the f_k biases a total by less than 4·10^−10 of it.
//
// Sources: Fichtenberger, Henzinger, Upadhyay (2023); Henzinger, Upadhyay, Upadhyay (2023).
type squareRoot struct {
	epsilon      decimal.Decimal
	coefficients []*big.Int // F_k, for all leaves of the longest period
	noise        *exact.Gaussian
	errors       []float64 // σ of a total, by the number of its leaves
}

// MostLeaves is how many leaves a period may have under [NewSquareRoot]: the work of a leaf grows with those before it.
const MostLeaves = 10_000

// NewSquareRoot returns the strategy for periods of at most p.Longest leaves, with an ε > 0, of which ρ is ½ε², and a c
// from 1 to [MostTotal].
func NewSquareRoot(p Period, epsilon decimal.Decimal, most int64) (Strategy, error) {
	if p.Longest < 1 || p.Longest > MostLeaves {
		return nil, fmt.Errorf("%d leaves in a period; want at most %d", p.Longest, MostLeaves)
	}
	if most < 1 || most > MostTotal || epsilon.Sign() <= 0 {
		return nil, fmt.Errorf("epsilon %s and at most %d from one person; want an epsilon above 0, and from 1 to %d",
			epsilon, most, int64(MostTotal))
	}
	s := &squareRoot{epsilon: epsilon, coefficients: coefficients(int(p.Longest))}
	sum := new(big.Int)
	for _, f := range s.coefficients {
		sum.Add(sum, new(big.Int).Mul(f, f))
	}
	c := new(big.Rat).SetInt64(most)
	rho2 := new(big.Rat).Mul(epsilon.Rat(), epsilon.Rat()) // 2ρ
	variance := new(big.Rat).Mul(c, c)
	variance.Mul(variance, new(big.Rat).SetInt64(p.parts()))
	variance.Mul(variance, new(big.Rat).SetInt(sum)).Quo(variance, rho2)
	s.noise = exact.NewGaussian(variance)

	z, _ := variance.Float64()
	squares := 0.0
	for _, f := range s.coefficients {
		x, _ := new(big.Float).SetInt(f).Float64()
		squares += math.Ldexp(x, -scaleBits) * math.Ldexp(x, -scaleBits)
		s.errors = append(s.errors, math.Sqrt(squares*math.Ldexp(z, -2*scaleBits)))
	}
	return s, nil
}

// scaleBits is the number of binary places of the coefficients.
const scaleBits = 32

// coefficients returns the first F_k. Each f_k is a product of exact fractions, cut at 192 bits: after 10,000 of them
// the error is below 2^−178. An f_k that is nearer than that to a half would be rounded wrongly. A test compares all of
// them with exact ones.
func coefficients(n int) []*big.Int {
	const bits = 192
	f := new(big.Int).Lsh(big.NewInt(1), bits)
	unit := new(big.Int).Lsh(big.NewInt(1), bits-scaleBits)
	all := make([]*big.Int, n)
	for k := range all {
		if k > 0 {
			f.Mul(f, big.NewInt(int64(2*k-1)))
			f.Quo(f, big.NewInt(int64(2*k)))
		}
		all[k] = nearest(f, unit)
	}
	return all
}

func (s *squareRoot) Name() string { return "square_root" }

func (s *squareRoot) Promise() privacy.Promise { return privacy.NewZCDP(s.epsilon) }

func (s *squareRoot) Longest() int64 { return int64(len(s.coefficients)) }

func (s *squareRoot) Draws(int64) int { return 1 }

func (s *squareRoot) Add(open Open, leaf, amount int64) Open {
	for int64(len(open)) < leaf {
		open = append(open, 0)
	}
	open[leaf-1] += amount
	return open
}

func (s *squareRoot) Draw(open Open, leaf int64, random io.Reader) ([]*big.Int, error) {
	if leaf > s.Longest() {
		return nil, fmt.Errorf("leaf %d of a period of at most %d", leaf, s.Longest())
	}
	source := exact.NewSource(random)
	y := source.DiscreteGaussian(s.noise)
	return []*big.Int{y.Add(y, s.weighted(open, leaf))}, source.Err()
}

// Close forgets nothing: later sums need all leaves.
func (s *squareRoot) Close(Open, int64) {}

// weighted is y_t without noise.
func (s *squareRoot) weighted(open Open, leaf int64) *big.Int {
	sum, term := new(big.Int), new(big.Int)
	for i, x := range open {
		if k := leaf - 1 - int64(i); x != 0 && k >= 0 {
			sum.Add(sum, term.Mul(s.coefficients[k], term.SetInt64(x)))
		}
	}
	return sum
}

// Fold keeps all draws of the period.
func (s *squareRoot) Fold(known Known, _ int64, draws []*big.Int) Known {
	return append(append(make(Known, 0, len(known)+1), known...), draws...)
}

// Total squares the power series, which sums up.
func (s *squareRoot) Total(known Known, leaf int64) *big.Int {
	total, term := new(big.Int), new(big.Int)
	for i, y := range known {
		if k := leaf - 1 - int64(i); k >= 0 && k < s.Longest() {
			total.Add(total, term.Mul(s.coefficients[k], y))
		}
	}
	return nearest(total, new(big.Int).Lsh(big.NewInt(1), 2*scaleBits))
}

// Noise implements [Strategy].
func (s *squareRoot) Noise(leaf int64) (variance, reach float64) {
	sigma := s.errors[min(leaf, s.Longest())-1]
	return sigma * sigma, gaussianReach
}

// Error95 is ⌈1.96σ + ½⌉.
func (s *squareRoot) Error95(leaf int64) int64 { return error95(s.Noise(leaf)) }
