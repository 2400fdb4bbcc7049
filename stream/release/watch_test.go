package release

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// alarmed is a stream whose watch has so large an ε that it follows its condition exactly, and holds for an hour.
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
      - {name: gone, users_below: 2, epsilon: 0.001, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h, at_most: 1}
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
	d.session.seal = s
	return d
}

// next decides the next window and records it.
func (d *decider) next(records []contribution) ledger.Entry {
	d.t.Helper()
	w, _ := d.programs[0].schedule.After(d.decided(d.programs[0]))
	d.give(w, records, 0)
	e := d.decide(w)
	d.learnt(w, e)
	return e
}

// told says in short what an entry says of its first watch.
func told(e ledger.Entry) string {
	w := e.Watches[0]
	text := fmt.Sprint(w.Instance)
	if w.Arms {
		text += " armed"
	}
	if w.Reason != "" {
		text += " " + w.Reason
	}
	if w.Fired != nil {
		text += " fired in " + *w.Fired + w.Since.Format(" 15h")
	}
	return text
}

// TestAWatchFromArmingToItsMost follows a watch: it is armed with the first window, fires in the first group in which six
// users are slow, holds, is armed again, and is withheld when a day has seen two instances.
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

// TestAnArmedWatchGoesOnWithoutTheFigures: the budget pays for a watch and for two windows. The watch is paid already, so
// it sees what comes later, too.
func TestAnArmedWatchGoesOnWithoutTheFigures(t *testing.T) {
	d := newDecider(t, alarmedProgram(t, "1007", "1"), zap.NewNop()).sealing(1)
	for hour := range 4 {
		e := d.next(nil)
		if want := hour > 1; (e.Reason == ledger.BudgetExhausted) != want || told(e) != []string{"1 armed", "1", "1", "1"}[hour] {
			t.Errorf("hour %d has the reason %q and %q", hour, e.Reason, told(e))
		}
	}
	if e := d.next(users(6, 2, 600)); e.Reason != ledger.BudgetExhausted || told(e) != "1 fired in c 05h" {
		t.Errorf("reason %q and %q, want the watch to fire although the figures are withheld", e.Reason, told(e))
	}
}

// TestAWatchLooksAtEverybody: max_windows leaves nobody over for the second window, and the watch still sees them.
func TestAWatchLooksAtEverybody(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	c := windows.NewMerger(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: 3, Policy: p.stream.Contribution, Window: p.schedule.First(), Hasher: windows.NewHasher([16]byte{})}, 1<<20)
	c.Restrict(func(windows.UserHash) bool { return false })
	bag := windows.NewBag(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: 3, Policy: p.stream.Contribution, Window: p.schedule.First(), Hasher: windows.NewHasher([16]byte{})})
	for _, r := range users(6, 1, 501) {
		bag.Add(windows.UserHash{r.user, r.user}, r.group, p.schedule.Start, r.value)
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
	e.Watches = d.watches(p, p.schedule.First())
	open, _ := d.resume(p)
	if err := d.own.fold.Books.Settle(&e); err != nil {
		t.Fatal(err)
	}
	if err := d.look(p, &e, open, c); err != nil {
		t.Fatal(err)
	}
	if told(e) != "1 armed fired in b 01h" {
		t.Errorf("%q, want the watch to fire", told(e))
	}
}

// TestASecretThatCannotBeOpened: the key is another one, so the instance ends, stays charged, and another is armed.
func TestASecretThatCannotBeOpened(t *testing.T) {
	d := newDecider(t, alarmedProgram(t, "1000000", "2"), zap.NewNop()).sealing(1)
	d.next(nil)
	before := d.next(nil)
	d.sealing(2)
	e := d.next(nil)
	if told(e) != "2 armed" || !slices.Contains(e.Ended, ledger.Instance{Stream: "s", Watch: "slow", Number: 1}) {
		t.Errorf("%q and %v end, want a second instance in place of the first", told(e), e.Ended)
	}
	if more := e.Standing.BudgetSpent.Sub(*before.Standing.BudgetSpent); more.String() != "1003" { // a window of three groups and an instance
		t.Errorf("ε %s more, want 1003", more)
	}
	if e = d.next(nil); told(e) != "2" || len(e.Ended) > 0 {
		t.Errorf("%q and %v end, want the second instance to look", told(e), e.Ended)
	}
}

