package decide

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// learning has the groups of finding, and a median that learns from earlier ones.
var learning = strings.NewReplacer("step: 1}", "step: 1, prior: adaptive}", "      - {name: users, statistic: count, "+
	"mechanism: geometric, epsilon: 30}", "      - {name: p50, statistic: median, epsilon: 0.5}").Replace(finding)

// TestAGroupLearnsFromWhereItJoined: lists move at random, and some windows are withheld or have none. The measure of
// each group is that of a filter that was fed with the group's values since it last joined, and with nothing else. A
// new worker has the same measures, also from a checkpoint.
func TestAGroupLearnsFromWhereItJoined(t *testing.T) {
	p := programOf(t, strings.NewReplacer("      other: rest\n", "", "      always: [home]\n", "").Replace(learning))
	random := rand.New(rand.NewPCG(3, 4))
	running, fold := newPrior(p), ledger.NewState("app", 0)
	names := []string{"a", "b", "c", "d"}
	on := map[string]bool{}
	since := map[string][]int64{} // what each group has published since it joined; −1: withheld
	window, joined, returned := p.Schedule.First(), 0, map[string]bool{}
	const block = 512
	for i := range block + 200 {
		for _, name := range names {
			if random.IntN(12) == 0 {
				if on[name] = !on[name]; on[name] && since[name] == nil && i > 0 {
					joined++
				}
			}
		}
		if random.IntN(25) == 0 {
			clear(on)
		}
		e := p.entry("app", window)
		e.ReleasedAt, e.List = e.DueAt, &ledger.List{Rules: p.rules}
		e.Standing = ledger.Standing{StreamSpent: &decimal.Zero, BudgetSpent: &decimal.Zero}
		for _, name := range names {
			if on[name] {
				e.Groups = append(e.Groups, ledger.Group{Name: name})
			} else if since[name] != nil {
				since[name], returned[name] = nil, true
			}
		}
		switch {
		case len(e.Groups) == 0:
			e.Price, e.Releases = nil, nil
		case random.IntN(10) == 0:
			e.Reason = record.BudgetExhausted
		default:
			var err error
			if e.Prior, err = running.upTo(window, e.GroupNames(), fold.Recent("s")); err != nil {
				t.Fatal(err)
			}
		}
		// all begin anew, and learn from so many windows before
		if number := running.number(window.End); number%block == 0 {
			for name, all := range since {
				since[name] = all[max(0, len(all)-block):]
			}
		}
		if e.Prior != nil {
			for g, group := range e.Groups {
				alone, err := mechanisms.NewFilter(p.draws[0].query)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range since[group.Name] {
					if x >= 0 {
						alone.Update(x, nil)
					}
					alone.Predict()
				}
				if want, got := fmt.Sprint(alone.Measure()), fmt.Sprint(running.measure(group.Name, 0)); got != want {
					t.Fatalf("window %d: group %s has the measure %s, and has published %d values since it joined, "+
						"which give %s", i, group.Name, got, len(since[group.Name]), want)
				}
				x := random.Int64N(1001)
				since[group.Name] = append(since[group.Name], x)
				e.Groups[g].Values = []ledger.Value{{Value: new(decimal.NewFromInt(x))}}
			}
			if i < 20 || random.IntN(20) == 0 {
				if again := priorAnew(t, p, fold, window, e.GroupNames()); again != *e.Prior {
					t.Fatalf("window %d: a new worker has %+v, the old one %+v", i, again, e.Prior)
				}
			}
			running.smooth(&e)
		} else {
			for _, group := range e.Groups {
				since[group.Name] = append(since[group.Name], -1)
			}
		}
		value, err := e.Encode()
		if err == nil {
			err = fold.Add(e, value, int64(i))
		}
		if err != nil {
			t.Fatal(err)
		}
		window = windows.Window{Start: window.End, End: window.End + int64(15*time.Minute)}
	}
	if joined < 50 || len(returned) < len(names) {
		t.Errorf("%d groups have joined, and %d have returned; want more", joined, len(returned))
	}
}

// priorAnew is what the draws of a window learn in a new worker, from a checkpoint of what was published.
func priorAnew(t *testing.T, p *program, fold *ledger.State, w windows.Window, groups []string) ledger.Prior {
	t.Helper()
	text, err := fold.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := ledger.Restore(text, "app", 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newPrior(p).upTo(w, groups, restored.Recent("s"))
	if err != nil {
		t.Fatal(err)
	}
	return *again
}

// TestAuditOfWhatFoundGroupsLearn: the audit computes what the draws of moving lists had learnt, and sees a value that
// was another one.
func TestAuditOfWhatFoundGroupsLearn(t *testing.T) {
	editions := editionsOf(t, learning)
	d := playing(t, editions)
	for n := range 30 {
		records := sentBy(50, 3, "home")
		if n < 4 || n > 20 {
			records = append(records, sentBy(1, 5, "shoes")...)
		}
		d.give(editions[0], records, trouble{})
		d.decided()
	}
	all := d.entries
	audited := func() audit.Findings { return auditOf(t, all, editions) }
	if got := audited(); !got.OK || got.Priors != 30 {
		t.Errorf("a healthy ledger: %+v", got)
	}
	for i := range all { // the first of shoes
		if e := &all[i]; e.Discovery == nil && len(e.Groups) == 3 {
			e.Groups[1].Values[0].Value = new(e.Groups[1].Values[0].Value.Add(decimal.NewFromInt(400)).Mod(
				decimal.NewFromInt(1000)))
			break
		}
	}
	if got := audited(); got.OK || got.FaultCount < 10 || got.Faults[0].Kind != audit.BandDiffers ||
		got.Faults[1].Kind != audit.PriorDiffers {
		t.Errorf("another value: %+v", got)
	}
}

// auditOf audits a ledger.
func auditOf(t *testing.T, all []ledger.Entry, editions []config.Edition) audit.Findings {
	t.Helper()
	a := audit.New()
	a.Learner = NewMeasures(editions)
	for i, e := range all {
		value, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, e.Key(), value)
	}
	return a.Findings()
}
