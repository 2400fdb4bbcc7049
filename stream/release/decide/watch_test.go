package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// alarmed is a stream whose watch has so large an ε that it follows its condition exactly, and holds for an hour. Its
// watch `gone` fires by noise alone in one of 10⁹ months.
const alarmed = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b, c]
    max_groups: 3
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1h, every: 1h, grace: 10s, start: 2026-01-01T00:00:00Z}
    contribution: last
    releases: [{name: users, statistic: count, epsilon: 1}]
    watches:
      - {name: slow, above: 500, users: 5, epsilon: EPSILON, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h, at_most: ATMOST}
      - {name: gone, users_below: 2, epsilon: 0.001, false_alarms: {at_most: 0.000000001, per: 30d}, hold: 1h, at_most: 1}
    output: {topic: out}
    budget: {epsilon: LIMIT, per: 24h}
    on_exhausted: withhold
`

// alarmedProgram has windows of an hour. Its watch costs ε 1000.
func alarmedProgram(t testing.TB, limit, atMost string) *program {
	t.Helper()
	return programOf(t, strings.NewReplacer("EPSILON", "1000", "LIMIT", limit, "ATMOST", atMost).Replace(alarmed))
}

// sealing gives a decider the seal of an app.
func (d *decider) sealing(key byte) *decider {
	d.t.Helper()
	s, err := newSeal("app", bytes.Repeat([]byte{key}, 32))
	if err != nil {
		d.t.Fatal(err)
	}
	d.tests.seal = s
	return d
}

// next decides the next window and records it.
func (d *decider) next(records []contribution) ledger.Entry {
	d.t.Helper()
	w, _ := d.programs[0].schedule.After(d.programs[0].lanes.Windows.Decided())
	d.give(w, records, 0)
	e := d.decide(w)
	d.learnt(w, e)
	return e
}

// told returns in short what an entry says about its first watch.
func told(e ledger.Entry) string {
	w := e.Continual[0]
	text := fmt.Sprint(w.Instance)
	if w.Arms {
		text += " armed"
	}
	if w.Reason != "" {
		text += " " + w.Reason
	}
	if a := w.Watch; a.Fired != nil {
		text += " fired in " + *a.Fired + a.Since.Format(" 15h")
	}
	return text
}

// TestAWatchFromArmingToItsMost follows a watch: it is armed with the first window, fires in the first group in which
// six users are slow, holds, is armed again, and is withheld when a day has seen two instances.
func TestAWatchFromArmingToItsMost(t *testing.T) {
	d := newDecider(t, alarmedProgram(t, "1000000", "2"), zap.NewNop()).sealing(1)
	slow := append(users(6, 1, 501), users(6, 2, 501)...)
	for hour, c := range []struct {
		records []contribution
		want    string
	}{
		{nil, "1 armed"},
		{users(5, 0, 501), "1"},
		{append(users(5, 0, 501), slow...), "1 fired in b 03h"},
		{slow, "1 not_armed fired in b 03h"},
		{slow, "2 armed fired in b 05h"},
		{slow, "2 not_armed fired in b 05h"},
		{slow, "2 budget_exhausted"},
	} {
		if got := told(d.next(c.records)); got != c.want {
			t.Errorf("hour %d: %q, want %q", hour, got, c.want)
		}
	}
	for range 19 { // until the first instance is a day old
		d.next(slow)
	}
	if got := told(d.next(slow)); got != "3 armed fired in b 03h" {
		t.Errorf("after a day: %q, want a third instance", got)
	}
}

// TestAnArmedWatchGoesOnWithoutTheFigures: the budget pays for a watch and for two windows. The watch is paid already,
// so it sees what comes later, too.
func TestAnArmedWatchGoesOnWithoutTheFigures(t *testing.T) {
	d := newDecider(t, alarmedProgram(t, "1007", "1"), zap.NewNop()).sealing(1)
	for hour := range 4 {
		e := d.next(nil)
		if want := hour > 1; (e.Reason == record.BudgetExhausted) != want ||
			told(e) != []string{"1 armed", "1", "1", "1"}[hour] {
			t.Errorf("hour %d has the reason %q and %q", hour, e.Reason, told(e))
		}
	}
	// While the watch is silent, an entry says the same about a crowd as about nobody.
	var crowd []contribution
	for u := range int64(400) {
		crowd = append(crowd, contribution{user: uint64(u), group: int(u % 3), value: u})
	}
	silent := func(records []contribution) string {
		e := d.next(records)
		e.WindowStart, e.WindowEnd, e.DueAt, e.ReleasedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if nobody, many := silent(nil), silent(crowd); nobody != many || strings.Contains(many, `"Incomplete":true`) {
		t.Errorf("of nobody the entry says\n%s\nand of a crowd\n%s", nobody, many)
	}
	if e := d.next(users(6, 2, 600)); e.Reason != record.BudgetExhausted || told(e) != "1 fired in c 07h" {
		t.Errorf("reason %q and %q, want the watch to fire although the figures are withheld", e.Reason, told(e))
	}
}

// TestAWatchLooksAtEverybody: max_windows leaves nobody for the second window, and the watch still sees them.
func TestAWatchLooksAtEverybody(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	c := windows.NewMerger(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: 3, Policy: p.stream.Contribution,
		Window: p.schedule.First(), Hasher: windows.NewHasher([16]byte{})}, 1<<20)
	c.Restrict(func(windows.UserHash) bool { return false })
	bag := windows.NewBag(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: 3, Policy: p.stream.Contribution,
		Window: p.schedule.First(), Hasher: windows.NewHasher([16]byte{})})
	for _, r := range users(6, 1, 501) {
		bag.Add(spread(r.user), r.group, p.schedule.Start, r.value)
	}
	for c.Pass() {
		if err := c.Add(bag.Seal(), p.schedule.First()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.Sample(1)); n != 0 {
		t.Fatalf("%d values count, want none", n)
	}
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	e := p.entry("app", p.schedule.First())
	e.Continual = d.tests.describe(p, p.schedule.First())
	open, _ := d.tests.resume(p)
	if err := d.own.State.Books.Settle(&e); err != nil {
		t.Fatal(err)
	}
	if err := d.tests.look(p, &e, open, c); err != nil {
		t.Fatal(err)
	}
	if err := d.own.State.Books.Finish(&e); err != nil {
		t.Fatal(err)
	}
	if told(e) != "1 armed fired in b 01h" {
		t.Errorf("%q, want the watch to fire", told(e))
	}
}

// TestWatchesOfAnOldDefinitionEnd: a window of another definition ends the instances of watches that it no longer has,
// and goes on with those that are the same.
func TestWatchesOfAnOldDefinitionEnd(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	changed := programOf(t, strings.NewReplacer("EPSILON", "1000", "LIMIT", "2000000", "ATMOST", "2", "users_below: 2",
		"users_below: 3").Replace(alarmed))
	changed.epoch, changed.schedule.Start = p.epoch+1, p.schedule.First().End
	p.schedule.End = p.schedule.First().End
	d.goesOn(nil, nil, p, changed)
	if e := d.next(nil); e.Continual[0].Last || !e.Continual[1].Last { // the last window of the old definition
		t.Errorf("%+v, want the first watch to go on", e.Continual)
	}
	d.goesOn(nil, nil, changed, p)
	e := d.next(nil)
	if told(e) != "1" || len(e.Ended) > 0 || e.Continual[1].Looks() {
		t.Errorf("%q, %+v and %v end, want the first watch to go on", told(e), e.Continual[1], e.Ended)
	}
}

// TestALateChangeEndsTheInstance: the worker that decided the last window of the old definition did not know that it
// was the last. The next window ends the instance.
func TestALateChangeEndsTheInstance(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	d.next(nil)
	changed := programOf(t, strings.NewReplacer("EPSILON", "1000", "LIMIT", "2000000", "ATMOST", "2", "users_below: 2",
		"users_below: 3").Replace(alarmed))
	changed.epoch, changed.schedule.Start = p.epoch+1, p.schedule.First().End
	p.schedule.End = p.schedule.First().End
	d.goesOn(nil, nil, changed, p)
	if e := d.next(nil); told(e) != "1" || fmt.Sprint(e.Ended) != "[s/gone/1]" || e.Continual[1].Looks() { // at_most is 1
		t.Errorf("%q, %+v and %v end, want the first watch to go on and the second to end", told(e),
			e.Continual[1], e.Ended)
	}
}

// TestTheLastWindowEndsTheInstance: so its charge returns when the stream is over.
func TestTheLastWindowEndsTheInstance(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	p.schedule.End = p.schedule.First().End
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	if e := d.next(nil); !e.Continual[0].Last || !e.Continual[0].Arms {
		t.Errorf("%+v, want an instance that is armed and ends", e.Continual[0])
	}
	if open := d.own.State.Books.Open("s"); len(open) > 0 {
		t.Errorf("%v are still armed", open)
	}
}

// traced is an alarm whose instances are known by their secrets. It notes which of them look.
type traced struct {
	armed  *int
	looked *[]string
	secret string
}

func (a traced) Arm(io.Reader) (armed, error) {
	*a.armed++
	a.secret = fmt.Sprint("secret ", *a.armed)
	return a, nil
}

func (a traced) Resume(secret []byte) (armed, error) {
	a.secret = string(secret)
	return a, nil
}

func (a traced) MarshalText() ([]byte, error) { return []byte(a.secret), nil }

func (a traced) Look([]*mechanisms.Sample, io.Reader) (int, error) {
	if *a.looked = append(*a.looked, a.secret); len(*a.looked) == 3 {
		return 0, nil
	}
	return -1, nil
}

func (a traced) LookFrom(groups []*mechanisms.Sample, _ []int64, random io.Reader) (int, error) {
	return a.Look(groups, random)
}

// TestOneSecretFromArmingToFiring: the instance that looks is always the one that was armed, by its secret in the
// ledger, and a new one follows only after it has fired. The proof needs that: a fresh secret in each window would cost
// ε in each.
func TestOneSecretFromArmingToFiring(t *testing.T) {
	p := alarmedProgram(t, "1000000", "9")
	looked := []string{}
	p.continual[0].tester = traced{new(int), &looked, ""}
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	for range 7 {
		d.next(nil)
	}
	// after the third window it holds for one
	if want := []string{"secret 1", "secret 1", "secret 1", "secret 2", "secret 2", "secret 2"}; !slices.Equal(looked,
		want) {
		t.Errorf("%q look, want %q", looked, want)
	}
}

// TestEveryStreamHasItsOwnSecret: two streams of a budget have the same watch. Each looks with the secret that was
// armed for it.
func TestEveryStreamHasItsOwnSecret(t *testing.T) {
	p, q := alarmedProgram(t, "1000000", "9"), alarmedProgram(t, "1000000", "9")
	q.stream.Name, q.stream.Budget = "t", p.stream.Budget
	armed, ofP, ofQ := new(int), []string{}, []string{}
	p.continual[0].tester, q.continual[0].tester = traced{armed, &ofP, ""}, traced{armed, &ofQ, ""}
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	for range 2 {
		d.goesOn(nil, nil, p, q)
		d.next(nil)
		d.goesOn(nil, nil, q, p)
		d.next(nil)
	}
	if !slices.Equal(ofP, []string{"secret 1", "secret 1"}) || !slices.Equal(ofQ, []string{"secret 2", "secret 2"}) {
		t.Errorf("one stream looks with %q, the other with %q; want each with its own", ofP, ofQ)
	}
}
