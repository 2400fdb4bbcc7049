package mechanisms

import (
	"crypto/rand"
	"math/big"
	mathrand "math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/louver/louver/mechanisms/running"
)

// soFar is a distribution of four buckets in two groups, or on one level: {0}, {1}, {2} and +Inf. With 48 leaves a tree
// has nodes of 1 and of 7 leaves.
func soFar(t testing.TB, epsilon, mechanism string, most int64, levels int) *Total {
	t.Helper()
	total, err := NewTotal(TotalQuery{Statistic: Histogram, Epsilon: dec(epsilon), Mechanism: mechanism,
		Grid: smallGrid(t, 3), Buckets: &Bucketing{Ends: ps("0", "1", "2")}, Levels: levels,
		MaxTotal: new(decimal.NewFromInt(most)), Groups: 1, Period: running.Period{Leaves: 48, Longest: 50}})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// visit is a window in which a user counts: its leaf, and the bucket of their value.
type visit struct {
	leaf   int64
	bucket int
}

// visits lists all ways to count in at most so many of the first 8 leaves, in any bucket each time. After 7 of them a
// node of 7 leaves is finished. Leaves 3 to 6 are as the second one.
func visits(most int) (all [][]visit) {
	all = [][]visit{nil}
	for _, leaf := range []int64{1, 2, 7, 8} {
		for _, so := range all {
			for bucket := range 4 {
				if len(so) < most {
					all = append(all, append(append([]visit(nil), so...), visit{leaf, bucket}))
				}
			}
		}
	}
	return all
}

// bitsOf are random bits that depend on the leaf only.
func bitsOf(leaf int64) *mathrand.ChaCha8 { return mathrand.NewChaCha8([32]byte{byte(leaf)}) }

// drawn are the draws of all leaves and numbers for a user who counts so. Each draw has the random bits
// of its leaf.
func drawn(t testing.TB, total *Total, so []visit) (all [][]*big.Int) {
	t.Helper()
	open := make([]running.Open, total.Numbers())
	for leaf := int64(1); leaf <= 8; leaf++ {
		for _, v := range so {
			if v.leaf == leaf {
				amounts := make([]int64, total.Places())
				amounts[v.bucket] = 1
				total.Enter(open, leaf, amounts)
			}
		}
		for number := range open {
			draws, err := total.Draw(open[number], leaf, bitsOf(leaf))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, draws)
			total.Close(open[number], leaf)
		}
	}
	return all
}

// TestSoFarWorstLoss enumerates how one user may count. The worst loss is ε, exactly. A user who counts in two windows
// although max_total is 1 loses 2ε, and one who counts in three
// although it is 2 loses 3/2·ε: so a walk that forgot who has counted would be found. Before that, the rates of the
// noise are compared with those of package exact, from the same random bits.
func TestSoFarWorstLoss(t *testing.T) {
	for _, c := range []struct {
		most    int64
		levels  int
		windows int
		want    *big.Rat
	}{{1, 2, 1, big.NewRat(1, 1)}, {1, 1, 1, big.NewRat(1, 1)}, {2, 2, 2, big.NewRat(1, 1)},
		{1, 2, 2, big.NewRat(2, 1)}, {1, 1, 2, big.NewRat(2, 1)}, {2, 1, 3, big.NewRat(3, 2)}} {
		rates := []*big.Rat{big.NewRat(11, 20), big.NewRat(9, 20)} // of the nodes of 1 and of 7 leaves
		for _, r := range rates {
			r.Mul(r, big.NewRat(7, 10*int64(c.levels)))
		}
		noisy := soFar(t, "0.7", "tree", c.most, c.levels)
		for i, draws := range drawn(t, noisy, nil) {
			source := exact.NewSource(bitsOf(int64(i/noisy.Numbers()) + 1))
			for l, z := range draws {
				r := rates[l]
				if want := source.DiscreteLaplace(r.Num().Uint64(), r.Denom().Uint64(),
					uint64(c.most)); z.Cmp(want) != 0 {
					t.Fatalf("most %d, %d levels, draw %d, node %d: %d; want %d", c.most, c.levels, i, l, z, want)
				}
			}
		}
		without, worst := soFar(t, "1000000000", "tree", c.most, c.levels), new(big.Rat)
		for _, so := range visits(c.windows) {
			sum := new(big.Rat)
			for _, draws := range drawn(t, without, so) {
				for l, y := range draws {
					d := new(big.Rat).SetFrac(new(big.Int).Abs(y), big.NewInt(c.most))
					sum.Add(sum, d.Mul(d, rates[l]))
				}
			}
			if sum.Cmp(worst) > 0 {
				worst = sum
			}
		}
		want := new(big.Rat).Mul(c.want, big.NewRat(7, 10))
		if worst.Cmp(want) != 0 {
			t.Errorf("max_total %d, %d levels, %d windows: the worst loss is %s; want %s", c.most, c.levels, c.windows,
				worst, want)
		}
	}
}

