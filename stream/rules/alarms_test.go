package rules

import (
	"crypto/rand"
	"math"
	random "math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// alarms counts the runs of at least k windows beyond the threshold.
func alarms(beyond []bool, k int) (n int) {
	run := 0
	for _, b := range beyond {
		if run++; !b {
			run = 0
		}
		if run == k {
			n++
		}
	}
	return n
}

// Over all courses of a few windows, the mean number of alarms is the formula's, and the bounds are bounds.
func TestFalseAlarmsOverAllCourses(t *testing.T) {
	const n = 10
	for _, q := range []float64{0.02, 0.3} {
		// Of different chances, none above q, in windows that do not know of each other.
		mixed := [n]float64{q, 0, q / 2, q, q, q, 0, q, q, q / 3}
		for k := 1; k <= 4; k++ {
			mean, mixedMean, used := 0., 0., 0.
			for course := range 1 << n {
				beyond, p, pm, count := make([]bool, n), 1., 1., 0
				for i := range beyond {
					if beyond[i] = course>>i&1 == 1; beyond[i] {
						p, pm, count = p*q, pm*mixed[i], count+1
					} else {
						p, pm = p*(1-q), pm*(1-mixed[i])
					}
				}
				a := alarms(beyond, k)
				mean, mixedMean, used = mean+p*float64(a), mixedMean+pm*float64(a), used+p*float64(count)
				if a > count/k {
					t.Fatalf("%b: %d alarms of %d windows from %d beyond", course, a, k, count)
				}
			}
			if got := falseAlarms(exactly, q, k, n); math.Abs(got-mean) > 1e-12 {
				t.Errorf("q %v, k %d: %v alarms, want %v", q, k, got, mean)
			}
			if got := falseAlarms(atMost, q, k, n); got < mixedMean || got < mean {
				t.Errorf("q %v, k %d: at most %v alarms, but there are %v and %v", q, k, got, mixedMean, mean)
			}
			if got := falseAlarms(nominal, q, k, n); got < used/float64(k)-1e-12 {
				t.Errorf("q %v, k %d: at most %v alarms, but there may be %v", q, k, got, used/float64(k))
			}
		}
	}
	if got := falseAlarms(exactly, 0.5, 3, 2); got != 0 {
		t.Errorf("%v alarms of 3 windows among 2", got)
	}
}

// Over many windows too: simulated alarms of 2 windows in a row, with the chance of a count's band.
//
// An alarm begins at window i if i−1 is not beyond and i, i+1 are. These indicators depend on three windows, so those
// of every third i are independent, and each of the three sums of them has the mean m = n·q²(1−q)/3. By Chernoff, one
// is off by δm or more with a chance of 2·exp(−mδ²/3); all three together are then off by less than δ·3m with a chance
// of 1 − 6·exp(−mδ²/3). For 10^−6: δ² = 3·ln(6·10^6)/m. The first window, which has none before it, adds less than 1.
func TestFalseAlarmsSimulated(t *testing.T) {
	const n, k = 20_000_000, 2
	s := random.New(random.NewPCG(3, 4))
	q := countBand(t, "0.05").miss
	beyond := make([]bool, n)
	for i := range beyond {
		beyond[i] = s.Float64() < q
	}
	m := n * q * q * (1 - q) / 3
	within := math.Sqrt(3*math.Log(6e6)/m) * 3 * m
	got := float64(alarms(beyond, k))
	if want := falseAlarms(exactly, q, k, n); math.Abs(got-want) > within+1 {
		t.Errorf("%v alarms, want %v ± %v", got, want, within)
	}
	if wrong := falseAlarms(exactly, q*1.1, k, n); math.Abs(got-wrong) <= within+1 {
		t.Errorf("the test does not see a chance that is 10 %% too large: %v alarms, %v ± %v", got, wrong, within)
	}
}

func countBand(t *testing.T, epsilon string) band {
	t.Helper()
	b, ok := bandOf(nil, &config.Release{Query: countQuery(t, epsilon), Mechanism: counting(t, epsilon)})
	if !ok || b.known != exactly {
		t.Fatalf("%+v, %v", b, ok)
	}
	return b
}

func countQuery(t *testing.T, epsilon string) mechanisms.Query {
	t.Helper()
	g, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(10), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	return mechanisms.Query{Statistic: mechanisms.Count, Epsilon: decimal.RequireFromString(epsilon), Grid: g}
}

func counting(t *testing.T, epsilon string) mechanisms.Mechanism {
	t.Helper()
	m, err := mechanisms.New(countQuery(t, epsilon))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The band of a count misses a truth at the threshold as often as the rules say, on either side. The draws are those of
// the service.
//
// The number of misses among n independent draws has the mean m = nq. By Chernoff, it is off by δm with a chance of at
// most 2·exp(−mδ²/3) for each side: 10^−6 for both at δ² = 3·ln(4·10^6)/m.
func TestBandOfCountMisses(t *testing.T) {
	const n, users = 200_000, 500
	for _, epsilon := range []string{"0.1", "0.5", "2"} {
		m, b := counting(t, epsilon), countBand(t, epsilon)
		sample := mechanisms.NewSample(countQuery(t, epsilon).Grid, []mechanisms.Point{{Count: users}})
		above, below := 0, 0
		for range n {
			d, err := m.Draw(sample, mechanisms.Public{}, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if v := float64(d.Values[0].Number); v-d.Values[0].Error95 > users {
				above++
			} else if v+d.Values[0].Error95 < users {
				below++
			}
		}
		off := func(got int, q float64) bool {
			mean := n * q
			return math.Abs(float64(got)-mean) > math.Sqrt(3*math.Log(4e6)*mean)
		}
		if off(above, b.miss) || off(below, b.miss) {
			t.Errorf("ε %s: the band lies above the truth %d times and below it %d times, want about %.0f", epsilon,
				above, below, n*b.miss)
		}
		// The band of another ε has another chance.
		e, reach := decimal.RequireFromString(epsilon).InexactFloat64()*1.2, b.reach
		if wrong := math.Exp(-e*(reach+1)) / (1 + math.Exp(-e)); !off(above, wrong) {
			t.Errorf("ε %s: the test does not see an ε that is a fifth too large", epsilon)
		}
	}
}
