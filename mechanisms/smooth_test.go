package mechanisms

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
	"github.com/louver/louver/mechanisms/smooth"
)

// The mechanism looks for an interval only if few users are trimmed.
func TestTrimmedIsCutWhereFewAreTrimmed(t *testing.T) {
	random := rand.NewChaCha8([32]byte{71})
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		name     string
		trim     string
		n        int
		expected int64
		counted  bool
		cut      bool
	}{
		{"own count, few", "0.05", 200, 0, false, true},
		{"own count, many", "0.05", 2000, 0, false, false},
		{"few expected", "0.05", 10, 599, false, true},
		{"many expected", "0.05", 10, 600, false, false},
		{"few released", "0.05", 600, 0, true, true},
		{"many released", "0.05", 602, 0, true, false},
		{"nothing trimmed", "0", 100000, 0, true, true},
	} {
		q := Query{Statistic: TrimmedMean, Trim: dec(c.trim), Epsilon: dec("1"), Grid: g, ExpectedUsers: c.expected}
		m, s := build(t, q), latencies(g, c.n)
		public := Public{}
		if c.counted {
			public.Users = &NoisyCount{Value: int64(c.n), Epsilon: 1}
		}
		for range 5 { // the own count is off by this much with probability e^{−400/16}
			d := draw(t, m, s, public, random)
			if (d.Clip != nil) != c.cut {
				t.Errorf("%s: cut to %v", c.name, d.Clip)
			}
			if got := q.Judge(d.Values[0].Bound, 0, 100, nil); got != "" { // enough users, and no public error
				t.Errorf("%s: quality %q", c.name, got)
			}
			if scale := q.Scale(m); d.Clip != nil && (scale.Float(d.Values[0].Number) < scale.Float(d.Clip[0]) ||
				scale.Float(d.Values[0].Number) > scale.Float(d.Clip[1])) {
				t.Errorf("%s: %d, but cut to %v", c.name, d.Values[0].Number, d.Clip)
			}
		}
	}
}

// powerLaw is the law of smooth_power on values cut to l..h, from its definition: T ± (g/α)·|Z|, P(|Z| > z) = (1+z)^−8,
// rounded. T and g/α come from draws on the same values in 10^12 times finer steps, with chosen random bits.
func powerLaw(t *testing.T, m *smooth.Mechanism, s *Sample, l, h int64) []float64 {
	t.Helper()
	last := h - l
	if last == 0 {
		return []float64{1}
	}
	const fine, small = 1e12, 1e-6
	at := func(negative bool, u float64) float64 {
		var bits [16]byte
		if !negative {
			bits[7] = 0x80
		}
		binary.LittleEndian.PutUint64(bits[8:], uint64(math.Ldexp(u, 63))<<1)
		x, err := m.DrawWithin(s.added(), l, h, fine,
			io.MultiReader(bytes.NewReader(bits[:]), rand.NewChaCha8([32]byte{})))
		if err != nil {
			t.Fatal(err)
		}
		return float64(x) / fine
	}
	centre := at(false, 1-0x1p-53)
	down := centre > float64(last)/2 // on the side with room
	scale := math.Abs(at(down, math.Pow(1+small, -8))-centre) / small
	above := func(x float64) float64 { return math.Pow(1+x/scale, -8) / 2 } // P(T + (g/α)Z > T + x), x ≥ 0
	if scale == 0 {
		above = func(float64) float64 { return 0 }
	}
	law := make([]float64, last+1)
	for i := range law {
		lo, hi := float64(i)-0.5-centre, float64(i)+0.5-centre
		if i == 0 {
			lo = math.Inf(-1)
		}
		if int64(i) == last {
			hi = math.Inf(1)
		}
		beyond := func(x float64) float64 {
			if math.IsInf(x, 0) {
				return 0
			}
			return above(math.Abs(x))
		}
		switch {
		case lo >= 0:
			law[i] = beyond(lo) - beyond(hi)
		case hi <= 0:
			law[i] = beyond(hi) - beyond(lo)
		default:
			law[i] = 1 - beyond(lo) - beyond(hi)
		}
	}
	return law
}

// trimmedPlan is a plan of a trimmed mean, and its probability.
type trimmedPlan struct {
	plan
	chance float64
}

