package mechanisms

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// Checks every mechanism of every statistic for errors that well-known libraries have made.

// pointsOff is how far each mechanism may be from the statistic of a million users, on most draws at ε = ½. Most find
// it exactly, except that a mean between grid points is rounded, and above_threshold finds the cell alone.
func pointsOff(g *Grid, q Query, x int64) int64 {
	switch {
	case q.Mechanism == "above_threshold":
		m := Cells(g)
		cell := m.cell(x)
		return max(m.bounds[cell+1]-1-x, x-m.bounds[cell])
	case q.Statistic == Mean || q.Statistic == TrimmedMean:
		return 1
	case q.Statistic == Sum:
		return 60_000 // Laplace noise with ε ≥ ½·15/16·½ and scale 1000 exceeds this with probability e^{−14}
	case q.Statistic == Variance:
		return 40 // three noises of scale W²/(ε·15/16·n) < 2.2 at W = 1000 exceed this with probability ≤ 3e^{−6}
	case q.Statistic == StdDev:
		return 7 // if the variance is 0; √40 < 7
	case q.Statistic == Count || q.Statistic == Outside:
		return 20 // geometric noise with ε = ½ exceeds this with probability e^{−10}
	case q.Statistic == Histogram:
		return 60 // more than four standard deviations of the sum over all buckets
	}
	return 0
}

// Many duplicates: in other libraries, zero-width gaps have led to densities of NaN, weights have underflowed, and the
// most frequent value was never found.
func TestManyDuplicates(t *testing.T) {
	const users = 1_000_000
	g := smallGrid(t, 1001)
	random := rand.NewChaCha8([32]byte{31})
	for _, c := range []struct {
		name   string
		points []Point
		want   map[Statistic][]int64
	}{
		{"all equal", []Point{{400, users}}, map[Statistic][]int64{
			Median: {400}, Quantile: {400}, Quantiles: {400, 400}, Mode: {400}, Mean: {400}, Sum: {400 * users},
			TrimmedMean: {400}, Variance: {0}, StdDev: {0}, Count: {users}, Outside: {0}, Histogram: {users}}},
		{"all at an end", []Point{{1000, users}}, map[Statistic][]int64{
			Median: {1000}, Quantile: {1000}, Quantiles: {1000, 1000}, Mode: {1000}, Mean: {1000}, Sum: {1000 * users},
			TrimmedMean: {1000}, Variance: {0}, StdDev: {0}, Count: {users}, Outside: {0}, Histogram: {users}}},
		// trimmed: 500,000 and 300,000 are left
		{"two heaps", []Point{{200, 600_000}, {900, 400_000}}, map[Statistic][]int64{
			Median: {200}, Quantile: {900}, Quantiles: {200, 900}, Mode: {200}, Mean: {480}, Sum: {480 * users},
			TrimmedMean: {462}, Variance: {117_600}, StdDev: {343}, Count: {users}, Outside: {0}, Histogram: {users}}},
		{"two heaps side by side", []Point{{500, 600_000}, {501, 400_000}}, map[Statistic][]int64{
			Median: {500}, Quantile: {501}, Quantiles: {500, 501}, Mode: {500}, Mean: {500}, Sum: {500_400_000},
			TrimmedMean: {500}, Variance: {0}, StdDev: {0}, Count: {users}, Outside: {0}, Histogram: {users}}},
	} {
		s := NewSample(g, c.points)
		for _, q := range everyQuery(g) {
			m := build(t, q)
			name := fmt.Sprintf("%s: %s by %s", c.name, q.Statistic, m.Name())
			const draws = 15
			found := 0
			for i := range draws {
				public := Public{}
				if i%2 == 1 {
					public.Users = &NoisyCount{Value: users, Epsilon: 1}
				}
				d, err := m.Draw(s, public, random)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				off := int64(0)
				for j, v := range d.Values {
					if !possible(q, m, v.Number) {
						t.Fatalf("%s: %v", name, d.Values)
					}
					x := gridPoint(t, q, m, v.Number)
					want := c.want[q.Statistic][j]
					off = max(off, max(x-want, want-x)-pointsOff(g, q, want))
					if r := v.RankError95; math.IsInf(r, 0) || r < 0 || math.IsNaN(r) == boundsErrors(m) {
						t.Fatalf("%s: rank error %v", name, r)
					}
					if finite(v.PLow) && !(0 <= v.PLow && v.PLow <= v.PHigh && v.PHigh <= 1) {
						t.Fatalf("%s: percentiles %v to %v", name, v.PLow, v.PHigh)
					}
				}
				if off <= 0 {
					found++
				}
			}
			if q.Mechanism == "mid_rank" && q.Statistic == Median && c.name == "two heaps" {
				// A documented weakness: between unequal heaps its score is better than on the larger one.
				if found > 0 {
					t.Errorf("%s: finds the heap, other than its documentation says", name)
				}
				continue
			}
			// The heavy tails of some noises sometimes miss. Half of the draws miss only if the law is wrong.
			if found <= draws/2 {
				t.Errorf("%s: found in %d of %d draws", name, found, draws)
			}
		}
	}
}

