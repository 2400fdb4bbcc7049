package smooth

import (
	"math/rand/v2"
	"testing"
)

// Every draw is on the grid: for ε from 10^−9 to 10^6, grids from one point to 2^53, and from no users to ten million.
func TestExtremes(t *testing.T) {
	random := rand.NewChaCha8([32]byte{3})
	statistics := []Spec{
		{Statistic: "mean"},
		{Statistic: "trimmed_mean", Trim: dec("0.05")},
		{Statistic: "trimmed_mean", Trim: dec("0.499999999999999999")},
		{Statistic: "median"},
		{Statistic: "quantile", P: dec("0.01")},
	}
	turn := 0 // each noise, ε and grid is tried with another statistic
	for _, s := range allNoises() {
		for _, epsilon := range []string{"0.000000001", "0.0001", "1", "50", "1000000"} {
			s.Epsilon = dec(epsilon)
			for _, last := range []int64{0, 1, 1000, 1 << 53} {
				statistic := statistics[turn%len(statistics)]
				s.Statistic, s.Trim, s.P, s.Last = statistic.Statistic, statistic.Trim, statistic.P, last
				turn++
				m, err := New(s)
				if err != nil {
					if epsilon == "1000000" && s.Noise == "gaussian" ||
						len(epsilon) == 2 && s.Noise == "laplace" && s.Published ||
						epsilon == "1000000" && s.Noise == "laplace" && s.Published {
						continue // outside the range of the published calibrations
					}
					t.Fatalf("%s, ε = %s: %v", s.Noise, epsilon, err)
				}
				for _, sample := range [][2][]int64{
					{{}, {}},
					{{last}, {1}},
					{{0}, {2}},
					{{last / 2}, {1000}},
					{{0, last}, {1, 1}},
					{{0, last / 3, last}, {5000000, 4999999, 1}},
				} {
					if last < 3 && len(sample[0]) > 1 || len(sample[0]) == 3 && s.Trim.Cmp(dec("0.4")) > 0 {
						continue
					}
					index, err := m.Draw(NewValues(sample[0], upTo(sample[1])), random)
					if err != nil || index < 0 || index > last {
						t.Fatalf("%s %s, ε = %s, N = %d: drew %d, %v", s.Noise, s.Statistic, epsilon, last, index, err)
					}
				}
			}
		}
	}
}

// With almost no noise the result is the rounded statistic.
func TestStatisticIsReleased(t *testing.T) {
	random := rand.NewChaCha8([32]byte{4})
	for _, c := range []struct {
		spec Spec
		want int64
	}{
		{Spec{Statistic: "mean"}, 372},                             // 11150/30
		{Spec{Statistic: "trimmed_mean", Trim: dec("0.2")}, 367},   // without six at each end, 6600/18
		{Spec{Statistic: "trimmed_mean", Trim: dec("0.499")}, 300}, // the two middle values
		{Spec{Statistic: "median"}, 300},
		{Spec{Statistic: "quantile", P: dec("0.9")}, 600}, // rank 27
		{Spec{Statistic: "quantile", P: dec("0.01")}, 100},
	} {
		s := c.spec
		s.Noise, s.Epsilon, s.Last = "power", dec("1000"), 1000
		values, counts := []int64{100, 300, 600, 950}, []int64{6, 14, 9, 1}
		m, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		index, err := m.Draw(NewValues(values, upTo(counts)), random)
		if err != nil {
			t.Fatal(err)
		}
		if c.want != index {
			t.Errorf("%s: drew %d, want %d", s.Statistic, index, c.want)
		}
	}
}

// The interface hides the order of the values and how they are split into counts, and clamping happens earlier. So this
// only checks that the same randomness gives the same draw.
func TestDrawIsAFunctionOfTheSample(t *testing.T) {
	m, err := New(Spec{Statistic: "trimmed_mean", Trim: dec("0.2"), Noise: "power", Epsilon: dec("1"), Last: 100})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(seed byte, values, counts []int64) int64 {
		index, err := m.Draw(NewValues(values, upTo(counts)), rand.NewChaCha8([32]byte{seed}))
		if err != nil {
			t.Fatal(err)
		}
		return index
	}
	for seed := range byte(50) {
		if a, b := draw(seed, []int64{3, 40, 90}, []int64{2, 3, 1}),
			draw(seed, []int64{3, 3, 40, 40, 90}, []int64{1, 1, 1, 2, 1}); a != b {
			t.Errorf("seed %d: drew %d and %d", seed, a, b)
		}
	}
}