// trimmedPlans is the law of the plan that the own count of n users gives, with plans that draw alike merged.
func trimmedPlans(m *clippedTrimmed, n int64) []trimmedPlan {
	plans := map[string]*trimmedPlan{}
	epsilon, _ := m.epsilon.Float64()
	noise, side := noiseLaw(m.own, 1, 1, int64(1000/epsilon)+1)
	for i, q := range noise {
		information := new(big.Rat).Mul(m.epsilon, big.NewRat(max(0, n+int64(i)-side), 1))
		p := m.planFor(information.Sub(information, m.unit), 1)
		key := fmt.Sprint(m.trimsFew(p), m.last>>p.halvings)
		if plans[key] == nil {
			plans[key] = &trimmedPlan{}
		}
		plans[key].plan = p
		plans[key].chance += q
	}
	var all []trimmedPlan
	for _, key := range slices.Sorted(maps.Keys(plans)) {
		all = append(all, *plans[key])
	}
	return all
}

// Everything is published jointly: whether to look for an interval, the interval, and the mean. The plans are those of
// each number of users.
func clippedTrimmedLaw(t *testing.T, m *clippedTrimmed, plans map[int64][]trimmedPlan, h []int64) []float64 {
	t.Helper()
	n := total(h)
	if plans[n] == nil {
		plans[n] = trimmedPlans(m, n)
	}
	s := sampleOf(m.grid, h)
	var law []float64
	for _, p := range plans[n] {
		if !m.trimsFew(p.plan) {
			for _, x := range powerLaw(t, m.draws[1].whole, s, 0, m.grid.last) {
				law = append(law, p.chance*x)
			}
			continue
		}
		for _, x := range intervalLaw(m.clipping, h, p.plan, 1) {
			for _, y := range powerLaw(t, m.draws[1].rest, s, x.l, x.h) {
				law = append(law, p.chance*x.p*y)
			}
		}
	}
	return law
}

func TestClippedTrimmedPrivacy(t *testing.T) {
	const points, users = 4, 4
	g := smallGrid(t, points)
	for _, c := range []struct {
		trim    string
		epsilon float64
	}{{"0.25", 1}, {"0.25", 3}, {"0.4", 1}} {
		dptest.CheckPrivacy(t, "trimmed by "+c.trim, points, users, c.epsilon, 0.5, func(e float64) dptest.Law {
			m := build(t, Query{Statistic: TrimmedMean, Trim: dec(c.trim), Epsilon: decimal.NewFromFloat(e),
				Grid: g}).(*clippedTrimmed)
			plans := map[int64][]trimmedPlan{}
			return func(h []int64) []float64 { return clippedTrimmedLaw(t, m, plans, h) }
		})
	}
}

// Draws follow the joint law of the published interval and mean.
func TestClippedTrimmedSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{72})
	h := []int64{3, 9, 12, 4, 0, 1}
	g := smallGrid(t, len(h))
	q := Query{Statistic: TrimmedMean, Trim: dec("0.1"), Epsilon: dec("2"), Grid: g, ExpectedUsers: 60}
	m := build(t, q).(*clippedTrimmed)
	m.parts = 1
	last := g.last
	place := map[[2]int64]int{}
	size := 0
	for l := range last + 1 {
		for r := l; r <= last; r++ {
			place[[2]int64{l, r}] = size
			size += int(r - l + 1)
		}
	}
	p, s := m.plan(0, nil, nil), sampleOf(g, h)
	law := func(f float64) []float64 {
		q.Epsilon = dec("2").Mul(decimal.NewFromFloat(f))
		other := build(t, q).(*clippedTrimmed)
		all := make([]float64, size)
		for _, x := range intervalLaw(m.clipping, h, p, f) {
			for i, y := range powerLaw(t, other.draws[0].rest, s, x.l, x.h) {
				all[place[[2]int64{x.l, x.h}]+i] += x.p * y
			}
		}
		return dptest.Normalise(all)
	}
	counts := dptest.Counts(15000, size, func() int {
		d := draw(t, m, s, Public{}, random)
		return place[[2]int64{d.Clip[0], d.Clip[1]}] + int(d.Values[0].Number-d.Clip[0])
	})
	dptest.CheckSampler(t, "trimmed", counts, law)
}

// Whoever gives too small an ε is told of theirs, and not of the part that an interval leaves.
func TestTooSmallAnEpsilonIsQuotedAsGiven(t *testing.T) {
	for _, epsilon := range []string{"0.000000001", "0.0000000012"} {
		_, err := New(Query{Statistic: TrimmedMean, Trim: dec("0.1"), Epsilon: dec(epsilon), Grid: smallGrid(t, 10)})
		if want := "epsilon " + epsilon + "; want another one: the mechanism draws with parts of it"; err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s …", err, want)
		}
	}
}