// boundsErrors tells which mechanisms state a rank error.
func boundsErrors(m Mechanism) bool {
	switch m := m.(type) {
	case *ranks:
		return !m.unbounded
	case *joint, *split:
		return true
	}
	return false
}

// The draws of a release that makes several add up to its charge: each one alone costs close to its share, and all
// together close to ε, on the worst pair of neighbours.
func TestPartsAddUp(t *testing.T) {
	const points, users, epsilon = 3, 7, 1.0
	g := smallGrid(t, points)
	measure := Uniform(g)
	parts := func(m Mechanism) []*ranks {
		switch m := m.(type) {
		case *split:
			return m.parts
		case *interval:
			return []*ranks{m.estimate, m.side, m.side}
		}
		t.Fatalf("%T has no parts", m)
		return nil
	}
	for _, q := range []Query{
		{Statistic: Quantiles, Mechanism: "split", P: ps("0.5")},
		{Statistic: Quantiles, Mechanism: "split", P: ps("0.25", "0.75")},
		{Statistic: Quantiles, Mechanism: "split", P: ps("0.25", "0.5", "0.75")},
		{Statistic: Median, Interval: new(dec("0.9"))},
	} {
		q.Grid, q.Epsilon = g, dec("1")
		m := build(t, q)
		name := strings.TrimSpace(fmt.Sprint(m.Name(), " ", q.P))
		charged := m.Promise().Epsilon.InexactFloat64()
		shares, lost := 0.0, 0.0
		for _, r := range parts(m) {
			share := 1 / float64(r.share)
			law := func(h []int64) []float64 { return r.law(sampleOf(g, h), 1, measure) }
			loss := dptest.MaxLogRatio(points, users, law)
			if loss > share*epsilon*(1+1e-9) || loss < 0.5*share*epsilon {
				t.Errorf("%s: a part of ε/%d loses %v", name, r.share, loss)
			}
			shares += share
			lost += loss
		}
		if math.Abs(shares-1) > 1e-12 || lost > charged*(1+1e-9) {
			t.Errorf("%s: shares of %v in all, %v is lost, %v is charged", name, shares, lost, charged)
		}
		all := func(h []int64) []float64 {
			law := []float64{1}
			for _, r := range parts(m) {
				var next []float64
				for _, p := range law {
					for _, own := range r.law(sampleOf(g, h), 1, measure) {
						next = append(next, p*own)
					}
				}
				law = next
			}
			return law
		}
		joint := dptest.MaxLogRatio(points, users, all)
		t.Logf("%s: parts lose %.3f ε, all together %.3f ε", name, lost, joint)
		if joint > charged*(1+1e-9) || joint < 0.5*charged {
			t.Errorf("%s: ε = %v is charged, %v is lost", name, charged, joint)
		}
	}
}

