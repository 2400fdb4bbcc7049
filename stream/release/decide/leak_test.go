package decide

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// Whatever people send, the ledger, the output records and the log are the same, as long as the mechanisms draw the
// same and the tests fire alike. So nothing of a sample gets past them: no count, no withholding, no measure, and not
// the number of values. Scripts say what is drawn, and the samples are as different as can be, some of them by one user
// more.
//
// Each field of an entry and of a record has a class, and one that is public does not depend on what is drawn either. A
// new field must be classed.
func TestNothingGetsPast(t *testing.T) {
	fields := maps.Clone(entryFields)
	maps.Copy(fields, figureFields)
	all := map[string]bool{}
	typePaths(reflect.TypeFor[ledger.Entry](), "entry", all)
	typePaths(reflect.TypeFor[record.Value](), "record", all)
	for path := range all {
		if begins(path, ofHistograms) || begins(path, ofFound) || begins(path, ofSoFar) {
			continue
		}
		if !neverFilled[path] && !slices.ContainsFunc([]map[string]class{fields, watchFields, changeFields, totalFields,
			activeFields, soFarFields, lastFields}, func(of map[string]class) bool { return of[path] != 0 }) {
			t.Errorf("%s is not classed: may it depend on the configuration alone, or on what was drawn too?", path)
		}
	}
	for path := range fields {
		if !all[path] {
			t.Errorf("%s is classed, but there is no such field", path)
		}
	}
	for name, c := range map[string]struct {
		yaml    string
		scripts int
		fields  map[string]class
		absent  map[string]bool // fields that are never there
		// fields that differ where exact counts are released: otherwise the test notices nothing
		noticed []string
	}{
		"the mechanisms": {everything, 4, fields, nil, []string{"entry.Groups.Users", "entry.Groups.Reason",
			"entry.Groups.Values.PLow", "record.Users", "record.Status"}},
		"the watches": {watched, 6, watchFields, watchNeverFilled, []string{"entry.Continual.Watch.Fired"}},
		"figures on change": {redrawn, 6, changeFields, changeNeverFilled,
			[]string{"record.Changed", "entry.Continual.Change.Fired"}},
		"active users":   {lately, 4, activeFields, activeNeverFilled, []string{"entry.Continual.Active.Groups.Draw"}},
		"running totals": {totalled, 4, totalFields, totalNeverFilled, []string{"entry.Continual.Total.Groups.Draws."}},
		"the newest time, all groups together and objectives": {lastly, 6, lastFields, lastNeverFilled,
			[]string{"entry.Together.Values.Numbers.Raw.", "entry.Rollups.Together.Values.Numbers.Raw.",
				"entry.Objectives.Over.Sums.", "record.Over.Users"}},
		"distributions so far": {distributed, 4, soFarFields, nil,
			[]string{"entry.Continual.SoFar.Groups.Values.Numbers.Raw."}},
	} {
		t.Run(name, func(t *testing.T) {
			scripts := play(t, c.yaml, c.scripts)
			one := decideScripted(t, c.yaml, 0, samples["one too few"], true)
			two := decideScripted(t, c.yaml, 0, samples["just enough"], true)
			for _, path := range c.noticed {
				if slices.Equal(one.leaves[path], two.leaves[path]) {
					t.Errorf("%s is the same although counts are exact: the test notices nothing", path)
				}
			}
			for path, class := range c.fields {
				same, filled := true, false
				for _, s := range scripts {
					same = same && slices.Equal(scripts[0].leaves[path], s.leaves[path])
					filled = filled ||
						slices.ContainsFunc(s.leaves[path], func(leaf string) bool { return leaf != absent })
				}
				if filled == c.absent[path] {
					t.Errorf("%s is there: %v", path, filled)
				}
				if same != (class == public) && !c.absent[path] {
					t.Errorf("%s is classed %v: the same in all scripts is %v", path, class, same)
				}
			}
		})
	}
}

