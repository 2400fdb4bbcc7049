package mechanisms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// atoms is how many equally likely values a law of users' values is made of.
const atoms = 1 << 14

// shapes are laws of users' values around a level, as quantile functions.
var shapes = map[string]func(u, p float64) float64{
	"log-normal 0.3": func(u, _ float64) float64 { return math.Exp(0.3 * normal(u)) },
	"log-normal 0.6": func(u, _ float64) float64 { return math.Exp(0.6 * normal(u)) },
	"log-normal 1":   func(u, _ float64) float64 { return math.Exp(normal(u)) },
	"log-normal 1.5": func(u, _ float64) float64 { return math.Exp(1.5 * normal(u)) },
	"log-normal 2":   func(u, _ float64) float64 { return math.Exp(2 * normal(u)) },
	"log-normal 2.2": func(u, _ float64) float64 { return math.Exp(2.2 * normal(u)) },
	"log-normal 2.5": func(u, _ float64) float64 { return math.Exp(2.5 * normal(u)) },
	"normal":         func(u, _ float64) float64 { return 1 + 0.1*normal(u) },
	"uniform":        func(u, _ float64) float64 { return 2 * u },
	"pareto 1.2":     func(u, _ float64) float64 { return math.Pow(1-u, -1/1.2) - 0.8 },
	"ten values": func(u, _ float64) float64 {
		for i, share := range []float64{0.05, 0.1, 0.2, 0.25, 0.15, 0.1, 0.06, 0.04, 0.03} {
			if u -= share; u < 0 {
				return 0.25 * float64(i+1)
			}
		}
		return 2.5
	},
	"40 % zeros": func(u, _ float64) float64 {
		if u < 0.4 {
			return 0
		}
		return math.Exp(0.6 * normal((u-0.4)/0.6))
	},
	// The quantile p lies in a gap, whose ends differ by a factor of 5.
	"gap": func(u, p float64) float64 {
		if u < p {
			return math.Exp(0.1 * normal(u/p))
		}
		return 5 * math.Exp(0.1*normal((u-p)/(1-p)))
	},
}

// besideHeaps are laws whose median lies at or near the edge of a heap of equal values: zeros and spread values, and
// five prices. The number is the percentage of users up to that edge.
var besideHeaps = func() (names []string) {
	for _, percent := range []int{31, 35, 39, 43, 47, 51, 55, 59, 63, 67} {
		edge := float64(percent) / 100
		zeros, prices := fmt.Sprintf("%d zeros", percent), fmt.Sprintf("%d prices", percent)
		shapes[zeros] = func(u, _ float64) float64 {
			if u < edge {
				return 0
			}
			return math.Exp(0.6 * normal((u-edge)/(1-edge)))
		}
		shapes[prices] = func(u, _ float64) float64 {
			switch {
			case u < 0.1:
				return 0.25
			case u < 0.25:
				return 0.5
			case u < edge:
				return 1
			case u < 0.8:
				return 2.5
			}
			return 5
		}
		names = append(names, zeros, prices)
	}
	return names
}()

// normal returns the quantile u of the standard normal law.
func normal(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }

// tested are the shapes that bands are made for: all but gaps, and but tails heavier than those of log-normal 2.2.
var tested = []string{"40 % zeros", "log-normal 0.3", "log-normal 0.6", "log-normal 1", "log-normal 1.5",
	"log-normal 2.2", "normal", "pareto 1.2", "ten values", "uniform"}

// courses say by what factor the level and the number of users of window t differ from the usual ones.
var courses = map[string]func(t float64) (level, users float64){
	"constant": func(float64) (float64, float64) { return 1, 1 },
	"drift":    func(t float64) (float64, float64) { return math.Pow(2, t/200), 1 },
	"daily":    func(t float64) (float64, float64) { return math.Pow(1.5, math.Sin(2*math.Pi*t/96)), 1 },
	"users":    func(t float64) (float64, float64) { return 1, math.Pow(3, math.Sin(2*math.Pi*t/96)-0.5) },
	"shift": func(t float64) (float64, float64) {
		if t >= 100 {
			return 3, 1
		}
		return 1, 1
	},
	"incident": func(t float64) (float64, float64) {
		if 60 <= t && t < 65 || 120 <= t && t < 125 || 160 <= t && t < 165 {
			return 3, 1
		}
		return 1, 1
	},
}

// stream is a series whose data are known.
type stream struct {
	shape, course string
	p             string
	level         float64 // in steps
	users         int
	turnover      float64 // the part of the users that is new in each window
	epsilon       string
}