// TestWatchesOfAnOldDefinitionEnd: a window of another definition ends the instances of watches that it no longer has,
// and goes on with those that are the same.
func TestWatchesOfAnOldDefinitionEnd(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	changed := programOf(t, strings.NewReplacer("EPSILON", "1000", "LIMIT", "2000000", "ATMOST", "2", "users_below: 2", "users_below: 3").Replace(alarmed))
	changed.epoch, changed.schedule.Start = p.epoch+1, p.schedule.First().End
	p.schedule.End = p.schedule.First().End
	d.programs = append(d.programs, changed)
	if e := d.next(nil); e.Watches[0].Last || !e.Watches[1].Last { // the last window of the old definition
		t.Errorf("%+v, want the first watch to go on", e.Watches)
	}
	d.programs = []*program{changed, p}
	d.gather.Follow(changed.stream.Name, changed.epoch, changed.schedule, 0, d.decided(changed))
	e := d.next(nil)
	if told(e) != "1" || len(e.Ended) > 0 || e.Watches[1].Looks() {
		t.Errorf("%q, %+v and %v end, want the first watch to go on", told(e), e.Watches[1], e.Ended)
	}
}

// TestALateChangeEndsTheInstance: the worker that decided the last window of the old definition did not know that it was the
// last. The next window ends the instance.
func TestALateChangeEndsTheInstance(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	d.next(nil)
	changed := programOf(t, strings.NewReplacer("EPSILON", "1000", "LIMIT", "2000000", "ATMOST", "2", "users_below: 2", "users_below: 3").Replace(alarmed))
	changed.epoch, changed.schedule.Start = p.epoch+1, p.schedule.First().End
	p.schedule.End = p.schedule.First().End
	d.programs = []*program{changed, p}
	d.gather.Follow(changed.stream.Name, changed.epoch, changed.schedule, 0, d.decided(changed))
	if e := d.next(nil); told(e) != "1" || fmt.Sprint(e.Ended) != "[s/gone/1]" || e.Watches[1].Looks() { // at_most is 1
		t.Errorf("%q, %+v and %v end, want the first watch to go on and the second to end", told(e), e.Watches[1], e.Ended)
	}
}

// TestTheLastWindowEndsTheInstance, so that its charge returns when the stream is over.
func TestTheLastWindowEndsTheInstance(t *testing.T) {
	p := alarmedProgram(t, "1000000", "2")
	p.schedule.End = p.schedule.First().End
	d := newDecider(t, p, zap.NewNop()).sealing(1)
	if e := d.next(nil); !e.Watches[0].Last || !e.Watches[0].Arms {
		t.Errorf("%+v, want an instance that is armed and ends", e.Watches[0])
	}
	if open := d.own.fold.Books.Open("s"); len(open) > 0 {
		t.Errorf("%v are still armed", open)
	}
}

// TestSealedSecrets: all have one length, whatever ρ is, none is like another, and each opens for its own instance only.
func TestSealedSecrets(t *testing.T) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	s, err := newSeal("app", key)
	if err != nil {
		t.Fatal(err)
	}
	of := ledger.Instance{Stream: "s", Watch: "slow", Number: 3}
	short, err := s.close("b", of, "d", []byte("1 1 1 1 1 1"))
	if err != nil {
		t.Fatal(err)
	}
	long, err := s.close("b", of, "d", []byte("1 1000000000 99 123456789 1/3 123456789012345678901234567890"))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.close("b", of, "d", []byte("1 1 1 1 1 1"))
	if len(short) != len(long) || bytes.Equal(short, again) || bytes.Contains(short, []byte("1 1")) {
		t.Errorf("secrets of %d and %d bytes; one that is sealed again is the same: %v", len(short), len(long), bytes.Equal(short, again))
	}
	if text, err := s.open("b", of, "d", short); err != nil || string(text) != "1 1 1 1 1 1" {
		t.Errorf("%q, %v", text, err)
	}
	other, err := newSeal("other", key)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Clone(short)
	altered[40] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"app":    func() ([]byte, error) { return other.open("b", of, "d", short) },
		"budget": func() ([]byte, error) { return s.open("c", of, "d", short) },
		"stream": func() ([]byte, error) {
			return s.open("b", ledger.Instance{Stream: "t", Watch: "slow", Number: 3}, "d", short)
		},
		"watch": func() ([]byte, error) {
			return s.open("b", ledger.Instance{Stream: "s", Watch: "gone", Number: 3}, "d", short)
		},
		"instance": func() ([]byte, error) {
			return s.open("b", ledger.Instance{Stream: "s", Watch: "slow", Number: 4}, "d", short)
		},
		"definition": func() ([]byte, error) { return s.open("b", of, "e", short) },
		"bytes":      func() ([]byte, error) { return s.open("b", of, "d", altered) },
		"length":     func() ([]byte, error) { return s.open("b", of, "d", short[:20]) },
	} {
		if text, err := open(); err == nil {
			t.Errorf("with another %s the secret opens: %q", name, text)
		}
	}
}