// All mechanisms accept every valid ε and grid, for any data and beside any count. Quantiles have more extremes, which
// are in tests of their own.
func TestEveryExtreme(t *testing.T) {
	random := rand.NewChaCha8([32]byte{32})
	grids := []*Grid{smallGrid(t, 2), smallGrid(t, 3), smallGrid(t, 60001), grid(t, "0", "9007199254740992", "1"),
		grid(t, "-4503599627370496", "4503599627370496", "1")}
	counts := []*NoisyCount{nil, {Value: 0, Epsilon: 1e6}, {Value: 1 << 62, Epsilon: 1e-9}}
	for _, g := range grids {
		for _, epsilon := range []string{"0.0001", "0.123456789", "50", "1000000"} {
			for _, q := range everyQuery(g) {
				q.Epsilon = dec(epsilon)
				if refused(t, q) {
					continue
				}
				m := build(t, q)
				for i, points := range [][]Point{nil, {{1, 1}}, {{0, 1}, {g.last, 1}}, {{-1, 1000}, {g.last + 1, 1000}},
					{{g.last, 100_000}}} {
					for _, users := range counts {
						d := draw(t, m, NewSample(g, points), Public{Users: users}, random)
						checkExtreme(t, q, m, d, i == 4 && users == nil && epsilon == "1000000")
					}
				}
			}
		}
	}
}

// checkExtreme checks that a draw is possible. It is sure if it is of so many users at the end of the grid, with such
// an ε, that nothing else is possible, except for the effect of one user on a mean.
func checkExtreme(t *testing.T, q Query, m Mechanism, d Draw, sure bool) {
	t.Helper()
	name := fmt.Sprintf("%s by %s, ε = %s, N = %d: %v", q.Statistic, q.Mechanism, q.Epsilon, q.Grid.last, d)
	if len(d.Values) != max(1, len(q.P)) || !slices.IsSortedFunc(d.Values, func(a, b Value) int {
		return cmp.Compare(a.Number, b.Number)
	}) {
		t.Fatal(name)
	}
	for _, v := range d.Values {
		if !possible(q, m, v.Number) || q.Statistic == Mean && v.Error95 < 0 {
			t.Error(name)
		}
		off, far := int64(0), q.Grid.last-gridPoint(t, q, m, v.Number)
		switch q.Statistic {
		case Mean, TrimmedMean:
			off = q.Grid.last / 25_000
		case Variance, StdDev: // the noise is that of 0, with scale W²/(ε·15/16·n) < 0.04
			off, far = 1, q.Grid.last-far
		}
		if sure && !m.Counts() && q.Statistic != Sum && far > off {
			t.Errorf("%s from users at the end", name)
		}
	}
}

// refused reports whether a query is one that New must refuse: the calibration of Gaussian noise is not valid for a
// large ε, and a variance has room for 2^28 steps.
func refused(t *testing.T, q Query) bool {
	t.Helper()
	if (q.Statistic == Variance || q.Statistic == StdDev) && q.Grid.last > mostVarianceSteps {
		if _, err := New(q); err == nil || !strings.Contains(err.Error(), "2^28") {
			t.Errorf("%s by %s, N = %d: %v; want an error that says how many steps it takes", q.Statistic, q.Mechanism,
				q.Grid.last, err)
		}
		return true
	}
	if q.Mechanism != "smooth_gaussian" || q.Epsilon.LessThan(dec("1000000")) {
		return false
	}
	if _, err := New(q); err == nil || !strings.Contains(err.Error(), "epsilon 1000000") {
		t.Errorf("%s by %s at ε = %s: %v", q.Statistic, q.Mechanism, q.Epsilon, err)
	}
	return true
}

// Noise wider than 62 bits is added before anything is cut. If it were cut on its own, the place of the cut, at 2^62
// more, would reveal the value.
func TestCountIsCutWithItsNoise(t *testing.T) {
	g := smallGrid(t, 10)
	s := NewSample(g, []Point{{3, 1_000_000}})
	m := build(t, Query{Statistic: Count, Epsilon: dec("0.000000000000000001"), Grid: g})
	random := rand.NewChaCha8([32]byte{33})
	const most = int64(1) << 62
	cut := 0
	for range 3000 {
		d := draw(t, m, s, Public{}, random)
		if x := d.Values[0].Number; x == most {
			cut++
		} else if x > most-2_000_000 || x < 0 { // a chance of 10⁻¹⁴ a draw
			t.Fatalf("a count of %d", x)
		}
	}
	if cut < 1 || cut > 50 { // each with probability e^{−2^62/10^18}/2 = 0.005; false alarm below 10⁻⁶
		t.Errorf("%d of 3000 counts are cut", cut)
	}
}
