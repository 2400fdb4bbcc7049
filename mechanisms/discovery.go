package mechanisms

import (
	"io"
	"math"
	"math/big"
	"sort"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// truncatedGeometric is the name of the mechanism of [TruncatedGeometric].
const truncatedGeometric = "truncated_geometric"

// TruncatedGeometric finds names that many users share, such as URLs, where nobody can list the names beforehand. For a
// name with n ≥ 1 users it draws Z on −K…K with P(z) ∝ e^{−ε|z|}. If the noisy count n + Z reaches a public threshold
// T, it publishes that count. Otherwise it says nothing about the name.
//
// K is the least whole number with P(Z = K) = a^K·(1−a)/(1 + a − 2a^{K+1}) ≤ δ, a = e^{−ε}; and T = K + at_least. A
// name with fewer than at_least users is never published, so a name that nobody sent never is. One with T + K users or
// more always is. Hence only names that occur need a draw.
//
// Privacy: (ε, δ)-DP for each name, with its count. Compare n + Z with n + 1 + Z, for any n ≥ 0. Where both have an
// outcome, their probabilities differ by a factor within e^{±ε}. Only n+1+K belongs to the second alone, and only n−K
// to the first alone; each has probability P(Z = K) ≤ δ. What is published is a function of the noisy count. For n = 0
// it is nothing, since K < T: a name that nobody sent is treated like all others although nothing is drawn for it. A
// user who counts for at most k names costs (kε, kδ). The caller must see to it that nobody counts for more.
//
// For one name no (ε, δ) mechanism finds more, apart from the rounding of K: Desfontaines, Voss, Gipson, Mandayam
// (2022).
//
// It is immutable and safe for concurrent use.
type TruncatedGeometric struct {
	num, den uint64 // ε
	rate     float64
	promise  privacy.Promise
	bound    int64
	atLeast  int64
}

// NewTruncatedGeometric returns the mechanism for an ε > 0, a δ from 10⁻⁵⁰ to less than 0.1 and an at_least from 1 to
// [MaxUsers]. K must be at most [MaxUsers] too. The error is an [Error].
func NewTruncatedGeometric(epsilon, delta decimal.Decimal, atLeast int64) (*TruncatedGeometric, error) {
	num, den, err := parameter.Epsilon(epsilon)
	switch {
	case err != nil:
		return nil, err
	case delta.Sign() <= 0:
		return nil, parameter.Wrong("delta", parameter.Shown(delta),
			"more than 0, such as 0.00000001, because no mechanism finds unknown names with a delta of 0")
	case privacy.CheckDigits("delta", delta) != nil:
		return nil, parameter.Wrong("delta", parameter.Shown(delta), "at most 50 digits after the point")
	case delta.GreaterThanOrEqual(decimal.New(1, -1)):
		return nil, parameter.Wrong("delta", parameter.Shown(delta), "less than 0.1")
	case atLeast < 1 || atLeast > MaxUsers:
		return nil, parameter.Wrong("at_least", atLeast, "a whole number from 1 to %d", MaxUsers)
	}
	bound, ok := truncation(epsilon, delta)
	if !ok {
		return nil, parameter.Wrong("epsilon", parameter.Shown(epsilon),
			"more: with this one a name needs more than %d users to be found", MaxUsers)
	}
	return &TruncatedGeometric{num: num, den: den, rate: epsilon.InexactFloat64(),
		promise: privacy.NewApproximate(epsilon, delta), bound: bound, atLeast: atLeast}, nil
}

// truncation returns K, the least whole number with P(Z = K) ≤ δ. It reports false if K is above [MaxUsers].
//
// P(Z = K) = δ for the real number K = ln(1 + (1−a)(1−δ)/(δ(1+a)))/ε. float64 only guesses. The inequality decides, at
// K and at K−1: P(Z = K) falls as K grows.
func truncation(epsilon, delta decimal.Decimal) (k int64, ok bool) {
	e, d := epsilon.InexactFloat64(), delta.InexactFloat64()
	guess := math.Ceil(math.Log1p(-math.Expm1(-e)*(1-d)/(d*(1+math.Exp(-e)))) / e)
	if !(guess <= MaxUsers) {
		return 0, false
	}
	rate, limit := epsilon.Rat(), delta.Rat()
	k = max(1, int64(guess)) // P(Z = 0) = 1 for K = 0
	for !edgeWithin(rate, k, limit) {
		k++
	}
	for k > 1 && edgeWithin(rate, k-1, limit) {
		k--
	}
	return k, k <= MaxUsers
}

// edgeWithin reports whether P(Z = K) ≤ δ, for a K ≥ 1. The two are never equal: a = e^{−ε} is transcendental for a
// rational ε (Lindemann), and so is P(Z = K), a rational function of a that is not constant. So intervals of a growing
// precision decide.
func edgeWithin(epsilon *big.Rat, k int64, delta *big.Rat) bool {
	for prec := uint(128); ; prec *= 2 {
		one, two, rate := exact.FromInt(1, prec), exact.FromInt(2, prec), exact.NewRate(epsilon)
		a, power := rate.Interval(1, prec), rate.Interval(k, prec)
		edge := power.Mul(one.Sub(a)).Quo(one.Add(a).Sub(two.Mul(power).Mul(a)))
		switch limit := exact.FromRat(delta, prec); {
		case edge.Before(limit):
			return true
		case limit.Before(edge):
			return false
		}
	}
}

// Name is the mechanism's name in records.
func (m *TruncatedGeometric) Name() string { return truncatedGeometric }

// Promise is what the draw for one name costs a user who counts for it.
func (m *TruncatedGeometric) Promise() privacy.Promise { return m.promise }

// Bound is K: a published count is never further from the truth.
func (m *TruncatedGeometric) Bound() int64 { return m.bound }

// AtLeast is the number of users below which a name is never published.
func (m *TruncatedGeometric) AtLeast() int64 { return m.atLeast }

// Threshold is T, the least count that is published. A name with T users is found with a probability of a little more
// than ½, and one with fewer users with less than ½.
func (m *TruncatedGeometric) Threshold() int64 { return m.bound + m.atLeast }

// Certain is the number of users from which on a name is always found.
func (m *TruncatedGeometric) Certain() int64 { return m.Threshold() + m.bound }

// Draw makes the one draw for a name for which n users count. random must be uniform and cryptographic. If the name is
// published, value is its noisy count. The caller must not reveal how long it takes, nor the order in which names were
// drawn. It fails only if random does.
func (m *TruncatedGeometric) Draw(n int64, random io.Reader) (value int64, published bool, err error) {
	if n < m.atLeast { // n + Z < T for every Z
		return 0, false, nil
	}
	source := exact.NewSource(random)
	z := m.noise(source)
	if err := source.Err(); err != nil || n+z < m.Threshold() {
		return 0, false, err
	}
	return n + z, true, nil
}

// noise draws Z: discrete Laplace noise, drawn again while it is beyond K. That keeps the ratios of the probabilities.
func (m *TruncatedGeometric) noise(source *exact.Source) int64 {
	for {
		z := source.DiscreteLaplace(m.num, m.den, 1)
		if z.IsInt64() && z.Int64() >= -m.bound && z.Int64() <= m.bound || source.Err() != nil {
			return z.Int64()
		}
	}
}

// Found returns the probability that a name with n users is found, with an error of a few units of the last place.
func (m *TruncatedGeometric) Found(n int64) float64 {
	switch j := m.Threshold() - n; { // Z ≥ j is needed
	case n < m.atLeast:
		return 0
	case j > 0:
		return m.tail(j)
	default:
		return 1 - m.tail(1-j)
	}
}

// UsersFor returns how many users a name needs to be found with a given probability, in [0, 1].
func (m *TruncatedGeometric) UsersFor(probability float64) int64 {
	between := sort.Search(int(m.Certain()-m.atLeast), func(i int) bool {
		return m.Found(m.atLeast+int64(i)) >= probability
	})
	return m.atLeast + int64(between)
}

// Error95 is the least whole t ≥ 0 with P(|Z| > t) ≤ 5 %. The counts of names with about T users are too high on
// average, because they were found for being high. Names with T + t users or more are published with a probability of
// at least 97.5 %, so their counts are further off than t with at most 5.2 %.
func (m *TruncatedGeometric) Error95() int64 {
	return int64(sort.Search(int(m.bound), func(t int) bool { return 2*m.tail(int64(t)+1) <= 0.05 }))
}

// tail is P(Z ≥ j) = (a^j − a^{K+1})/(1 + a − 2a^{K+1}), for a j from 1.
func (m *TruncatedGeometric) tail(j int64) float64 {
	if j > m.bound {
		return 0
	}
	beyond := func(n int64) float64 { return -math.Expm1(-m.rate * float64(n)) } // 1 − a^n
	a := math.Exp(-m.rate)
	return math.Exp(-m.rate*float64(j)) * beyond(m.bound+1-j) / (beyond(m.bound+1) + a*beyond(m.bound))
}