// TestSoFarWorstShift: by square_root the worst ‖shift‖²/(2σ²) is ρ in both levels together, exactly, where all of
// max_total is at the first leaf of the longest period. σ² is compared with package exact, from the same random bits.
func TestSoFarWorstShift(t *testing.T) {
	for _, c := range []struct {
		most    int64
		levels  int
		windows int
		want    *big.Rat // of ρ
	}{{1, 2, 1, big.NewRat(1, 1)}, {1, 1, 1, big.NewRat(1, 1)}, {1, 2, 2, nil}} {
		q := TotalQuery{Statistic: Histogram, Epsilon: dec("0.7"), Mechanism: "square_root", ZCDP: true,
			Grid: smallGrid(t, 3), Buckets: &Bucketing{Ends: ps("0", "1", "2")}, Levels: c.levels,
			MaxTotal: new(decimal.NewFromInt(c.most)), Groups: 1, Period: running.Period{Leaves: 7, Longest: 8}}
		noisy, err := NewTotal(q)
		if err != nil {
			t.Fatal(err)
		}
		q.Epsilon = dec("1000000000000")
		without, err := NewTotal(q)
		if err != nil {
			t.Fatal(err)
		}
		squares := func(so []visit) *big.Int {
			sum := new(big.Int)
			for _, draws := range drawn(t, without, so) {
				sum.Add(sum, new(big.Int).Mul(draws[0], draws[0]))
			}
			return sum
		}
		// The first visit changes one number of each level, by all coefficients.
		first := squares([]visit{{1, 0}})
		variance := new(big.Rat).SetInt(first.Mul(first, big.NewInt(c.most*c.most)))
		variance.Quo(variance, big.NewRat(49, 100)) // 2ρ = ε²; first has the sum of both levels already
		law := exact.NewGaussian(variance)
		for i, draws := range drawn(t, noisy, nil) {
			source := exact.NewSource(bitsOf(int64(i/noisy.Numbers()) + 1))
			if want := source.DiscreteGaussian(law); draws[0].Cmp(want) != 0 {
				t.Fatalf("%d levels, draw %d: %d; want %d", c.levels, i, draws[0], want)
			}
		}
		worst := new(big.Int)
		for _, so := range visits(c.windows) {
			if s := squares(so); s.Cmp(worst) > 0 {
				worst = s
			}
		}
		loss := new(big.Rat).SetInt(worst)
		loss.Quo(loss, new(big.Rat).Mul(variance, big.NewRat(2, 1)))
		rho := noisy.Promise().Rho.Rat()
		switch {
		case c.want == nil && loss.Cmp(new(big.Rat).Mul(rho, big.NewRat(3, 1))) < 0:
			t.Errorf("a user in two windows loses ρ %s, and the promise is %s: the control notices nothing", loss, rho)
		case c.want != nil && loss.Cmp(new(big.Rat).Mul(rho, c.want)) != 0:
			t.Errorf("%d levels: the worst ρ is %s; want %s", c.levels, loss, rho)
		}
	}
}

