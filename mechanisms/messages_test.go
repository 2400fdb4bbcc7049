package mechanisms

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// The messages' sum equals the sum over all tuples, and the windows leave out only what they may.
func TestMessages(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		points := 2 + rng.IntN(5)
		g := smallGrid(t, points)
		h := make([]int64, points)
		for range rng.IntN(25) {
			h[rng.IntN(points)]++
		}
		s := sampleOf(g, h)
		m := jointWith(t, Query{Statistic: Quantiles, P: ps("0.2", "0.35", "0.8"), Epsilon: dec("0.7"), Grid: g},
			lopsided(points), 1)
		var count *NoisyCount
		if rng.IntN(2) == 0 {
			count = &NoisyCount{Value: rng.Int64N(30)}
		}
		sp := &spread{}
		sp.begin(s, 1, exact.NewSource(rand.NewChaCha8([32]byte{12})))
		var x messages
		x.begin(&m.ranksLaw, s, count, sp)
		x.widen(1e9)
		x.pass()
		total := 0.
		size := int64(points) << 1
		for a := range size {
			for b := a; b < size; b++ {
				for c := b; c < size; c++ {
					weight, before, level := 1., int64(0), int64(0)
					repeats := 1.
					for j, o := range []int64{a, b, c} {
						if j > 0 && o == []int64{a, b, c}[j-1] {
							repeats++
						} else {
							repeats = 1
						}
						weight *= float64(m.fine.weight[m.fine.cell(o)]) / repeats
						level += x.penalty(j, sp.below(o)-before)
						before = sp.below(o)
					}
					level += x.penalty(3, s.n-before)
					total += weight * math.Exp(-x.rate.Float()*float64(level))
				}
			}
		}
		if x.slack < leastSlack || x.slack > leastSlack+1e-6 {
			t.Fatalf("%v count %v: slack %v", h, count, x.slack)
		}
		if got := x.logA - x.slack; math.Abs(got-math.Log(total)) > 1e-9 {
			t.Fatalf("%v count %v: the messages sum to e^%v, the tuples to e^%v", h, count, got, math.Log(total))
		}
	}
}

// If A is too small, the draw reports it and releases nothing. Here A is too small by a hundredth, which no test of the
// law would notice.
func TestMessagesRefuseProbabilitiesAboveOne(t *testing.T) {
	g := smallGrid(t, 40)
	s := sampleOf(g, make([]int64, 40))
	m := build(t, Query{Statistic: Quantiles, P: ps("0.2", "0.8"), Epsilon: dec("0.7"), Grid: g}).(*joint)
	source := exact.NewSource(rand.NewChaCha8([32]byte{17}))
	sp := &spread{}
	sp.begin(s, m.digits, source)
	var x messages
	x.begin(&m.ranksLaw, s, nil, sp)
	if x.draw(source); x.err != nil {
		t.Fatal(x.err)
	}
	x.logA -= 0.01
	if x.draw(source); x.err == nil {
		t.Error("a tuple was kept with a probability of more than 1")
	}
}

// The slack stays close to its minimum for a million users and a hundred thousand values, with and without a count.
func TestMessagesRoundings(t *testing.T) {
	g := smallGrid(t, 100_000)
	points := make([]Point, 100_000)
	for i := range points {
		points[i] = Point{int64(i), 10}
	}
	s := NewSample(g, points)
	source := exact.NewSource(rand.NewChaCha8([32]byte{18}))
	for _, epsilon := range []string{"0.01", "1", "100000"} {
		m := build(t, Query{Statistic: Quantiles, P: ps("0.1", "0.5", "0.9", "0.999"), Epsilon: dec(epsilon),
			Grid: g}).(*joint)
		for _, count := range []*NoisyCount{nil, {Value: 999_990}} {
			sp := &spread{}
			sp.begin(s, m.digits, source)
			var x messages
			x.begin(&m.ranksLaw, s, count, sp)
			t.Logf("ε = %s: roundings of at most %.2g in windows of %d", epsilon,
				x.slack-leastSlack, len(x.window[0].out))
			if x.slack > 2*leastSlack {
				t.Errorf("ε = %s: slack %v", epsilon, x.slack)
			}
			if x.draw(source); x.err != nil {
				t.Errorf("ε = %s: %v", epsilon, x.err)
			}
		}
	}
}

func TestSpread(t *testing.T) {
	g := smallGrid(t, 4)
	s := sampleOf(g, []int64{3, 0, 40, 5})
	for _, digits := range []int{0, 1, 4, 16} {
		sp := &spread{}
		sp.begin(s, digits, exact.NewSource(rand.NewChaCha8([32]byte{13})))
		last := int64(0)
		for i := int64(1); i <= s.n; i++ {
			y := sp.place(i)
			if y < last || y>>digits != s.values[s.at(i)] {
				t.Fatalf("user %d at place %d of 2^%d after %d", i, y, digits, last)
			}
			if below := sp.below(y); below >= i || sp.below(y+1) < i {
				t.Fatalf("%d users below place %d of user %d", below, y, i)
			}
			last = y
		}
	}
	// Uniform places: 20,000 users on 8 of them.
	many := sampleOf(g, []int64{20000, 0, 0, 0})
	sp := &spread{}
	sp.begin(many, 3, exact.NewSource(rand.NewChaCha8([32]byte{14})))
	counts := make([]int64, 8)
	for i := range many.n {
		counts[sp.place(i+1)]++
	}
	if statistic, threshold := dptest.ChiSquare(counts,
		dptest.Normalise([]float64{1, 1, 1, 1, 1, 1, 1, 1})); statistic > threshold {
		t.Errorf("places %v: χ² = %.1f", counts, statistic)
	}
}