// shown is what one window of a stream published, and the exact figure that it should have: from, to.
type shown struct {
	Band
	value, from, to int64
}

// off is the distance from the exact figure.
func (w shown) off() int64 { return max(0, w.from-w.value, w.value-w.to) }

// covers says that the band holds the exact figure.
func (w shown) covers() bool { return w.Low <= w.to && w.from <= w.High }

// half is half the width of the band.
func (w shown) half() float64 { return float64(w.High-w.Low) / 2 }

// audience is the users of a stream in one window after another: how many have each of the atoms.
type audience struct {
	random *rand.ChaCha8
	counts []int32
	who    []uint16
}

// next brings n users, of whom a part is new.
func (c *audience) next(n int, turnover float64) {
	if turnover == 1 || len(c.who) != n {
		c.who = slices.Grow(c.who[:0], n)[:n]
		clear(c.counts)
		for i := 0; i < n; i += 4 {
			word := c.random.Uint64()
			for j := i; j < min(i+4, n); j++ {
				a := uint16(word % atoms)
				word >>= 16
				c.who[j] = a
				c.counts[a]++
			}
		}
		return
	}
	for i := range c.who {
		if turnover > 0 && float64(c.random.Uint64()>>11)*0x1p-53 < turnover {
			c.counts[c.who[i]]--
			c.who[i] = uint16(c.random.Uint64() % atoms)
			c.counts[c.who[i]]++
		}
	}
}

// sample is what the users have at a level, cut to the grid.
func (c *audience) sample(law []float64, level float64, g *Grid) *Sample {
	most := min(len(c.who), atoms)
	s := &Sample{values: make([]int64, 0, most), upTo: make([]int64, 0, most)}
	for a, count := range c.counts {
		if count == 0 {
			continue
		}
		v := max(0, int64(min(math.RoundToEven(law[a]*level), float64(g.last))))
		s.n += int64(count)
		if k := len(s.values) - 1; k >= 0 && s.values[k] == v {
			s.upTo[k] = s.n
		} else {
			s.values, s.upTo = append(s.values, v), append(s.upTo, s.n)
		}
	}
	return s
}

// follow plays streams that differ in p and ε only, on the same users.
func follow(t testing.TB, streams []stream, windows int, seed byte) [][]shown {
	t.Helper()
	of, g, law := streams[0], smallGrid(t, 600_001), make([]float64, atoms)
	p := dec(of.p).InexactFloat64()
	for a := range law {
		law[a] = shapes[of.shape]((float64(a)+0.5)/atoms, p)
	}
	who := &audience{random: rand.NewChaCha8([32]byte{seed, 3}), counts: make([]int32, atoms)}
	return publish(t, g, streams, windows, seed, func(w int) *Sample {
		level, more := courses[of.course](float64(w))
		n := of.users
		if more != 1 {
			n = max(5, int(float64(n)*more))
		}
		who.next(n, of.turnover)
		return who.sample(law, of.level*level, g)
	})
}

// publish draws p of some streams from the samples of windows by the default mechanism of streams. Each window has a
// count with noise of the same ε.
func publish(t testing.TB, g *Grid, streams []stream, windows int, seed byte, sample func(w int) *Sample) [][]shown {
	t.Helper()
	random := rand.NewChaCha8([32]byte{seed, 1})
	noise := rand.New(rand.NewChaCha8([32]byte{seed, 2}))
	filters, draws := make([]*Filter, len(streams)), make([]*ranks, len(streams))
	epsilons := make([]float64, len(streams))
	for i, s := range streams {
		q := Query{Statistic: Quantile, P: ps(s.p), Epsilon: dec(s.epsilon), Grid: g, Prior: "adaptive"}
		filters[i], draws[i] = filter(t, q), build(t, q).(*ranks)
		epsilons[i] = dec(s.epsilon).InexactFloat64()
	}
	all := make([][]shown, len(streams))
	for w := range windows {
		s := sample(w)
		for i, f := range filters {
			m := draws[i]
			laplace := math.Floor(noise.ExpFloat64()/epsilons[i]) - math.Floor(noise.ExpFloat64()/epsilons[i])
			users := max(0, s.n+int64(laplace))
			d := draw(t, m, s, Public{Measure: f.Measure()}, random)
			x := d.Values[0].Number
			first, last := max(1, -floorDiv(-m.p*s.n, m.q)), min(floorDiv(m.p*s.n, m.q)+1, s.n)
			all[i] = append(all[i], shown{f.Update(x, &users), x, s.values[s.at(first)], s.values[s.at(last)]})
			f.Predict()
		}
	}
	return all
}
