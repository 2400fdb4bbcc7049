package watch

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms"
)

// slow is the alarm "more than 1 % of the users above 2000" over a month of minutes, at most one false alarm in 20
// months.
func slow(t testing.TB, epsilon string, groups int64) *Watch {
	t.Helper()
	w, err := New(Query{Conditions: []Condition{{Above: new(dec("2000")), MoreThan: new(dec("0.01"))}},
		Epsilon:     dec(epsilon),
		FalseAlarms: dec("0.05"), Windows: 43_200, Groups: groups, Grid: grid(t, "60000", "1")})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// These figures, in users, were computed from the formulas before the code was written.
func TestWatchMargins(t *testing.T) {
	for _, c := range []struct {
		epsilon        string
		groups         int64
		margin, excess float64
	}{{"0.1", 1, 181, 265}, {"0.5", 1, 36, 53}, {"1", 1, 18, 26.5}, {"1", 10, 21, 30}} {
		w := slow(t, c.epsilon, c.groups)
		t.Logf("ε = %s, %d groups: margin %v, excess %v, %d %% of the weight for ρ", c.epsilon, c.groups, w.Margin(),
			w.Excess95(), w.plan.share)
		if math.Abs(w.Margin()-c.margin) > 0.5 || math.Abs(w.Excess95()-c.excess) > 0.5 {
			t.Errorf("ε = %s, %d groups: margin %v, excess %v; want %v and %v", c.epsilon, c.groups,
				w.Margin(), w.Excess95(), c.margin, c.excess)
		}
	}
}

// The margin and the excess match the law: a new instance misses the excess with at most 5 %, and one unit less more
// often. No other division of ε sees a smaller excess.
func TestWatchExcessIsTheLeast(t *testing.T) {
	g := smallGrid(t, 2)
	for name, c := range kinds() {
		w := watchOf(t, g, "1.5", c)
		if len(w.tests) != 1 {
			t.Fatal(name)
		}
		missed := func(units float64) float64 { return w.law([]int64{int64(units)})[1] }
		excess := math.Round(w.Excess95() * float64(w.den))
		for units := 0.; units < excess+5; units++ {
			if got, want := w.Miss(units/float64(w.den)), missed(units); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: misses an excess of %v units with %v, by the law with %v", name, units, got, want)
			}
		}
		if missed(excess) > 0.05 || missed(excess-1) <= 0.05 {
			t.Errorf("%s: the excess %v is missed with %v, one unit less with %v", name, excess, missed(excess),
				missed(excess-1))
		}
		for share := int64(1); share < shares; share++ {
			p := w.divide(share)
			if margin, ok := w.margin(p); ok {
				if p.margin = margin; w.seen(p) < excess {
					t.Errorf("%s: %d parts for ρ see %v, less than %v", name, share, w.seen(p), excess)
				}
			}
		}
	}
}

// months simulates months whose truth is at the share in every window, and returns how many of them have an alarm.
// Without an alarm, an instance uses one ρ for all windows, so a month is one coin for a drawn ρ.
func months(t *testing.T, w *Watch, n int, windows float64) (alarms int) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{41})
	coins := rand.New(rand.NewPCG(42, 1))
	for range n {
		a, err := w.Arm(random)
		if err != nil {
			t.Fatal(err)
		}
		fires := w.plan.nu.Weight(a.shortfall(0).Int64())
		if coins.Float64() < -math.Expm1(windows*math.Log1p(-fires)) {
			alarms++
		}
	}
	return alarms
}

// 100,000 months of minutes whose truth is exactly at the share, the worst case without a true alarm: the promise
// holds, and is not much wider than necessary. The count has a deviation of at most √(n·η), and is more than 5 of them
// off with probability < 10⁻⁶.
func TestWatchFalseAlarms(t *testing.T) {
	const n, promised = 100_000, 0.05
	w := slow(t, "1", 1)
	alarms := float64(months(t, w, n, 43_200))
	t.Logf("false alarms in %.4f of all months, %v promised", alarms/n, promised)
	if slack := 5 * math.Sqrt(n*promised); alarms > n*promised+slack || alarms < n*promised/2-slack {
		t.Errorf("false alarms in %v of %d months, %v promised", alarms, n, promised)
	}
	// The test notices a margin that is one e-fold too small.
	w.plan.margin -= int64(1 / w.plan.nu.Float())
	if alarms := float64(months(t, w, n, 43_200)); alarms < n*promised+5*math.Sqrt(n*promised) {
		t.Errorf("with a smaller margin there are false alarms in %v of %d months, which is not noticed", alarms, n)
	}
}

// The same with every coin tossed: months are shorter, and a watch that has fired is armed again.
func TestWatchFalseAlarmsTossed(t *testing.T) {
	const n, windows, promised = 20_000, 30, 0.1
	g := smallGrid(t, 2)
	w, err := New(Query{Conditions: []Condition{{Above: new(dec("0")), MoreThan: new(dec("0.25"))}},
		Epsilon:     dec("1"),
		FalseAlarms: dec("0.1"), Windows: windows, Groups: 2, Grid: g})
	if err != nil {
		t.Fatal(err)
	}
	quiet := []*mechanisms.Sample{sampleOf(g, []int64{75, 25}), sampleOf(g, []int64{75, 25})}
	random := rand.NewChaCha8([32]byte{43})
	alarms := 0
	for range n {
		var a *Armed
		fired := false
		for range windows {
			if a == nil || a.Fired() {
				if a, err = w.Arm(random); err != nil {
					t.Fatal(err)
				}
			}
			group, err := a.Look(quiet, random)
			if err != nil {
				t.Fatal(err)
			}
			fired = fired || group >= 0
		}
		if fired {
			alarms++
		}
	}
	t.Logf("false alarms in %.4f of all months, %v promised", float64(alarms)/n, promised)
	if slack := 5 * math.Sqrt(n*promised); float64(alarms) > n*promised+slack || float64(alarms) < n*promised/2-slack {
		t.Errorf("false alarms in %d of %d months, %v promised", alarms, n, promised)
	}
}

// The largest possible excess: with all users above, with none above, and with no users.
func TestWatchMost(t *testing.T) {
	g := smallGrid(t, 2)
	for name, want := range map[string]float64{"above, more_than": 75, "above, less_than": 25, "above, users": 98,
		"users_below": 2} {
		w := watchOf(t, g, "1", kinds()[name])
		if got := w.Most(100); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: at most %v of 100 users, want %v", name, got, want)
		}
	}
}
