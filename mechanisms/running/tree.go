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

// tree draws the sums of leaves, of nodes of k leaves, of nodes of k² leaves and so on, when they are finished. With
// one period and a pure ε few wide levels are best: a leaf of a day of 96 is in two sums, and a total is made of at
// most 18.
//
//	y = Σ of its leaves + Z, P(Z=z) ∝ e^{−|z|·ε·s_l/(n·c)}, with the share s_l of the node's level l.
//
// n is how many sums run side by side ([Period.Parts]), and 1 for a single total.
//
// Privacy: ε-DP for the whole period. A person with the amounts v, Σ|v| ≤ c, changes the nodes of one level by Σ|v| ≤ c
// in all: each leaf is in one node of a level. So that level loses ε·s_l/n in each of n parts, and the shares add up to
// 1. That holds for any number of leaves, and however the amounts are spread: also over several sums of a part, such as
// the buckets of a histogram, because the changes of all of them add up to Σ|v| ≤ c. If what a person does depends on
// earlier totals, the same holds along every path, as each draw's law depends on the person through its own sum only.
// Also ρ = n·Σ(ε·s_l/n)²/2.
//
// Sources: Dwork, Naor, Pitassi, Rothblum (2010) and Chan, Shi, Song (2011) for trees; Honaker (2015) for the best
// linear estimate from finished nodes. The numbers of levels and the shares are the best that a search found, within
// 2 %.
type tree struct {
	epsilon   decimal.Decimal
	most      uint64 // c
	parts     int64
	branching int64
	levels    []level
}

// level is a level of nodes, the leaves first.
type level struct {
	size     int64    // leaves of a node
	rate     *big.Rat // ε·s/n
	weight   *big.Rat // a: of the node's own draw in its estimate. The rest is the weight of the estimates below.
	variance float64  // of the estimate of a node
}

// shares[d] are the shares of ε with d + 1 levels, the leaves first.
var shares = [][]*big.Rat{
	{big.NewRat(1, 1)},
	{big.NewRat(11, 20), big.NewRat(9, 20)},
	{big.NewRat(3, 8), big.NewRat(5, 16), big.NewRat(5, 16)},
	{big.NewRat(29, 100), big.NewRat(25, 100), big.NewRat(23, 100), big.NewRat(23, 100)},
}

// upTo[d] is the most leaves for which d + 1 levels are used. Beyond the last one there is one level more.
var upTo = []int64{40, 600, 9000}

// NewTree returns the strategy of a tree for periods that usually have p.Leaves leaves, with an ε > 0 and a c from 1 to
// [MostTotal].
func NewTree(p Period, epsilon decimal.Decimal, most int64) (Strategy, error) {
	if p.Leaves < 1 || most < 1 || most > MostTotal || epsilon.Sign() <= 0 {
		return nil, fmt.Errorf("%d leaves, epsilon %s and at most %d from one person; want at least one leaf, "+
			"an epsilon above 0, and from 1 to %d", p.Leaves, epsilon, most, int64(MostTotal))
	}
	depth := 0
	for depth < len(upTo) && p.Leaves > upTo[depth] {
		depth++
	}
	t := &tree{epsilon: epsilon, most: uint64(most), parts: p.parts(), branching: root(p.Leaves, depth+1)}
	each := new(big.Rat).Quo(epsilon.Rat(), new(big.Rat).SetInt64(t.parts))
	size, below := int64(1), big.NewRat(0, 1) // below is V of the level below, in units of 1/ε²
	k := new(big.Rat).SetInt64(t.branching)
	for l, share := range shares[depth] {
		v := level{size: size, rate: new(big.Rat).Mul(each, share), weight: big.NewRat(1, 1)}
		if v.rate.Num().BitLen() > 64 || v.rate.Denom().BitLen() > 64 {
			return nil, fmt.Errorf("epsilon %s has too many digits; want at most 17", epsilon)
		}
		own := new(big.Rat).Inv(new(big.Rat).Mul(share, share)) // s^−2
		if l > 0 {
			sum := new(big.Rat).Mul(k, below)
			v.weight.Quo(sum, new(big.Rat).Add(own, sum))
		}
		below = new(big.Rat).Mul(v.weight, own)
		v.variance = t.noise(v.rate)
		if l > 0 {
			a, _ := v.weight.Float64()
			v.variance = a*a*v.variance + (1-a)*(1-a)*float64(t.branching)*t.levels[l-1].variance
		}
		t.levels = append(t.levels, v)
		size *= t.branching
	}
	return t, nil
}

