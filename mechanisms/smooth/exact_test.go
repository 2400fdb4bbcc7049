package smooth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/louver/louver/mechanisms/exact"
)

// allNoises returns one spec for each noise and calibration.
func allNoises() []Spec {
	return []Spec{
		{Noise: "power"},
		{Noise: "cauchy"},
		{Noise: "cauchy", Gamma: dec("1.5")},
		{Noise: "cauchy", Gamma: dec("12")},
		{Noise: "cauchy", Published: true},
		{Noise: "student_t"},
		{Noise: "student_t", Published: true},
		{Noise: "laplace", Delta: dec("0.000001")},
		{Noise: "laplace", Delta: dec("0.000001"), Published: true},
		{Noise: "gaussian", Delta: dec("0.000001")},
		{Noise: "lln"},
		{Noise: "uln"},
		{Noise: "arsinh"},
		{Noise: "arsinh", Published: true},
	}
}

// drawn returns a release with its noise drawn.
func drawn(m *Mechanism, values, counts []int64, s *exact.Source) *release {
	d := m.prepare(NewValues(values, upTo(counts)).within(0, m.last, 1))
	d.negative = s.Coin(1, 2)
	m.noise.draw(s, &d.variates)
	return d
}

// Long arithmetic agrees with every decision of float64, and its enclosure of the noise contains that of 400 bits.
func TestFloatAgreesWithLongArithmetic(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	source := exact.NewSource(rand.NewChaCha8([32]byte{2}))
	values, counts := latencies(50, 1<<30)
	for _, s := range allNoises() {
		for range 12 {
			s.Statistic, s.Trim, s.Last = "trimmed_mean", dec("0.1"), 1<<30
			s.Epsilon = dec([]string{"0.001", "0.3", "1", "6"}[rng.IntN(4)])
			m, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			d := drawn(m, values, counts, source)
			index, _ := d.round()

			const prec = 400
			y := d.scale.long(m.beta, prec).Quo(m.noise.alpha(prec)).Mul(m.noise.long(&d.variates, prec))
			near := d.scale.near().Quo(m.nearAlpha).Mul(m.noise.short(&d.variates))
			if big.NewFloat(near.lo).Cmp(y.Hi) > 0 || big.NewFloat(near.hi).Cmp(y.Lo) < 0 {
				t.Fatalf("%s: [%v, %v] does not hold %.20g", s.Noise, near.lo, near.hi, y.Lo)
			}
			if near.hi > near.lo*(1+1e-9) && near.hi > near.lo+1e-3 {
				t.Errorf("%s: [%v, %v] is a poor enclosure", s.Noise, near.lo, near.hi)
			}
			fraction := d.centre.fraction()
			step, ok := d.stepLong(y, exact.FromRat(fraction.exact, prec), m.last-d.centre.whole, -d.centre.whole)
			if !ok || d.centre.whole+step != index {
				t.Fatalf("%s: float64 says %d, 400 bits %d (%v)", s.Noise, index, d.centre.whole+step, ok)
			}
		}
	}
}

// words reads the given 64-bit words and then random ones.
func words(first ...uint64) io.Reader {
	var b []byte
	for _, w := range first {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return io.MultiReader(bytes.NewReader(b), rand.NewChaCha8([32]byte{9}))
}

// If a uniform number puts the result next to a border of two grid points, it gets more digits, and they give the right
// answer. A little further away float64 decides.
func TestRefinement(t *testing.T) {
	m, err := New(Spec{Statistic: "trimmed_mean", Trim: dec("0.1"), Noise: "power", Epsilon: dec("0.7"), Last: 1000})
	if err != nil {
		t.Fatal(err)
	}
	values, counts := []int64{17, 180, 260, 333, 700}, []int64{3, 4, 5, 3, 2}
	for _, sign := range []int64{1, -1} {
		for steps := int64(1); steps < 150; steps += 37 {
			// T ± (g/α)(U^{−β/ε} − 1) = border  ⇔  U = (1 + (border − T)α/g)^{−ε/β}
			const prec = 300
			d := m.prepare(NewValues(values, upTo(counts)).within(0, m.last, 1))
			rest := exact.FromRat(d.centre.fraction().exact, prec)
			distance := exact.FromInt(steps, prec).Sub(rest)
			first := uint64(0) // negative
			if sign > 0 {
				first = 1 << 63
			} else {
				distance = exact.FromInt(steps, prec).Add(rest)
			}
			ratio := distance.Mul(m.noise.alpha(prec)).Quo(d.scale.long(m.beta, prec))
			u := pow(ratio.Add(exact.FromInt(1, prec)), exact.FromInt(-8, prec))
			border, _ := new(big.Float).SetMantExp(u.Lo, 64).Uint64()

			for delta := int64(-1 << 30); delta <= 1<<30; delta += 1 << 29 {
				for _, delta := range []int64{delta, delta>>20 - 1} {
					index, refined, err := m.draw(NewValues(values, upTo(counts)).within(0, m.last, 1),
						words(first, border+uint64(delta)))
					if err != nil {
						t.Fatal(err)
					}
					// A smaller U is a larger |Z|, which crosses the border.
					beyond := int64(0)
					if delta < 0 {
						beyond = 1
					}
					want := d.centre.whole + steps - 1 + beyond
					if sign < 0 {
						want = d.centre.whole - steps - beyond
					}
					if delta != 0 && index != want {
						t.Fatalf("border %d·%d, U off by %d·2^−64: drew %d, want %d", sign, steps, delta, index, want)
					}
					if close := delta > -2000 && delta < 2000; close && refined == 0 {
						t.Fatalf("border %d·%d, U off by %d·2^−64: float64 decided", sign, steps, delta)
					}
				}
			}
		}
	}
	if _, refined, _ := m.draw(NewValues(values, upTo(counts)).within(0, m.last, 1),
		words(1<<63, 1<<62+12345)); refined != 0 {
		t.Errorf("a number far from any border was refined %d times", refined)
	}
}

// If T is halfway between two points and the noise is too small for any arithmetic, the sign of the noise decides.
func TestTinyNoiseBreaksTies(t *testing.T) {
	m, err := New(Spec{Statistic: "median", Noise: "power", Epsilon: dec("1000000"), Last: 10})
	if err != nil {
		t.Fatal(err)
	}
	for first, want := range map[uint64]int64{0: 4, 1 << 63: 5} {
		if index, _, err := m.draw(NewValues([]int64{4, 5}, []int64{500, 1000}).within(0, m.last, 1),
			words(first, 1<<62)); err != nil || index != want {
			t.Errorf("drew %d, %v, want %d", index, err, want)
		}
	}
}

func TestFailingReader(t *testing.T) {
	broken := errors.New("broken")
	for _, s := range allNoises() {
		s.Statistic, s.Epsilon, s.Last = "median", dec("1"), 100
		m, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Draw(NewValues([]int64{5, 7}, []int64{1, 2}),
			iotest.ErrReader(broken)); !errors.Is(err, broken) {
			t.Errorf("%s: error %v", s.Noise, err)
		}
	}
}