// TestSoFarPromise: a period costs ε, and of ρ what the tree of each level has: two levels have half of that of one.
func TestSoFarPromise(t *testing.T) {
	for levels, want := range map[int]string{1: "0.2525", 2: "0.12625"} {
		p := soFar(t, "1", "tree", 3, levels).Promise()
		if d := p.Rho.Sub(dec(want)); !p.Epsilon.Equal(dec("1")) || d.IsNegative() || d.GreaterThan(dec("0.000000001")) {
			t.Errorf("%d levels: ε %s and ρ %s; want 1 and %s", levels, p.Epsilon, p.Rho, want)
		}
		p = soFar(t, "1", "square_root", 3, levels).Promise()
		if !p.Rho.Equal(dec("0.5")) {
			t.Errorf("%d levels: ρ %s; want 0.5", levels, p.Rho)
		}
	}
}

// soFarVectors were computed by another program.
type soFarVectors struct {
	Leaves, Branching int64
	Exact             [][]int64
	After             []struct {
		Leaf        int64
		Numbers     []struct{ Raw, Coarse []int64 }
		Raw, Coarse []int64
	}
}

func TestSoFarVectors(t *testing.T) {
	v := dptest.Vectors[soFarVectors](t, "so_far.json")
	total := soFar(t, "1", "tree", 1, 2)
	known, open := make([]running.Known, total.Numbers()), make([]running.Open, total.Numbers())
	for _, after := range v.After {
		total.Enter(open, after.Leaf, v.Exact[after.Leaf-1])
		want := append(append([]int64(nil), after.Raw...), after.Coarse...)
		for number := range known {
			var draws []*big.Int
			for _, of := range after.Numbers {
				draws = append(draws, big.NewInt(append(append([]int64(nil), of.Raw...), of.Coarse...)[number]))
			}
			if n := total.Draws(after.Leaf); len(draws) != n {
				t.Fatalf("leaf %d has %d draws; want %d", after.Leaf, len(draws), n)
			}
			known[number] = total.Fold(known[number], after.Leaf, draws)
			if got := total.Total(known[number], after.Leaf); got.Int64() != want[number] {
				t.Errorf("leaf %d, number %d: %d; want %d", after.Leaf, number, got, want[number])
			}
			total.Close(open[number], after.Leaf)
		}
	}
	// Without noise the numbers are the sums of the leaves.
	for number, of := range open {
		want := v.Exact[7]
		sum := append(append([]int64(nil), want...), want[0]+want[1], want[2]+want[3])[number]
		if of[0] != 0 || of[1] != sum {
			t.Errorf("number %d has %d open; want 0 and %d", number, of, sum)
		}
	}
}

// TestSoFarCoverage: after the tenth of 48 leaves, a node of 7 and three leaves, the number of all users and each
// quantile keep to what is said of them. Of 1,000 draws with a probability of 5 % each, more than 90 miss with a
// probability below e^{−1000·KL(0.09‖0.05)} < 10^−6. With half of the variance, the number of all users misses in 13 %.
func TestSoFarCoverage(t *testing.T) {
	const draws, users = 1000, 3000
	for _, mechanism := range TotalMechanisms() {
		g := grid(t, "0", "60000", "1")
		total, err := NewTotal(TotalQuery{Statistic: Histogram, Epsilon: dec("1"), Mechanism: mechanism, Grid: g,
			Buckets: &Bucketing{Native: true, Scale: 1}, Levels: 2, Groups: 1,
			Period: running.Period{Leaves: 48, Longest: 50}})
		if err != nil {
			t.Fatal(err)
		}
		amounts, values := make([]int64, total.Places()), make([]int64, users)
		for i := range values {
			values[i] = int64(i*i) / 900 // from 0 to 10,000
			amounts[total.Place(values[i])]++
		}
		ps := map[string]int{"0.5": 0, "0.9": 0, "0.99": 0}
		missed := 0
		for range draws {
			open, known := make([]running.Open, total.Numbers()), make([]running.Known, total.Numbers())
			total.Enter(open, 1, amounts)
			for leaf := int64(1); leaf <= 10; leaf++ {
				for i := range open {
					ys, err := total.Draw(open[i], leaf, rand.Reader)
					if err != nil {
						t.Fatal(err)
					}
					total.Close(open[i], leaf)
					known[i] = total.Fold(known[i], leaf, ys)
				}
			}
			var numbers []int64
			for _, k := range known {
				numbers = append(numbers, total.Total(k, 10).Int64())
			}
			k := total.Buckets.Len()
			e := total.Buckets.Estimate(numbers[:k], numbers[k:], TotalNoise(total, 10), 1)
			if n, off := e.Users(); float64(max(n-users, users-n)) > off {
				missed++
			}
			for p := range ps {
				q, ok := e.Quantile(dec(p))
				truth := values[int(dec(p).InexactFloat64()*users)-1]
				if !ok || truth < q.Low || truth > q.High {
					ps[p]++
				}
			}
		}
		for p, n := range ps {
			if n > 90 {
				t.Errorf("%s: p%s misses in %d of %d draws", mechanism, p, n, draws)
			}
		}
		if missed > 90 {
			t.Errorf("%s: the number of users misses in %d of %d draws", mechanism, missed, draws)
		}
	}
}

