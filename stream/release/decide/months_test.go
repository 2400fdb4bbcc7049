package decide

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// monthly is a stream whose watch may raise a false alarm in one month of twenty. A month has twelve windows here.
const monthly = oneStream + `
    groups: [a, b]
    max_groups: 2
    window: {size: 5m, every: 5m, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T01:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    watches: [{name: slow, above: 500, more_than: 0.1, epsilon: 1, false_alarms: {at_most: 0.05, per: MONTH}, hold: 1h, at_most: 1}]
    budget: {epsilon: 100, per: 24h}
`

// monthsEnv says how many months are simulated. 100000 take some two minutes.
const monthsEnv = "LOUVER_TEST_MONTHS"

// TestFalseAlarmsOfMonths takes a watch through months of windows as the stage does: the books arm it, its secret is
// sealed in the entries and opened again for each window, and every entry goes through the ledger. In both groups just
// as many users are slow as may be, the worst case without a true alarm. So each month has an alarm with a probability
// p ≤ η = 0.05, independently of the others.
//
// By Bernstein, n months have nη + x alarms or more with a probability of at most exp(−x²/(2nη + 2x/3)). That is 1e-6
// for x = L/3 + √(L²/9 + 2nηL), L = ln 1e6. A third of nη or fewer would say that the users are not at the edge: p was
// 0.049 in 100,000 months, so by Chernoff that has a probability of at most exp(−n·0.045·0.63²/2), below 1e-6 from n =
// 2000 on.
//
// The control has the margin that is right for a month of one window. It must be noticed: an alarm is in 0.42
// of its months. Of 200 it takes 32 to be noticed, and there are fewer with a probability of at most exp(−200·0.157) by
// Chernoff.
func TestFalseAlarmsOfMonths(t *testing.T) {
	n := 2000
	if text := os.Getenv(monthsEnv); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 2000 {
			t.Fatalf("%s=%s; want a number of months, at least 2000", monthsEnv, text)
		}
	}
	const eta = 0.05
	mean, l := eta*float64(n), math.Log(1e6)
	most := mean + l/3 + math.Sqrt(l*l/9+2*mean*l)
	alarms := float64(falseAlarms(t, "1h", n))
	t.Logf("false alarms in %.4f of %d months, %v promised", alarms/float64(n), n, eta)
	if alarms >= most || alarms <= mean/3 {
		t.Errorf("%v months of %d have a false alarm, want less than %.0f and more than %.0f", alarms, n, most, mean/3)
	}
	const control = 200
	if alarms := float64(falseAlarms(t, "5m", control)); alarms < eta*control+l/3+math.Sqrt(l*l/9+2*eta*control*l) {
		t.Errorf("with a smaller margin %v of %d months have a false alarm, which is not noticed", alarms, control)
	}
}

// falseAlarms simulates months, each with a ledger of its own, and returns how many of them have an alarm. The margin
// is right for a month of some length.
func falseAlarms(t *testing.T, month string, n int) (alarms int) {
	t.Helper()
	margin := testerOf{config.All[*config.Watch](editionsOf(t, strings.Replace(monthly, "MONTH", month, 1))[0].
		Stream)[0].Mechanism}
	d := playing(t, editionsOf(t, strings.Replace(monthly, "MONTH", "1h", 1)), func(c *Core) {
		c.programs[0].continual[0].tester = margin
	})
	p := d.programs[0]
	merged := windows.NewMerger(windows.BagSpec{Groups: p.Stream.Groups, MaxGroups: 2, Policy: p.Stream.Contribution,
		Window: p.Schedule.First(), Hasher: d.Hasher}, 1<<20)
	bag := windows.NewBag(windows.BagSpec{Groups: p.Stream.Groups, MaxGroups: 2, Policy: p.Stream.Contribution,
		Window: p.Schedule.First(), Hasher: d.Hasher})
	for g := range p.Stream.Groups {
		for u := range uint64(200) {
			value := int64(100)
			if u < 20 {
				value = 501
			}
			bag.Add(spread(u+1), g, p.Schedule.Start, value)
		}
	}
	for payload := bag.Seal(); merged.Pass(); {
		if err := merged.Add(payload, p.Schedule.First()); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		d.own.State = ledger.NewState("app", 0)
		for w, more := p.Schedule.First(), true; more; w, more = p.Schedule.Next(w) {
			e := p.entry("app", w)
			e.Continual = d.watches.describe(p, w)
			open, _ := d.watches.resume(p)
			if err := d.own.Books.Settle(&e); err != nil {
				t.Fatal(err)
			}
			if err := d.watches.look(p, &e, open, merged); err != nil {
				t.Fatal(err)
			}
			if e.Continual[0].Fires() != nil {
				alarms++
				break
			}
			if _, err := p.draw(&e, merged, d.priors[0], untimed); err != nil {
				t.Fatal(err)
			}
			if err := d.own.Finish(&e); err != nil {
				t.Fatal(err)
			}
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := d.enter(e, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return alarms
}
