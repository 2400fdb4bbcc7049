package mechanisms

import (
	"crypto/rand"
	"fmt"
	"math"
	"math/big"
	"testing"
)

// TestLargeSums: sums of large amounts in fine steps do not stop at 2^62 steps. A thousandth of the sum is three times
// the largest value, and noise of an ε of 10 reaches it with a probability below e^{−20}, even with a third of ε.
func TestLargeSums(t *testing.T) {
	g := grid(t, "0", "9000000", "0.000000001")
	index, err := g.Parse([]byte("8999999"))
	if err != nil {
		t.Fatal(err)
	}
	s := NewSample(g, []Point{{index, 3000}})
	for _, q := range []Query{{Clip: "none"}, {}, {Mechanism: "clipped_gaussian", ZCDP: true}} {
		q.Statistic, q.Grid, q.Epsilon = Sum, g, dec("10")
		m := build(t, q)
		d := draw(t, m, s, Public{}, rand.Reader)
		value, want := q.Scale(m).Float(d.Values[0].Number), 3000*8999999.
		if math.Abs(value-want) > want/1000 || d.Values[0].Stopped() || !finite(d.Values[0].Error95) {
			t.Errorf("%s: %v, %+v; want %v", m.Name(), value, d.Values[0].Bound, want)
		}
		if step := q.Scale(m).Length(1).String(); step != "0.01" {
			t.Errorf("%s: published in units of %s, want 0.01", m.Name(), step)
		}
		if d.Clip != nil && q.ClipScale(m).Float(d.Clip[1]) > 9e6 {
			t.Errorf("%s: values are cut to %v", m.Name(), d.Clip)
		}
	}
}

// TestUnitsOfSums: the units follow from the grid alone, and are no coarser than needed.
func TestUnitsOfSums(t *testing.T) {
	for _, c := range []struct {
		lower, upper, step, want string
	}{
		{"0", "60000", "1", "1"},
		{"0", "1073741824", "1", "1"},   // 2^30 units
		{"0", "1073741825", "1", "10"},  // one more
		{"-1073741825", "0", "1", "10"}, // its size counts
		{"0", "10737418240", "1", "10"},
		{"0", "10737418250", "1", "100"},
		{"0", "10737418250", "5", "50"}, // units are of 5
		{"0", "9000000", "0.000000001", "0.01"},
	} {
		g := grid(t, c.lower, c.upper, c.step)
		for _, q := range []Query{{Clip: "none"}, {}} {
			q.Statistic, q.Grid, q.Epsilon = Sum, g, dec("1")
			m := build(t, q)
			if got := q.Scale(m).Length(1).String(); got != c.want {
				t.Errorf("%s to %s in steps of %s: %s publishes units of %s, want %s", c.lower, c.upper, c.step,
					m.Name(), got, c.want)
			}
		}
	}
}

// TestSumsAreRoundedToTheNearestUnit, ties upward, and half a unit is told as an error.
func TestSumsAreRoundedToTheNearestUnit(t *testing.T) {
	for _, c := range []struct{ sum, power, want int64 }{{14, 10, 1}, {15, 10, 2}, {-14, 10, -1}, {-15, 10, -1},
		{-16, 10, -2}, {7, 1, 7}, {-7, 1, -7}, {0, 100, 0}} {
		if got := coarser(big.NewInt(c.sum), c.power); got.Int64() != c.want {
			t.Errorf("%d in units of %d: %d, want %d", c.sum, c.power, got, c.want)
		}
	}
	// With so large an ε there is no noise.
	g := grid(t, "0", "5000000000", "1")
	q := Query{Statistic: Sum, Clip: "none", Grid: g, Epsilon: dec("1000000000000000")}
	m := build(t, q)
	d := draw(t, m, NewSample(g, []Point{{4_000_000_013, 2}}), Public{}, rand.Reader)
	if got := fmt.Sprint(q.Scale(m).Text(d.Values[0].Number), " ± ", d.Values[0].Error95); got != "8000000030 ± 5" {
		t.Errorf("two users with 4000000013: %s, want 8000000030 ± 5", got)
	}
}

// TestStoppedSums: where noise goes beyond the largest number, nothing is known of the error, and the sum is noise.
// Here noise of the scale 10^26 does so in all but one of 10^7 draws.
func TestStoppedSums(t *testing.T) {
	for lower, least := range map[string]int64{"-1000000000": -mostNumber, "0": 0} {
		g := grid(t, lower, "1000000000", "1")
		q := Query{Statistic: Sum, Clip: "none", Grid: g, Epsilon: dec("1e-17")}
		m, stopped := build(t, q), 0
		for range 40 {
			d := draw(t, m, NewSample(g, []Point{{g.last, 5}}), Public{}, rand.Reader)
			x := d.Values[0]
			if !x.Stopped() {
				continue
			}
			stopped++
			if x.Number != mostNumber && x.Number != least {
				t.Errorf("from %s: it stops at %d", lower, x.Number)
			}
			if !math.IsNaN(x.Error95) || q.Judge(x.Bound, 0, q.Scale(m).Float(x.Number), nil) != Noise {
				t.Errorf("from %s: error %v, quality %s; want none, noise", lower, x.Error95,
					q.Judge(x.Bound, 0, q.Scale(m).Float(x.Number), nil))
			}
		}
		if stopped == 0 {
			t.Errorf("from %s: no sum stopped", lower)
		}
	}
}