// TestNoSecretServesTwice stops sessions at any moment, and keeps everything that was ever written: committed, aborted and
// adopted, and aborted without a trace. In that log, every window has one outcome, every instance has one secret and fires
// at most once, and the charges are those of the instances.
func TestNoSecretServesTwice(t *testing.T) {
	fired, adopted := false, false
	rapid.Check(t, func(r *rapid.T) {
		p := programOf(t, strings.NewReplacer("EPSILON", "0.5", "LIMIT", "40", "ATMOST", "3").Replace(alarmed))
		var committed, aborted [][]byte
		raw := map[string]string{} // what was written of a window
		offset := int64(0)
		for range rapid.IntRange(1, 12).Draw(r, "sessions") {
			d := newDecider(t, p, zap.NewNop()).sealing(1)
			all := append(slices.Clone(committed), aborted...)
			committed = nil
			for _, value := range all {
				e, err := ledger.Decode(value)
				if err == nil && !d.own.fold.Books.Has(e.Stream, e.Epoch, e.WindowEnd) {
					committed, err = append(committed, value), d.learn(e, value)
				}
				if err != nil {
					r.Fatal(err)
				}
			}
			adopted = adopted || len(aborted) > 0
			aborted = nil
			d.gather = windows.NewGathering(1 << 30)
			d.gather.Follow(p.stream.Name, p.epoch, p.schedule, 0, d.decided(p))
			d.offset = offset
			for range rapid.IntRange(1, 4).Draw(r, "transactions") {
				var values [][]byte
				for range rapid.IntRange(1, 3).Draw(r, "windows") {
					e := d.next(users(rapid.SampledFrom([]uint64{0, 5, 200}).Draw(r, "users"), 1, 700))
					value, err := e.Encode()
					if err != nil {
						r.Fatal(err)
					}
					values = append(values, value)
				}
				fate := rapid.SampledFrom([]string{"committed", "committed", "aborted", "in part", "lost"}).Draw(r, "fate")
				written := values
				switch fate {
				case "in part":
					written = values[:rapid.IntRange(0, len(values)-1).Draw(r, "written")]
				case "lost":
					written = nil
				}
				for _, value := range written {
					e, _ := ledger.Decode(value)
					if before, known := raw[e.WindowEnd.String()]; known && before != string(value) {
						r.Fatalf("the window ending %s has two outcomes", e.WindowEnd)
					}
					raw[e.WindowEnd.String()] = string(value)
				}
				if fate != "committed" {
					aborted = written
					break
				}
				committed = append(committed, values...)
			}
			offset = d.offset
		}
		secrets, of := map[string]string{}, map[string]string{}
		firings := map[string]int{}
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			e, err := ledger.Decode([]byte(raw[key]))
			if err != nil {
				r.Fatal(err)
			}
			for _, w := range e.Watches {
				name := fmt.Sprint(w.Name, w.Instance)
				if w.Arms {
					if _, twice := secrets[name]; twice || of[string(w.Sealed)] != "" {
						r.Fatalf("instance %s is armed twice, or its secret is that of %s", name, of[string(w.Sealed)])
					}
					secrets[name], of[string(w.Sealed)] = string(w.Sealed), name
				}
				if w.Looks() && w.Fired != nil {
					firings[name]++
					fired = true
				}
				if firings[name] > 1 {
					r.Fatalf("instance %s fires twice", name)
				}
			}
		}
		a := ledger.NewAudit()
		armed := int64(0)
		for i, value := range committed {
			e, _ := ledger.Decode(value)
			a.Entry(ledger.Position{Topic: "ledger", Offset: int64(i)}, e.Key(), value)
			for _, w := range e.Watches {
				if w.Arms {
					armed++
				}
			}
		}
		if f := a.Findings(); !f.OK || f.Instances != armed {
			r.Fatalf("%+v, want nothing wrong and %d instances", f, armed)
		}
	})
	if !fired || !adopted {
		t.Errorf("some instance fired: %v, some entry was adopted: %v; want both", fired, adopted)
	}
}

// TestWatchesNeedAKey: without the app's key nothing is armed.
func TestWatchesNeedAKey(t *testing.T) {
	w := &worker{Release: &Release{}, programs: []*program{alarmedProgram(t, "1000000", "1")}}
	if _, err := w.newSeal(); err == nil {
		t.Error("there is a seal without a key")
	}
	w.WatchKey = make([]byte, 32)
	if s, err := w.newSeal(); err != nil || s == nil {
		t.Errorf("%v, %v", s, err)
	}
}
