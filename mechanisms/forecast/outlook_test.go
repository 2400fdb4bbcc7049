package forecast

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms"
)

// What is foretold without a shape is what most draws say of themselves, for quantiles of fine buckets, shares and
// counts: a third of the users that end the noise are noise, and one and a half times as many are not. A third of those
// from whom on a share or a count is useful do not make it so, and one and a half times as many do.
//
// The draws are from fixed bits, so the answer is the same every time.
func TestOutlookAgainstDraws(t *testing.T) {
	above := func(statistic mechanisms.Statistic) mechanisms.Query {
		return mechanisms.Query{Statistic: statistic, Above: new(dec("1000"))}
	}
	for _, c := range []computation{
		{users{"lognormal:120,0.6", nil, [3]string{"0", "60000", "1"}, 0},
			&mechanisms.Bucketing{Native: true, Scale: 3}, false, "0.1", nil},
		{users{"lognormal:120,1.5", nil, [3]string{"0", "60000", "1"}, 0},
			&mechanisms.Bucketing{Native: true, Scale: 2}, true, "1", nil},
	} {
		c.figures = []mechanisms.Query{quantileOf("0.5"), quantileOf("0.9"), quantileOf("0.99"),
			above(mechanisms.Share), above(mechanisms.Count), {Statistic: mechanisms.Count}}
		q := c.query(t)
		m, s := build(t, q), shape(t, c.shape, q.Grid)
		for _, of := range c.figures {
			name := fmt.Sprintf("%s: %s %s", c, of.Statistic, of.P)
			o, ok, err := OutlookOf(q, m, of)
			ranked := of.Statistic.Family() == mechanisms.OfRanks
			if err != nil || !ok || o.Noise < 1 || ranked != (o.Useful == 0) || !ranked && o.Useful < 2*o.Noise {
				t.Fatalf("%s: %+v, %v, %v", name, o, ok, err)
			}
			for n, is := range map[int64]func(mechanisms.Quality) bool{
				o.Noise / 3:      func(x mechanisms.Quality) bool { return x == mechanisms.Noise },
				o.Noise * 8 / 5:  func(x mechanisms.Quality) bool { return x != mechanisms.Noise },
				o.Useful * 8 / 5: func(x mechanisms.Quality) bool { return x == mechanisms.Useful },
				o.Useful / 3:     func(x mechanisms.Quality) bool { return x != mechanisms.Useful },
			} {
				if ranked && n == 0 {
					continue // nothing is foretold
				}
				if most := mostDrawn(t, q, m, of, s, n); !is(most) {
					t.Errorf("%s: %d users: %s, foretold %+v", name, n, most, o)
				}
			}
		}
	}
}

// mostDrawn returns the quality that most draws of n users of a shape give a figure.
func mostDrawn(t *testing.T, q mechanisms.Query, m mechanisms.Mechanism, of mechanisms.Query, s *Shape,
	n int64) mechanisms.Quality {
	t.Helper()
	of.Grid = q.Grid
	buckets := mechanisms.Buckets(m)
	noise := mechanisms.HistogramNoise(m.Name(), q.Epsilon.InexactFloat64(), buckets.Levels())
	f, err := mechanisms.NewComputed(of, buckets)
	if err != nil {
		t.Fatal(err)
	}
	x, bits, times := newBucketSampler(s, buckets, q.Grid, n), rand.NewChaCha8([32]byte{7}), map[mechanisms.Quality]int{}
	for range 201 {
		draw, err := m.Draw(x.next().sample(q.Grid), mechanisms.Public{}, bits)
		if err != nil {
			t.Fatal(err)
		}
		quality := mechanisms.Noise
		if v, ok := f.Of(buckets.Estimate(draw.Raw, draw.Coarse, noise, 1)); ok {
			quality = v.Quality
		}
		times[quality]++
	}
	return mostOf(times)
}

// The rules of thumb are those that are documented, and a mode has none.
func TestOutlook(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	of := func(rho bool, scale int, figure mechanisms.Query) Outlook {
		q := mechanisms.Query{Statistic: mechanisms.Histogram, Epsilon: dec("0.1"), ZCDP: rho, Grid: g,
			Buckets: &mechanisms.Bucketing{Native: true, Scale: scale}}
		o, ok, err := OutlookOf(q, build(t, q), figure)
		if err != nil || ok != (figure.Statistic != mechanisms.Mode) {
			t.Fatalf("%s: %v, %v", figure.Statistic, ok, err)
		}
		return o
	}
	for _, c := range []struct {
		rho  bool
		p    string
		want Outlook
	}{{false, "0.99", Outlook{25000, 0}}, {true, "0.99", Outlook{13000, 0}}, {false, "0.9", Outlook{2500, 0}},
		{false, "0.1", Outlook{2500, 0}}, {false, "0.5", Outlook{500, 0}}, {false, "0.7", Outlook{840, 0}}} {
		if got := of(c.rho, 3, quantileOf(c.p)); got != c.want {
			t.Errorf("p %s, ρ %v: %+v, want %+v", c.p, c.rho, got, c.want)
		}
	}
	if p99 := of(false, 3, quantileOf("0.99")); p99.Of(1e6) != "" || p99.Of(3000) != mechanisms.Noise {
		t.Errorf("a quantile is %q and %q", p99.Of(1e6), p99.Of(3000))
	}
	of(false, 3, mechanisms.Query{Statistic: mechanisms.Mode})
	if o := (Outlook{10, 20}); o.Of(9) != mechanisms.Noise || o.Of(10) != mechanisms.Rough ||
		o.Of(20) != mechanisms.Useful {
		t.Errorf("%v %v %v", o.Of(9), o.Of(10), o.Of(20))
	}
}