// root returns the least whole k with k^power ≥ n.
func root(n int64, power int) int64 {
	for k := int64(1); ; k++ {
		product := int64(1)
		for range power {
			product *= k
		}
		if product >= n {
			return k
		}
	}
}

// noise is the variance 2q/(1−q)², q = e^{−rate/c}, of discrete Laplace noise.
func (t *tree) noise(rate *big.Rat) float64 {
	r, _ := rate.Float64()
	r /= float64(t.most)
	step := -math.Expm1(-r)
	return 2 * math.Exp(-r) / (step * step)
}

func (t *tree) Name() string { return "tree" }

func (t *tree) Promise() privacy.Promise {
	rho := 0.0
	for _, l := range t.levels {
		e, _ := l.rate.Float64()
		rho += float64(t.parts) * privacy.RhoOfPure(e)
	}
	return privacy.NewPieces(t.epsilon, rho)
}

// Longest is 0: more leaves only add nodes.
func (t *tree) Longest() int64 { return 0 }

// Draws is how many levels are completed.
func (t *tree) Draws(leaf int64) (n int) {
	for _, l := range t.levels {
		if leaf%l.size == 0 {
			n++
		}
	}
	return n
}

// Add adds to the open node of each level.
func (t *tree) Add(open Open, _, amount int64) Open {
	for len(open) < len(t.levels) {
		open = append(open, 0)
	}
	for l := range open {
		open[l] += amount
	}
	return open
}

func (t *tree) Draw(open Open, leaf int64, random io.Reader) ([]*big.Int, error) {
	source := exact.NewSource(random)
	draws := make([]*big.Int, t.Draws(leaf))
	for l := range draws {
		rate := t.levels[l].rate
		z := source.DiscreteLaplace(rate.Num().Uint64(), rate.Denom().Uint64(), t.most)
		if l < len(open) {
			z.Add(z, big.NewInt(open[l]))
		}
		draws[l] = z
	}
	return draws, source.Err()
}

// Close forgets the nodes that the leaf completes.
func (t *tree) Close(open Open, leaf int64) { clear(open[:min(len(open), t.Draws(leaf))]) }

// pointBits is the number of binary places of estimates.
const pointBits = 16

// Fold keeps one sum a level: the estimates of its finished nodes that are in no finished node above. The estimate of a
// node is a·y + (1−a)·Σ of the estimates below, which is the best linear one.
func (t *tree) Fold(known Known, _ int64, draws []*big.Int) Known {
	after := make(Known, len(t.levels))
	for l := range after {
		after[l] = new(big.Int).Set(known.at(l))
	}
	for l, y := range draws {
		estimate := new(big.Int).Lsh(y, pointBits)
		if l > 0 {
			w := t.levels[l].weight
			rest := new(big.Int).Sub(w.Denom(), w.Num())
			estimate.Mul(estimate, w.Num())
			estimate.Add(estimate, rest.Mul(rest, after[l-1]))
			estimate = nearest(estimate, w.Denom())
			after[l-1].SetInt64(0)
		}
		after[l].Add(after[l], estimate)
	}
	return after
}

// Total adds up the estimates: those of the fewest nodes that cover the leaves so far.
func (t *tree) Total(known Known, _ int64) *big.Int {
	total := new(big.Int)
	for _, sum := range known {
		total.Add(total, sum)
	}
	return nearest(total, new(big.Int).Lsh(big.NewInt(1), pointBits))
}

// Noise implements [Strategy]: a total is a sum of estimates of nodes that have no leaf in common.
func (t *tree) Noise(leaf int64) (variance, reach float64) {
	for l := len(t.levels) - 1; l >= 0; l-- {
		variance += float64(leaf/t.levels[l].size) * t.levels[l].variance
		leaf %= t.levels[l].size
	}
	return variance, laplaceReach
}

// Error95 is ⌈2.12σ + ½⌉.
func (t *tree) Error95(leaf int64) int64 { return error95(t.Noise(leaf)) }
