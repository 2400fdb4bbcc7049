package watch

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

func changeWatch(t testing.TB, p, tolerance, epsilon, falseAlarms string, windows int64) *Watch {
	t.Helper()
	w, err := NewChange(ChangeQuery{P: dec(p), Tolerance: dec(tolerance), Epsilon: dec(epsilon),
		FalseAlarms: dec(falseAlarms), Windows: windows})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Goes through all neighbours over three windows of three values, with different last values. ε is kept, and most of it
// is used. The rates match the formula that was derived by hand.
func TestChangePrivacy(t *testing.T) {
	g := smallGrid(t, 3)
	for _, c := range []struct{ p, tolerance string }{{"0.5", "0.25"}, {"0.8", "0.1"}, {"0.25", "0.125"}} {
		for _, last := range [][]int64{{1, 1, 1}, {2, 1, 0}} {
			const epsilon = 1.5
			w := changeWatch(t, c.p, c.tolerance, "1.5", "0.9", 1)
			got := w.worstLossFrom(last, g, 3, 2)
			t.Logf("p %s ± %s, last values %v: largest loss %.9f ε", c.p, c.tolerance, last, got/epsilon)
			if got > epsilon*(1+1e-9) || got < 0.6*epsilon {
				t.Errorf("p %s ± %s: ε = %v is promised, %v is lost", c.p, c.tolerance, epsilon, got)
			}
			m, tolerance := max(dec(c.p).InexactFloat64(),
				1-dec(c.p).InexactFloat64()), dec(c.tolerance).InexactFloat64()
			users := float64(w.den) // units in a user
			sum := (m+tolerance)*w.plan.rho.Float()*users + 2*m*w.plan.nu.Float()*users
			if math.Abs(sum/epsilon-1) > 1e-12 {
				t.Errorf("p %s ± %s: the rates add up to ε = %v", c.p, c.tolerance, sum)
			}
		}
		doubled := changeWatch(t, c.p, c.tolerance, "3", "0.9", 1)
		if twice := doubled.worstLossFrom([]int64{1, 1, 1}, g, 3, 2); twice <= 1.5*(1+1e-9) {
			t.Errorf("p %s ± %s: the check does not notice a doubled ε: %v", c.p, c.tolerance, twice)
		}
	}
}

// With such a large ε a change is found exactly by its definition: more than p + t of the users below the last value,
// or more than 1 − p + t above it.
func TestChangeIsFound(t *testing.T) {
	g := smallGrid(t, 11)
	random := rand.NewChaCha8([32]byte{50})
	for _, c := range []struct {
		below, equal, above int64
		changed             bool
	}{{60, 0, 40, false}, {61, 0, 39, true}, {40, 0, 60, false}, {39, 0, 61, true},
		{0, 100, 0, false}, {0, 39, 61, true}, {0, 40, 60, false}, {61, 39, 0, true}, {0, 0, 0, false}} {
		w := changeWatch(t, "0.5", "0.1", "2000", "0.01", 1000)
		a, err := w.Arm(random)
		if err != nil {
			t.Fatal(err)
		}
		still := mechanisms.NewSample(g, []mechanisms.Point{{Index: 5, Count: 10}})
		now := mechanisms.NewSample(g,
			[]mechanisms.Point{{Index: 2, Count: c.below}, {Index: 4, Count: c.equal}, {Index: 7, Count: c.above}})
		group, err := a.LookFrom([]*mechanisms.Sample{still, now}, []int64{5, 4}, random)
		if err != nil || (group == 1) != c.changed || group == 0 {
			t.Errorf("%+v: group %d, %v", c, group, err)
		}
	}
	a, err := changeWatch(t, "0.5", "0.1", "1", "0.01", 1000).Arm(random)
	if err != nil {
		t.Fatal(err)
	}
	groups := []*mechanisms.Sample{mechanisms.NewSample(g, []mechanisms.Point{{Index: 5, Count: 10}})}
	if _, err := a.Look(groups, random); err == nil {
		t.Error("it looks without last values")
	}
	if _, err := a.LookFrom(groups, nil, random); err == nil {
		t.Error("it looks with too few last values")
	}
	alarm, err := slow(t, "1", 1).Arm(random)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alarm.LookFrom(groups, []int64{1}, random); err == nil {
		t.Error("an alarm takes last values")
	}
}

func TestChangeMistakes(t *testing.T) {
	right := ChangeQuery{P: dec("0.9"), Tolerance: dec("0.03"), Epsilon: dec("0.1"), FalseAlarms: dec("0.05"),
		Windows: 1440}
	for _, c := range []struct {
		change    func(q *ChangeQuery)
		parameter string
	}{
		{func(q *ChangeQuery) { q.P = dec("1") }, "p"},
		{func(q *ChangeQuery) { q.Tolerance = decimal.Zero }, "tolerance"},
		{func(q *ChangeQuery) { q.Tolerance = dec("0.1") }, "tolerance"},
		{func(q *ChangeQuery) { q.P, q.Tolerance = dec("0.05"), dec("0.05") }, "tolerance"},
		{func(q *ChangeQuery) { q.Tolerance = dec("0.0000000001") }, "tolerance"},
		{func(q *ChangeQuery) { q.Epsilon = decimal.Zero }, "watch_epsilon"},
		{func(q *ChangeQuery) { q.Epsilon = dec("0.000000000001") }, "watch_epsilon"},
		{func(q *ChangeQuery) { q.FalseAlarms = decimal.Zero }, "false_alarms"},
		{func(q *ChangeQuery) { q.Windows = 0 }, "windows"},
		{func(q *ChangeQuery) { q.Groups = -1 }, "groups"},
	} {
		q := right
		c.change(&q)
		_, err := NewChange(q)
		var wrong *mechanisms.Error
		if !errors.As(err, &wrong) || wrong.Parameter != c.parameter {
			t.Errorf("%+v: %v, want an error about %s", q, err, c.parameter)
		}
	}
}

// A day of minutes with 10,000 users whose latencies drift by a quarter, with one incident in which they triple: the
// median is drawn about 20 times instead of 1440, and the incident is seen in its first minute.
func TestChangeOverADay(t *testing.T) {
	const n, minutes, begins, ends = 10_000, 1440, 800, 845
	g := grid(t, "60000", "1")
	random, rng := rand.NewChaCha8([32]byte{51}), rand.New(rand.NewPCG(52, 0))
	people := make([]float64, n)
	for i := range people {
		people[i] = 1200 * math.Exp(0.8*rng.NormFloat64())
	}
	slices.Sort(people)
	minute := func(i int) *mechanisms.Sample {
		factor := 1 + 0.25*math.Sin(2*math.Pi*float64(i)/minutes)
		if i >= begins && i < ends {
			factor *= 3
		}
		points := make([]mechanisms.Point, n)
		for j, x := range people {
			points[j] = mechanisms.Point{Index: int64(min(x*factor, 60000)), Count: 1}
		}
		return mechanisms.NewSample(g, points)
	}
	median, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Median, Epsilon: dec("0.05"), Grid: g})
	if err != nil {
		t.Fatal(err)
	}
	watch := changeWatch(t, "0.5", "0.03", "0.1", "0.05", minutes)
	var (
		armed *Armed
		last  int64
		draws int
		off   float64
	)
	draw := func(s *mechanisms.Sample) {
		d, err := median.Draw(s, mechanisms.Public{}, random)
		if err != nil {
			t.Fatal(err)
		}
		last = d.Values[0].Number
		draws++
		if armed, err = watch.Arm(random); err != nil {
			t.Fatal(err)
		}
	}
	draw(minute(0))
	for i := range minutes {
		s := minute(i)
		group, err := armed.LookFrom([]*mechanisms.Sample{s}, []int64{last}, random)
		if err != nil {
			t.Fatal(err)
		}
		if i == begins && group < 0 {
			t.Error("the first minute of the incident is not seen")
		}
		if group >= 0 {
			draw(s)
		}
		off += math.Abs(float64(s.Below(last)+s.AtMost(last))/2/n-0.5) / minutes
	}
	t.Logf("%d draws, ε %.2f, mean error %.2f percentile points", draws, 0.15*float64(draws), 100*off)
	if draws < 5 || draws > 60 || off > 0.025 {
		t.Errorf("%d draws, mean error %.2f percentile points; want about 20 and 1", draws, 100*off)
	}
}