// TestSoFarPlaces: each value counts in the bucket in which the histogram of a window has it.
func TestSoFarPlaces(t *testing.T) {
	for _, lower := range []string{"0", "-5"} {
		g := grid(t, lower, "20", "1")
		total, err := NewTotal(TotalQuery{Statistic: Histogram, Epsilon: dec("1"), Grid: g, Groups: 1,
			Buckets: &Bucketing{Ends: ps("3", "9")}, Cuts: []int64{6}, Period: running.Period{Leaves: 24, Longest: 25}})
		if err != nil {
			t.Fatal(err)
		}
		ends := total.Buckets.Ends()
		for index := int64(-1); index <= g.Last()+1; index++ {
			sample := NewSample(g, []Point{{Index: index, Count: 1}})
			m := &bucketed{buckets: total.Buckets}
			fine, _ := m.sums(sample)
			if at := total.Place(index); fine[at] != 1 || total.Adds(index) != 1 {
				t.Errorf("from %s, ends %v: index %d is in bucket %d; want %v", lower, ends, index, at, fine)
			}
		}
		if total.Numbers() != total.Buckets.Len() || len(ends) < 4 {
			t.Errorf("%d numbers for the ends %v", total.Numbers(), ends)
		}
	}
}

// TestSoFarKeepsFewDraws: with a δ, square_root is left out where it would keep too many draws, and refused by name.
func TestSoFarKeepsFewDraws(t *testing.T) {
	q := TotalQuery{Statistic: Histogram, Epsilon: dec("1"), ZCDP: true, Grid: grid(t, "0", "60000", "1"),
		Buckets: &Bucketing{Native: true, Scale: 3}, Groups: 40, Period: running.Period{Leaves: 96, Longest: 100}}
	for groups, want := range map[int64]string{40: "square_root", 41: "tree"} { // 123 numbers of up to 100 values each
		q.Groups = groups
		total, err := NewTotal(q)
		if err != nil || total.Name() != want {
			t.Errorf("%d groups: %v, %v; want %s", groups, total, err, want)
		}
	}
	q.Mechanism, q.Groups = "square_root", 41
	_, err := NewTotal(q)
	want := `mechanism "square_root"; want tree: with 41 groups of 123 numbers each and up to 100 values in a period ` +
		`there are more than 500000 draws to keep`
	if err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if _, err = NewTotal(TotalQuery{Statistic: Histogram, Epsilon: dec("1"), Grid: q.Grid}); err == nil {
		t.Error("a distribution without buckets was made")
	}
}

// TestNoiseSoFar: from the published error alone, the noise of a number is what it is or up to a user more than that
// leaves open. Bands of shares that are computed from it are no narrower.
func TestNoiseSoFar(t *testing.T) {
	for _, mechanism := range TotalMechanisms() {
		for _, levels := range []int{1, 2} {
			total := soFar(t, "0.3", mechanism, 1, levels)
			for _, leaf := range []int64{1, 7, 48} {
				is := TotalNoise(total, leaf)
				said, err := NoiseSoFar(mechanism, total.Buckets, float64(total.Error95(leaf)))
				if err != nil || said.Reach != is.Reach || said.Variance < is.Variance || said.Variance > 1.3*is.Variance+2 {
					t.Errorf("%s, %d levels, leaf %d: %+v, %v; want at least %+v", mechanism, levels, leaf, said, err, is)
				}
			}
		}
	}
}
