package release

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// finding has windows of a quarter, and discoveries whose noise is nearly always 0: K is 1, so the threshold is 2, and
// P(Z ≠ 0) less than 10⁻¹⁰ for each of some hundred names in all tests.
const finding = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups:
      discover:
        - {name: hourly, every: 1h, epsilon: 24, delta: 0.00001}
        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001, max_groups: 2}
      keep: 3h
      max: 3
      other: rest
      always: [home]
      match: '^[a-z/]*$'
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 15m, every: 15m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}
    output: {topic: out}
    budget: {epsilon: 10000, delta: 0.09, per: 24h}
    on_exhausted: withhold
`

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sent is a record of a user with a name.
type sent struct {
	user uint64
	name string
}

// sentBy are records of the first n users from a number on.
func sentBy(from uint64, n int, names ...string) (all []sent) {
	for i := range uint64(n) {
		for _, name := range names {
			all = append(all, sent{from + i, name})
		}
	}
	return all
}

// remembering has parts that are not held read again from memory.
func (d *decider) remembering() map[int64][]byte {
	messages := map[int64][]byte{}
	d.parts.again = func(_ context.Context, parts []*windows.Held, take func(*windows.Held, []byte, error)) (
		missing []*windows.Held, err error) {
		for _, h := range parts {
			var data [][]byte
			for _, at := range h.Offsets {
				data = append(data, messages[at])
			}
			payload, err := h.Assemble(data)
			take(h, payload, err)
		}
		return nil, nil
	}
	return messages
}

// giveNames hands over the part and the mark of a window.
func (d *decider) giveNames(p *program, w windows.Window, records []sent) {
	d.t.Helper()
	bag := windows.NewBag(windows.BagSpec{Open: true, Policy: p.stream.Contribution, Window: w, Hasher: d.Hasher})
	for i, r := range records {
		bag.PutName(spread(r.user), []byte(r.name), w.Start+int64(i), 100)
	}
	o := windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, From: d.offset, To: d.offset + 3}
	part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
	mark := windows.Mark{Origin: o, Partitions: 1, Slices: []int64{w.Start}, After: w.Start, Through: w.End}
	for _, message := range append(part.Messages(1<<20), mark.Message()) {
		if err := d.parts.gather.Add(message, d.offset, time.Unix(0, w.End)); err != nil {
			d.t.Fatal(err)
		}
		d.messages[d.offset] = message
		d.offset++
	}
}

// turns decides everything that is ready, and returns the entries.
func (d *decider) turns() (all []ledger.Entry) { return d.turnsUpTo(math.MaxInt) }

// turnsUpTo decides up to n windows and periods that are ready.
func (d *decider) turnsUpTo(n int) (all []ledger.Entry) {
	d.t.Helper()
	for len(all) < n {
		next, ok := d.decisions.next("s")
		if !ok {
			return all
		}
		p := d.programs[next.program]
		state := d.parts.gather.State(p.stream.Name, p.epoch, next.window)
		if !state.Ready {
			return all
		}
		e, err := d.entry(d.t.Context(), next, state, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		value, err := e.Encode()
		if err == nil {
			e, err = ledger.Decode(value)
		}
		if err == nil {
			err = d.charges.learn(e, value)
		}
		if err != nil {
			d.t.Fatal(err)
		}
		if next.row < 0 {
			d.notes.hold(p, next.window)
			d.walks.decided(next.program, next.window)
		} else {
			d.walks.keep(next.program)
		}
		all = append(all, e)
	}
	return all
}

// told says what an entry of these tests decided, in one line.
func toldNames(e ledger.Entry) string {
	at := e.WindowEnd.Sub(newYear).String()
	if d := e.Discovery; d != nil {
		var found []string
		for _, f := range d.Found {
			found = append(found, fmt.Sprintf("%s:%d", f.Name, f.Value))
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s [%s] +%d -%d =%d %s", at, e.Row, strings.Join(found, " "),
			len(d.Joined), len(d.Left), d.Listed, e.Reason))
	}
	var groups []string
	for _, g := range e.Groups {
		value := "-"
		if len(g.Values) > 0 {
			value = g.Values[0].Value.String()
		}
		groups = append(groups, g.Name+":"+value)
	}
	of := "none"
	if e.List.Of != nil {
		of = e.List.Of.Sub(newYear).String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s of %s [%s] %s", at, of, strings.Join(groups, " "), e.Reason))
}

func quarter(n int) windows.Window {
	start := newYear.Add(time.Duration(n) * 15 * time.Minute).UnixNano()
	return windows.Window{Start: start, End: start + int64(15*time.Minute)}
}

// TestNamesAreFoundAndListed: names that many share have figures from the end of the period that found them on, and
// until nobody has sent them for long. Others are never told.
func TestNamesAreFoundAndListed(t *testing.T) {
	p := programOf(t, finding)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	var got []string
	for n := range 20 {
		records := sentBy(100*uint64(n), 1, "rare/"+string(rune('a'+n))) // a name of one user in each window
		if n < 8 {
			records = append(records, sentBy(1, 5, "shoes")...)
			records = append(records, sentBy(1, 2, "home")...)
		}
		if n >= 4 && n < 8 {
			records = append(records, sentBy(40, 4, "a/b")...)
			records = append(records, sentBy(60, 9, "NO")...) // does not match
		}
		d.giveNames(p, quarter(n), records)
		for _, e := range d.turns() {
			got = append(got, toldNames(e))
		}
	}
	want := []string{
		"15m0s of none [home:2 rest:4]", // of the five who sent shoes, two count for home
		"30m0s of none [home:2 rest:4]", "45m0s of none [home:2 rest:4]",
		"1h0m0s hourly [shoes:5] +1 -0 =2",
		"1h0m0s of 1h0m0s [home:1 shoes:4 rest:1]",
	}
	if len(got) < 6 {
		t.Fatalf("%q", got)
	}
	for i, w := range want[:4] {
		if got[i] != w {
			t.Errorf("%d: %q, want %q", i, got[i], w)
		}
	}
	all := strings.Join(got, "\n")
	for _, line := range []string{
		"2h0m0s hourly [a/b:4 shoes:5] +1 -0 =3", // the hour's names, of which shoes comes last but is the only one
		"2h0m0s twice [a/b:4 shoes:5] +0 -0 =3",
		"4h0m0s hourly [] +0 -0 =3", "4h0m0s twice [] +0 -0 =3",
		"5h0m0s hourly [] +0 -2 =1", // found last at two o'clock
		"5h0m0s of 5h0m0s [home:0 rest:1]",
		"4h45m0s of 4h0m0s [a/b:0 home:0 shoes:0 rest:1]",
	} {
		if !strings.Contains(all, line) {
			t.Errorf("there is no %q in\n%s", line, all)
		}
	}
	if strings.Contains(all, "rare") || strings.Contains(all, "NO") {
		t.Errorf("a name that few have sent is told:\n%s", all)
	}
	if ends := slices.IndexFunc(got,
		func(s string) bool { return strings.HasPrefix(s, "2h0m0s hourly") }); !strings.HasPrefix(
		got[ends+1], "2h0m0s twice") || !strings.HasPrefix(got[ends+2], "2h0m0s of 2h0m0s") {
		t.Errorf("at two o'clock %q, want the discoveries in the order of the file, and then the window",
			got[ends:ends+3])
	}
}

// TestADayIsNotReadAgain: who counts is noted as windows are decided, and of what is found the first part has the text.
// A worker that begins reads the day again once: a little at a time if nothing is due, or else at its end.
func TestADayIsNotReadAgain(t *testing.T) {
	text := strings.NewReplacer(
		"        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001, max_groups: 2}\n", "", "every: 1h",
		"every: 24h",
		"keep: 3h", "keep: 24h").Replace(finding)
	for when, want := range map[string]int{"never": 1, "at noon": 48 + 1, "before midnight": 95 + 1} {
		d := newDecider(t, programOf(t, text), zap.NewNop())
		d.messages = d.remembering()
		read, again := 0, d.parts.again
		d.parts.again = func(ctx context.Context, parts []*windows.Held, take func(*windows.Held, []byte, error)) (
			[]*windows.Held, error) {
			read += len(parts)
			return again(ctx, parts, take)
		}
		for n := range 96 {
			name := "shoes"
			if n >= 80 { // parts of the last windows may be held
				name = "home"
			}
			if when == "at noon" && n == 48 || when == "before midnight" && n == 95 {
				clear(d.notes.of) // as in a new session
			}
			if when == "at noon" {
				d.catchUp()
				if n > 48 && read != 48 {
					t.Fatalf("%d parts are read again by quarter %d, want 48", read, n)
				}
			}
			d.giveNames(d.programs[0], quarter(n), sentBy(uint64(100*n), 3, name))
			for _, e := range d.turns() {
				if e.Discovery != nil && (len(e.Discovery.Found) != 1 || e.Discovery.Found[0].Value != 240 ||
					e.Incomplete) {
					t.Errorf("%s, want 240 users of shoes to be found", toldNames(e))
				}
			}
		}
		if read != want {
			t.Errorf("a worker that begins %s: %d parts are read again, want %d", when, read, want)
		}
	}
}

// TestAnEmptyListCostsNothing: without names there is nothing to draw.
func TestAnEmptyListCostsNothing(t *testing.T) {
	p := programOf(t, strings.NewReplacer("      other: rest\n", "", "      always: [home]\n", "").Replace(finding))
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	for n := range 4 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
	}
	all := d.turns()
	if len(all) != 5 || toldNames(all[0]) != "15m0s of none []" || all[2].Standing.BudgetSpent.String() != "0" {
		t.Fatalf("%+v", all[2])
	}
	// One charge of 24, and then a window of 30.
	if spent := all[4].Standing.BudgetSpent; toldNames(all[4]) != "1h0m0s of 1h0m0s [shoes:5]" ||
		spent.String() != "54" {
		t.Errorf("%s, spent %s", toldNames(all[4]), spent)
	}
	if records, err := all[0].Records(); err != nil || len(records) != 0 {
		t.Errorf("%d records (%v) of a window without groups", len(records), err)
	}
}

// TestADiscoveryKnowsWhatOtherBudgetsPaid: so its records say what the stream has spent in all.
func TestADiscoveryKnowsWhatOtherBudgetsPaid(t *testing.T) {
	p := programOf(t, finding)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	for n := range 4 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
	}
	d.turnsUpTo(3)
	next, ok := d.decisions.next("s")
	if !ok || next.row < 0 {
		t.Fatalf("next is %+v, want a discovery", next)
	}
	before := ledger.Before{"old": new(decimal.NewFromInt(100))}
	e, err := d.entry(t.Context(), next, d.parts.gather.State("s", 1, next.window), before)
	if err != nil {
		t.Fatal(err)
	}
	if spent := e.Standing.StreamSpent.IntPart(); spent != 100+3*30+24 || e.Standing.BudgetSpent.IntPart() != spent-100 {
		t.Errorf("the stream has spent %d, and its budget %s; want 214 and 114", spent, e.Standing.BudgetSpent)
	}
}

// TestAWithheldDiscoveryFindsNothing: it costs nothing, and names grow old.
func TestAWithheldDiscoveryFindsNothing(t *testing.T) {
	p := programOf(t, strings.NewReplacer("epsilon: 10000, delta: 0.09, per: 24h",
		"epsilon: 120, delta: 0.09, per: 24h", "keep: 3h", "keep: 2h", "epsilon: 30", "epsilon: 0.1").Replace(finding))
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	var got []string
	for n := range 12 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
		for _, e := range d.turns() {
			if e.Discovery != nil {
				got = append(got, toldNames(e))
			}
		}
		for row := range p.stream.Found.Rows { // the notes of a withheld period are no use in the next one
			if period, _ := d.charges.period(p, row); d.notes.now(p, row).period != period {
				t.Errorf("after quarter %d the notes of row %d are of another period than the next one", n, row)
			}
		}
	}
	want := []string{"1h0m0s hourly [shoes:5] +1 -0 =2", "2h0m0s hourly [shoes:5] +0 -0 =2",
		"2h0m0s twice [shoes:5] +0 -0 =2", "3h0m0s hourly [] +0 -0 =2 budget_exhausted"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTheListSurvivesAWorker: at any moment another worker decides the same, from the ledger and the parts. So it is
// where the definition is edited meanwhile: the list goes on, and a period is drawn once, by the definition at its end.
func TestTheListSurvivesAWorker(t *testing.T) {
	file, err := parse.File("streams.yaml", []byte(finding), nil)
	if err != nil {
		t.Fatal(err)
	}
	edited, err := parse.File("streams.yaml",
		[]byte(strings.Replace(finding, "keep: 3h", "keep: 3h\n      except: [shoes]", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	old, next := file.Streams[0], edited.Streams[0]
	first := control.Edition{Stream: old, Number: 1, Schedule: old.Window.Schedule(old.Window.Start)}
	second := control.Edition{Stream: next, Number: 2, Schedule: next.Window.Schedule(quarter(6).Start)}
	first.Schedule.End = quarter(5).End
	editions := []control.Edition{first, second}
	fold := ledger.NewFold("app", 0)
	type message struct {
		data    []byte
		written time.Time
	}
	var log []message
	session := func() *decider {
		d := newDecider(t, newProgram(first), zap.NewNop())
		d.Editions = editions
		d.takes(newProgram(first), newProgram(second))
		s, err := newDecisions(d.worker)
		if err != nil {
			t.Fatal(err)
		}
		s.charges.own.fold = fold
		s.walks.begin(nil)
		d.decisions = s
		d.messages = d.remembering()
		for i, m := range log {
			d.messages[int64(i)] = m.data
			if err := s.parts.gather.Add(m.data, int64(i), m.written); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	var got []string
	for n := range 16 {
		w, e := quarter(n), editions[n/6%2]
		if n >= 12 {
			e = second
		}
		records := sentBy(1, 5, "shoes")
		records = append(records, sentBy(20, 4, "hats")...)
		d := session() // anew for each window
		bag := windows.NewBag(windows.BagSpec{Open: true, Policy: e.Stream.Contribution, Window: w, Hasher: d.Hasher})
		for i, r := range records {
			bag.PutName(spread(r.user), []byte(r.name), w.Start+int64(i), 100)
		}
		o := windows.Origin{Stream: "s", Epoch: e.Number, From: int64(10 * n), To: int64(10*n + 3)}
		part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
		mark := windows.Mark{Origin: o, Partitions: 1, Slices: []int64{w.Start}, After: w.Start, Through: w.End}
		for _, m := range append(part.Messages(1<<20), mark.Message()) {
			if err := d.parts.gather.Add(m, int64(len(log)), time.Unix(0, w.End)); err != nil {
				t.Fatal(err)
			}
			d.messages[int64(len(log))] = m
			log = append(log, message{m, time.Unix(0, w.End)})
		}
		for _, e := range d.turns() {
			got = append(got, fmt.Sprintf("%d: %s", e.Epoch, toldNames(e)))
		}
	}
	all := strings.Join(got, "\n")
	for _, line := range []string{
		"1: 1h0m0s hourly [hats:4 shoes:5] +2 -0 =3",
		"1: 1h30m0s of 1h0m0s [hats:4 home:0 shoes:5 rest:0]",
		"2: 1h45m0s of 1h0m0s [hats:4 home:0 rest:5]", // what is excluded now is off the list at once
		"2: 2h0m0s hourly [hats:4] +0 -1 =2",
		"2: 2h0m0s twice [hats:4] +0 -0 =2",
		"2: 4h0m0s twice [hats:4] +0 -0 =2",
	} {
		if strings.Count(all, line) != 1 {
			t.Errorf("there is no %q in\n%s", line, all)
		}
	}
	if n := strings.Count(all, "2h0m0s hourly"); n != 1 {
		t.Errorf("the second hour is drawn %d times", n)
	}
	if n := strings.Count(all, "\n") + 1; n != 16+4+2 {
		t.Errorf("%d entries, want 16 windows and 6 discoveries:\n%s", n, all)
	}
}

// TestRecordsOfADiscovery: one about all names, and one for each that is found.
func TestRecordsOfADiscovery(t *testing.T) {
	p := programOf(t, finding)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	for n := range 4 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "a/b"))
	}
	all := d.turns()
	var keys []string
	for _, e := range all[len(all)-2:] {
		records, err := e.Records()
		if err != nil || len(records) != e.Size() {
			t.Fatalf("%d records, want %d (%v)", len(records), e.Size(), err)
		}
		for _, r := range records {
			keys = append(keys, string(r.Key)+" "+r.ID())
		}
	}
	want := []string{"s//hourly s//2026-01-01T00:00:00Z/hourly", "s/a%2Fb/hourly s/a%2Fb/2026-01-01T00:00:00Z/hourly",
		"s/a%2Fb/users s/a%2Fb/2026-01-01T00:45:00Z/users", "s/home/users s/home/2026-01-01T00:45:00Z/users",
		"s/rest/users s/rest/2026-01-01T00:45:00Z/users"}
	if !slices.Equal(keys, want) {
		t.Errorf("%q, want %q", keys, want)
	}
	if e := all[len(all)-2]; e.Discovery == nil || e.Releases[0].Statistic != record.StatisticGroups {
		t.Errorf("%+v", e)
	}
}

// TestTurnsOfFoundGroups: under max_windows, who counts in a window does not depend on the list. A user takes a turn in
// any window in which they have a record, so as many count in all groups together if nothing is ever found.
func TestTurnsOfFoundGroups(t *testing.T) {
	sums := map[bool][]int64{}
	for _, finds := range []bool{true, false} {
		edit := []string{"    bounds:", "    max_windows: {count: 2, per: 2h, parts: 1}\n    bounds:"}
		if !finds {
			edit = append(edit, "delta: 0.00001", "delta: 0.00001, at_least: 1000")
		}
		d := newDecider(t, programOf(t, strings.NewReplacer(edit...).Replace(finding)), zap.NewNop())
		d.messages = d.remembering()
		for n := range 16 {
			records := sentBy(1, 9, "shoes")
			if n >= 3 {
				records = append(records, sentBy(40, 5, "home", "hats")...)
			}
			d.giveNames(d.programs[0], quarter(n), records)
			for _, e := range d.turns() {
				if e.Discovery != nil {
					if found := len(e.Discovery.Found) > 0; found != finds {
						t.Fatalf("%s, want a list: %v", toldNames(e), finds)
					}
					continue
				}
				sum := int64(0)
				for _, g := range e.Groups {
					sum += g.Values[0].Value.IntPart()
				}
				sums[finds] = append(sums[finds], sum)
			}
		}
	}
	if !slices.Equal(sums[true], sums[false]) || slices.Max(sums[true]) == slices.Min(sums[true]) {
		t.Errorf("%d count with a list, and %d without one", sums[true], sums[false])
	}
}

// TestNothingGetsPastDiscoveries: of names that are not found, nothing is in the ledger, in the records or in the log,
// not even how many there are. What is found is the same here: noise is nearly always 0.
func TestNothingGetsPastDiscoveries(t *testing.T) {
	var first string
	for i, rare := range [][]sent{nil, sentBy(100, 1, "rare"),
		sentBy(100, 1, strings.Split("bcdefghijklmnopqrstuvw", "")...),
		sentBy(100, 9, "NO", "no matter 7"), slices.Concat(sentBy(100, 1, "x"), sentBy(200, 1, "y"),
			sentBy(300, 1, "z"))} {
		core, logs := observer.New(zap.DebugLevel)
		d := newDecider(t, programOf(t, strings.Replace(finding, "      other: rest\n", "", 1)), zap.New(core))
		d.messages = d.remembering()
		for n := range 8 {
			d.giveNames(d.programs[0], quarter(n), append(sentBy(1, 5, "shoes"), rare...))
		}
		var said strings.Builder
		for _, e := range d.turns() {
			d.observe(e)
			e.ReleasedAt = e.DueAt
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			records, err := e.Records()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&said, "%s\n%s\n", value, records)
		}
		for _, l := range logs.All() {
			fmt.Fprintln(&said, l.Level, l.Message, l.ContextMap())
		}
		if !strings.Contains(said.String(), "shoes") || !strings.Contains(said.String(), "a discovery is decided") {
			t.Fatal("shoes are not found, or nothing is logged")
		}
		if first == "" {
			first = said.String()
		} else if said.String() != first {
			t.Errorf("data %d: other names change what is written:\n%s", i, cmp.Diff(first, said.String()))
		}
	}
}
