package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// cappedRow has windows of half an hour. The discovery of an hour has max_windows, the windows have another
// max_windows, and the discovery of two hours has none. The noise of discoveries is nearly always 0: see finding. So a
// name that two users send is found if both count, and never if none does.
const cappedRow = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups:
      discover:
        - {name: hourly, every: 1h, epsilon: 24, delta: 0.00001, max_windows: {count: COUNT, per: PER, parts: PARTS}}
        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001}
      max: 10
    max_windows: {count: 2, per: 2h, parts: 1}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 30m, every: 30m, grace: 10s, start: 2026-01-01T00:30:00Z}
    contribution: last
    releases: [{name: users, statistic: count, mechanism: geometric, epsilon: 30}]
    output: {topic: out}
    budget: {epsilon: LIMIT, delta: 0.09, per: 24h}
    on_exhausted: withhold
`

func cappedRowProgram(t testing.TB, limit string, c windows.CapSpec) *program {
	t.Helper()
	return programOf(t, strings.NewReplacer("LIMIT", limit, "COUNT", fmt.Sprint(c.Count), "PARTS", fmt.Sprint(c.Parts),
		"PER", c.Per.String()).Replace(cappedRow))
}

// twins are two users who have the same turns: they begin their blocks at the same time.
func twins(u int) [2]windows.UserHash {
	one := capUser(u)
	return [2]windows.UserHash{one, {one[0] ^ 0xff00ff00ff00ff, one[1]}}
}

// capName is the name that only a user and their twin send.
func capName(u int) string { return string(rune('a' + u)) }

// again reads parts again from what is left of the log.
func (c *capWorld) again(parts []*windows.Held, take func(*windows.Held, []byte, error)) (missing []*windows.Held) {
	for _, h := range parts {
		if slices.Min(h.Offsets) < c.deleted {
			missing = append(missing, h)
			continue
		}
		var data [][]byte
		for _, at := range h.Offsets {
			data = append(data, c.log[at])
		}
		payload, err := h.Assemble(data)
		take(h, payload, err)
	}
	return missing
}

// checkRow compares who counts in the first discovery of the ledger with a cap that is never disturbed and begins with
// each era. It checks that everybody counts in the second discovery. It returns how many eras there are.
func (c *capWorld) checkRow(t rapid.TB, real testing.TB) (eras int) {
	var whole *windows.Cap
	era := int64(-1)
	counted := [capUsers][]time.Time{} // the ends of the periods in which each user has counted
	row := config.All[*config.Discovery](c.p.stream)[0]
	for _, value := range c.ledger {
		e := c.decode(real, value)
		w := windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()}
		switch e.Lane {
		case "":
			continue
		case row.Name:
			if e.Cap.Era != era {
				if e.Cap.Era != e.WindowStart.Unix() || e.Cap != row.Cap(e.Cap.Era) {
					t.Fatalf("a period that starts at %d has the cap %+v", e.WindowStart.Unix(), e.Cap)
				}
				whole, era = windows.NewCap(row.MaxWindows.By), e.Cap.Era
				eras++
			}
			if err := whole.Begin(w); err != nil {
				t.Fatal(err)
			}
		default:
			if e.Cap != (budget.Cap{}) {
				t.Fatalf("discovery %s has the cap %+v, and is to have none", e.Lane, e.Cap)
			}
		}
		var got, want []string
		for u := range capUsers {
			came := false
			for start := w.Start; start < w.End; start += int64(c.p.schedule.Every) {
				came = came || c.came[start][u]
			}
			if came && (e.Lane != row.Name || whole.Counts(capUser(u))) {
				want = append(want, capName(u)+" 2")
				if e.Lane == row.Name && e.Reason == "" {
					counted[u] = append(counted[u], e.WindowEnd)
				}
			}
		}
		if e.Reason != "" {
			continue // who came has used a turn
		}
		for _, f := range e.Discovery.Found {
			got = append(got, fmt.Sprintf("%s %d", f.Name, f.Value))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s, era %d: found %q, want %q", e.Name(), era, got, want)
		}
		for u, ends := range counted { // by whatever eras
			n := int64(0)
			for _, end := range ends {
				if end.After(e.WindowEnd.Add(-e.Limit.Per)) {
					n++
				}
			}
			if lost := cost.Of(c.p.stream.Budget.Limit, budget.Times(row.Cost().Items, n)).Epsilon; n > 0 &&
				lost.GreaterThan(*e.Standing.BudgetSpent) {
				t.Fatalf("%s: user %d has lost ε %s in the period, and ε %s is charged", e.Name(), u, lost,
					e.Standing.BudgetSpent)
			}
		}
	}
	return eras
}

// TestTheSameUsersSpeakWhateverHappens is TestTheSameUsersCountWhateverHappens for a discovery with max_windows. Its
// stream has max_windows too, and another discovery without.
func TestTheSameUsersSpeakWhateverHappens(t *testing.T) {
	var done happened
	withheld, periods := 0, 0
	history := func(r *rapid.T) {
		spec := windows.CapSpec{Parts: rapid.Int64Range(1, 3).Draw(r, "parts"),
			Per: time.Duration(rapid.Int64Range(1, 12).Draw(r, "period")) * time.Hour}
		spec.Count = spec.Parts + 1 + rapid.Int64Range(0, 3).Draw(r, "more")
		p := cappedRowProgram(t, rapid.SampledFrom([]string{"1000000", "150"}).Draw(r, "limit"), spec)
		c := &capWorld{p: p, row: 1, came: map[int64][capUsers]bool{}}
		c.happen(r, t, &done, c.checkRow)
		for _, value := range c.ledger {
			if e := c.decode(t, value); e.Lane == "hourly" {
				if periods++; e.Reason != "" {
					withheld++
				}
			}
		}
	}
	const series = 3 // of a hundred histories each: one alone misses some faults one time in four
	for range series {
		rapid.Check(t, history)
	}
	done.enough(t)
	if withheld == 0 || withheld == periods {
		t.Errorf("%d of %d periods were withheld: the test tests nothing", withheld, periods)
	}
}

// TestEditsOfTurns: however a discovery's max_windows or its name is edited, users are chosen anew under the new
// definition. So what its periods cost adds up with what those of the old one cost, and the audit agrees.
func TestEditsOfTurns(t *testing.T) {
	const turns = ", max_windows: {count: 2, per: 12h, parts: 1}"
	old := strings.NewReplacer(", max_windows: {count: COUNT, per: PER, parts: PARTS}", turns, "LIMIT", "1000000",
		"    max_windows: {count: 2, per: 2h, parts: 1}\n", "").Replace(cappedRow)
	for name, c := range map[string]struct {
		before, after string
		most          int64 // of six periods of the new definition that anybody pays for
	}{
		"another keep":  {"      max: 10", "      max: 9", 2},
		"a wider one":   {"{count: 2, per: 12h", "{count: 4, per: 12h", 4},
		"none any more": {turns, "", 6},
		"another name":  {"name: hourly", "name: frequent", 2},
		"one more": {"name: twice, every: 2h, epsilon: 24, delta: 0.00001",
			"name: twice, every: 2h, epsilon: 24, delta: 0.00001" + turns, 2},
		"one of the other": {"    bounds", "    max_windows: {count: 2, per: 2h, parts: 1}\n    bounds", 2},
	} {
		text := strings.Replace(old, c.before, c.after, 1)
		if text == old {
			t.Fatalf("%s: nothing changes", name)
		}
		first, second := programOf(t, old), programOf(t, text)
		second.epoch = first.epoch + 1
		border := first.schedule.Start + int64(5*time.Hour+30*time.Minute)
		first.schedule.End, second.schedule.Start = border, border
		editions := []config.Edition{{Stream: first.stream, Number: first.epoch, Schedule: first.schedule},
			{Stream: second.stream, Number: second.epoch, Schedule: second.schedule}}
		d := newDecider(t, first, zap.NewNop())
		d.Editions = editions
		d.session(d.Config, ledger.NewState("app", 0), first, second)
		d.messages = d.remembering()
		var all []ledger.Entry
		for start := first.schedule.Start; start < border+int64(6*time.Hour); start += int64(30 * time.Minute) {
			p := first
			if start >= border {
				p = second
			}
			d.giveNames(p, windows.Window{Start: start, End: start + int64(30*time.Minute)}, sentBy(1, 9, "a"))
			all = append(all, d.turns()...)
		}
		a := audit.New()
		eras := map[string]map[budget.Cap]bool{}
		for i, e := range all {
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, e.Key(), value)
			if of := fmt.Sprint(e.Epoch, e.Lane); e.Lane != "" && e.Lane != "twice" {
				if eras[of] == nil {
					eras[of] = map[budget.Cap]bool{}
				}
				eras[of][e.Cap] = true
			}
		}
		if f := a.Findings(); f.FaultCount > 0 {
			t.Errorf("%s: %v", name, f.Faults)
		}
		if len(eras) != 2 {
			t.Errorf("%s: %v, want the caps of two definitions", name, eras)
		}
		for of, caps := range eras {
			if len(caps) != 1 {
				t.Errorf("%s: definition %s has the caps %v, want one", name, of, caps)
			}
		}
		// The windows and the discovery of two hours cost what they cost without caps.
		others, last := budget.NewAccount(first.stream.Budget.Limit), all[len(all)-1]
		for _, e := range all {
			if charge, err := e.Charge(); err != nil {
				t.Fatal(err)
			} else if e.Lane == "" || e.Lane == "twice" {
				others.Add(charge)
			}
		}
		row := budget.Times(config.All[*config.Discovery](first.stream)[0].Cost().Items, 2+c.most)
		others.Add(budget.Charge{Stream: "s", End: last.WindowEnd.UnixNano(), Items: row})
		if want := others.Spent(last.WindowEnd.UnixNano()).Epsilon; !want.Equal(*last.Standing.BudgetSpent) {
			t.Errorf("%s: ε %s is spent, want %s: two periods of the old definition, and %d of the new one", name,
				last.Standing.BudgetSpent, want, c.most)
		}
	}
}

// TestALostPeriodBeginsANewEra: a session that decided a period with an unreadable part, or one whose parts are gone
// from the log, knows who had a turn. A later one does not, and begins a new era.
func TestALostPeriodBeginsANewEra(t *testing.T) {
	for what, eras := range map[string]int{"nothing": 1, "a damaged part": 2, "a lost part": 2, "a snapshot instead": 1,
		"a snapshot of before": 2, "what nobody needs": 1} {
		p := cappedRowProgram(t, "1000000", windows.CapSpec{Count: 4, Per: 12 * time.Hour, Parts: 1})
		c := &capWorld{p: p, row: 1, came: map[int64][capUsers]bool{}}
		d := c.session(t)
		var before []byte
		for slice := range 10 {
			if slice == 4 && what == "a damaged part" {
				o := windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, From: 4, To: 5, Attempt: [16]byte{99}}
				c.log = append(c.log, windows.Part{Origin: o, Slice: windows.Window{Start: c.slice.End,
					End: c.slice.End + int64(30*time.Minute)}, Payload: []byte("damaged")}.Messages(1<<20)...)
			}
			c.next([capUsers]bool{slice%2 == 0, true, slice > 5}, 0)
			d.read(c)
			c.ledger = append(c.ledger, d.draws(9)...)
			if slice == 4 || slice == 6 {
				before, c.saved = c.saved, c.due(d)[0].Text
			}
			if slice != 7 {
				continue
			}
			switch what {
			case "a lost part": // of a mark that names it
				c.log[2*4] = windows.Mark{Origin: windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, From: 4, To: 5,
					Attempt: [16]byte{4}}, Partitions: 1}.Message()
				c.saved = nil
			case "what nobody needs":
				c.deleted, c.kept, c.saved = min(d.gather.Needs(d.offset), d.attendance.Needs()), d.attendance.Saved(), nil
			case "a snapshot instead":
				c.deleted = 2 * 6
			case "a snapshot of before":
				c.deleted, c.saved, c.lost = 2*6, before, true
			default:
				c.saved = nil
			}
			d = c.session(t)
		}
		if got := c.checkRow(t, t); got != eras {
			t.Errorf("%s: %d eras, want %d", what, got, eras)
		}
	}
}