// play has n scripts decide for every sample. A script must write the same for all of them.
func play(t *testing.T, yaml string, n int) map[int]transcript {
	t.Helper()
	scripts := map[int]transcript{}
	for script := range n {
		for name, sample := range samples {
			got := decideScripted(t, yaml, uint64(script), sample, false)
			want, known := scripts[script]
			if !known {
				scripts[script] = got
				continue
			}
			if !maps.EqualFunc(want.leaves, got.leaves, slices.Equal) {
				t.Errorf("script %d, sample %q: fields depend on the sample:\n%s", script, name,
					cmp.Diff(want.leaves, got.leaves))
			}
			if !slices.Equal(want.bytes, got.bytes) {
				t.Errorf("script %d, sample %q: what is written depends on the sample:\n%s", script, name,
					cmp.Diff(want.bytes, got.bytes))
			}
		}
	}
	return scripts
}

// samples are what people send in the w-th window.
var samples = map[string]func(w int) []userVisit{
	"nobody":          func(int) []userVisit { return nil },
	"one user":        func(int) []userVisit { return users(1, "a", 700) },
	"one too few":     func(int) []userVisit { return users(49, "a", 3) },
	"just enough":     func(int) []userVisit { return users(50, "a", 3) },
	"many in group b": func(int) []userVisit { return users(3000, "b", 999) },
	"beyond bounds":   func(int) []userVisit { return append(users(60, "a", -1), users(60, "b", 1001)...) },
	"it varies": func(
		w int) []userVisit {
		return append(users(uint64(20*w), "a", int64(w)), users(5, "b", 500)...)
	},
}

// transcript is all that is written of some windows.
type transcript struct {
	leaves map[string][]string // of entries and records, by their path
	bytes  []string            // entries, records and lines of the log
}

// decideScripted decides windows of one sample, of a stream that is configured by text, until the budget is exhausted.
// leaks replaces what is drawn of counts by the exact count.
func decideScripted(t *testing.T, text string, script uint64, sample func(w int) []userVisit,
	leaks bool) transcript {
	t.Helper()
	got := transcript{leaves: map[string][]string{}}
	random := rand.New(rand.NewPCG(script, 7))
	d := playing(t, editionsOf(t, text), func(c *Core) {
		p := c.programs[0]
		for i := range p.draws {
			p.draws[i].mechanism = scripted{p.draws[i].mechanism, p.draws[i].query, random}
			if leaks {
				p.draws[i].mechanism = counter{p.draws[i].mechanism}
			}
		}
		for _, of := range config.All[config.Adder](p.Stream) {
			m := of.Adds().Mechanism
			m.Strategy = scriptedTotal{m.Strategy, random, leaks}
		}
		for _, of := range config.All[*config.Active](p.Stream) {
			of.Mechanism.Active = scriptedActive{of.Mechanism.Active, random, leaks}
		}
		for i := range p.continual {
			if p.continual[i].tester != nil {
				p.continual[i].tester = scriptedTester{random, leaks}
			}
			if f, ok := p.continual[i].kind.(*changer); ok {
				f.mechanism = scripted{f.mechanism, f.query, random}
			}
		}
		// The window before the first one was withheld, and another budget had paid before.
		first := p.Schedule.First()
		e := p.blank("app", windows.Window{Start: first.Start - int64(p.Schedule.Every), End: first.Start})
		e.Reason, e.PaidElsewhere = record.BudgetExhausted, ledger.PaidElsewhere{"elsewhere": new(decimal.NewFromInt(3))}
		if err := c.own.Books.Add(e); err != nil {
			t.Fatal(err)
		}
	})
	d.settings.Lineage, d.inputs = map[string][]string{"s": {"old"}}, 2
	d.session(d.settings)
	for i := range 8 {
		d.give(d.editions[0], sample(i), trouble{lost: int64(i / 7)}) // something of the last one is lost
		for _, e := range d.decided() {
			got.entry(t, e)
		}
	}
	got.bytes = append(got.bytes, d.lines()...)
	return got
}

// entry notes an entry and its records.
func (s *transcript) entry(t *testing.T, e ledger.Entry) {
	t.Helper()
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.bytes = append(s.bytes, string(value))
	s.note("entry", reflect.ValueOf(e))
	records, err := e.Records()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		s.bytes = append(s.bytes, fmt.Sprintf("%s %s %s %s %s", r.Topic, r.Key, r.Value, r.Headers, r.Time))
		var f record.Value
		if err := json.Unmarshal(r.Value, &f); err != nil {
			t.Fatal(err)
		}
		s.note("record", reflect.ValueOf(f))
	}
}
