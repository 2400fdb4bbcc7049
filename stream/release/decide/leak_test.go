package decide

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// class says what a field of an entry or of a record may depend on.
type class int

const (
	public  class = iota + 1 // on the configuration, the schedule and earlier charges
	byDraws                  // on these, and on what mechanisms drew: it was drawn, or is computed from draws
)

// entryFields classes every field of an entry. A slice has a line for its length.
var entryFields = map[string]class{
	"App": public, "Stream": public, "Budget": public, "Input": public, "Output": public, "Epoch": public,
	"WindowStart": public, "WindowEnd": public, "DueAt": public, "ReleasedAt": public, "Every": public, "Until": public,
	"Limit.Epsilon": public, "Limit.Delta": public, "Limit.Per": public, "Limit.Order": public,
	"Continues": public, "Continues.": public, "PaidElsewhere": public,
	"Price": public, "Price.Promise.Kind": public, "Price.Promise.Epsilon": public, "Price.Promise.Delta": public,
	"Price.Promise.Rho": public, "Price.Times": public,
	"Cap.Count": public, "Cap.Per": public, "Cap.Era": public,
	"Reason": public, "Incomplete": public, "IncompleteIn": public, "IncompleteIn.": public,
	"Releases": public, "Releases.Name": public, "Releases.Statistic": public, "Releases.P": public,
	"Releases.Mechanism": public,
	"Releases.Unit":      public, "Releases.Epsilon": public, "Releases.Delta": public,
	"Releases.Buckets.Lower": public, "Releases.Buckets.Upper": public, "Releases.Buckets.Step": public,
	"Releases.Buckets.Ends": public, "Releases.Buckets.Ends.": public, "Releases.Buckets.Levels": public,
	"Releases.From": public, "Releases.Above": public, "Releases.Below": public,
	"Releases.Rollups": public, "Releases.Rollups.": public,
	"Periods": public, "Periods.Release": public, "Periods.Period": public, "Periods.Since.Time": public,
	"Periods.Until.Time": public,
	"Rollups":            public, "Rollups.Release": public, "Rollups.Period": public, "Rollups.Since.Time": public,
	"Rollups.Windows.Of": public, "Rollups.Windows.Released": public,
	"Rollups.Groups": public, "Rollups.Groups.Values": public, "Rollups.Groups.Values.Value": byDraws,
	"Rollups.Groups.Values.Error95": byDraws, "Rollups.Groups.Values.Quality": byDraws,
	"Rollups.Groups.Values.Interval.Level": public, "Rollups.Groups.Values.Interval.Low": byDraws,
	"Rollups.Groups.Values.Interval.High": byDraws,
	"Rollups.Groups.Values.Numbers.Raw":   public, "Rollups.Groups.Values.Numbers.Raw.": byDraws,
	"Rollups.Groups.Values.Numbers.Coarse": public, "Rollups.Groups.Values.Numbers.Coarse.": byDraws,
	"Groups.Values.Numbers.Raw": public, "Groups.Values.Numbers.Raw.": byDraws,
	"Groups.Values.Numbers.Coarse": public, "Groups.Values.Numbers.Coarse.": byDraws,
	"Groups": public, "Groups.Name": public, "Groups.Users": byDraws, "Groups.Reason": byDraws,
	"Groups.Values": public, "Groups.Values.Mechanism": byDraws, "Groups.Values.Value": byDraws,
	"Groups.Values.RankError95": byDraws,
	"Groups.Values.PLow":        byDraws, "Groups.Values.PHigh": byDraws, "Groups.Values.Error95": byDraws,
	"Groups.Values.Quality": byDraws, "Groups.Values.Raw": byDraws,
	"Groups.Values.Clip": byDraws, "Groups.Values.Clip.": byDraws,
	"Groups.Values.Outside.Value": byDraws, "Groups.Values.Outside.Error95": byDraws,
	"Groups.Values.Outside.Most": byDraws, "Groups.Values.Outside.Cut95": byDraws,
	"Groups.Values.Interval.Level": byDraws, "Groups.Values.Interval.Low": byDraws,
	"Groups.Values.Interval.High":  byDraws,
	"Groups.Values.Smoothed.Value": byDraws, "Groups.Values.Smoothed.Low": byDraws,
	"Groups.Values.Smoothed.High": byDraws,
	"Groups.Values.Band.Low":      byDraws, "Groups.Values.Band.High": byDraws, "Groups.Values.Band.Level": byDraws,
	"Groups.Values.Band.Basis":       byDraws,
	"Rollups.Groups.Values.Band.Low": byDraws, "Rollups.Groups.Values.Band.High": byDraws,
	"Rollups.Groups.Values.Band.Level": public, "Rollups.Groups.Values.Band.Basis": public,
	"Standing.StreamSpent": public, "Standing.BudgetSpent": public, "Standing.WindowsLeft": public,
	"Standing.Lost.Stream": public, "Standing.Lost.Budget": public, "Standing.Lost.Used": public,
	"Prior.Upto": public, "Prior.Hash": byDraws,
}

// figureFields classes every field of an output record.
var figureFields = map[string]class{
	"Schema": public, "ID": public, "Stream": public, "Group": public, "Release": public, "WindowStart": public,
	"WindowEnd": public, "DueAt": public,
	"Incomplete": public, "Statistic": public, "P": public, "Mechanism": byDraws, "Unit": public,
	"Value": byDraws, "Raw": byDraws, "Status": byDraws, "Reason": byDraws, "Epsilon": public, "Delta": public, "RankError95": byDraws,
	"Error95": byDraws, "Quality": byDraws,
	"Clip": byDraws, "Clip.": byDraws, "Outside.Value": byDraws, "Outside.Error95": byDraws, "Outside95": byDraws,
	"Cut95": byDraws, "Users": byDraws, "PLow": byDraws, "PHigh": byDraws,
	"Interval.Level": byDraws, "Interval.Low": byDraws, "Interval.High": byDraws,
	"BandFields.Low": byDraws, "BandFields.High": byDraws, "BandFields.Level": byDraws, "BandFields.Basis": byDraws,
	"Smoothed.Value": byDraws, "Smoothed.Low": byDraws, "Smoothed.High": byDraws,
	"MaxWindows.Count": public, "MaxWindows.Per": public, "StreamSpent": public, "Budget": public,
	"BudgetSpent": public,
	"BudgetLimit": public, "BudgetLeft": public,
	"Buckets.Ends": public, "Buckets.Groups": public, "Buckets.Raw": public,
	"Buckets.Raw.": byDraws, "Buckets.Coarse": public, "Buckets.Coarse.": byDraws, "Buckets.Count": public,
	"Buckets.Count.": byDraws, "From": public,
	"Windows.Of": public, "Windows.Released": public, "Counts": public,
	"LossFields.StreamLost": public, "LossFields.BudgetLost": public, "LossFields.WindowsUsed": public,
	"LossFields.Charge": public, "LossFields.Charge.Kind": public, "LossFields.Charge.Epsilon": public,
	"LossFields.Charge.Delta": public, "LossFields.Charge.Rho": public, "LossFields.Charge.Times": public,
}

// neverFilled are fields that no entry here has: when it was made, those of records in Avro (which hold the same), what
// a stream decides besides its windows, how many windows of a roll-up were incomplete, and what only bands have that
// learnt from more windows than these.
var neverFilled = map[string]bool{"ReleasedAt": true, "entry.OutputFormat": true, "entry.Lane": true,
	"entry.Cap.Lane": true, "entry.Rollups.Windows.Incomplete": true, "Windows.Incomplete": true,
	"entry.Groups.Values.Band.Usual95": true, "entry.Continual.Change.Values.Figure.Band.Usual95": true,
	"entry.Continual.Total.Groups.Band.Usual95": true, "entry.Continual.Active.Groups.Band.Usual95": true,
	"BandFields.Usual95": true}

// ofHistograms begins the fields that only histograms and figures from them have: no figure on change or total is one.
var ofHistograms = []string{"entry.Continual.Change.Release.Buckets.", "entry.Continual.Change.Release.From",
	"entry.Continual.Change.Release.Above", "entry.Continual.Change.Release.Below",
	"entry.Continual.Change.Values.Figure.Numbers.", "entry.Continual.Total.Release.Buckets.",
	"entry.Continual.Total.Release.From",
	"entry.Continual.Total.Release.Above", "entry.Continual.Total.Release.Below", "entry.Continual.Change.Release.Rollups",
	"entry.Continual.Total.Release.Rollups",
	"entry.Continual.Active.Release.Buckets.", "entry.Continual.Active.Release.From",
	"entry.Continual.Active.Release.Above", "entry.Continual.Active.Release.Below",
	"entry.Continual.Active.Release.Rollups",
	"entry.Continual.Change.Release.Last", "entry.Continual.Total.Release.Last", "entry.Continual.Active.Release.Last",
	"entry.Continual.Change.Release.Over", "entry.Continual.Total.Release.Over", "entry.Continual.Active.Release.Over",
	// Only clipped figures of a window have these.
	"entry.Continual.Change.Values.Figure.Outside.", "entry.Rollups.Groups.Values.Outside.",
	// A roll-up has no others.
	"entry.Rollups.Groups.Values.Raw",
	"entry.Rollups.Groups.Values.Mechanism", "entry.Rollups.Groups.Values.RankError95",
	"entry.Rollups.Groups.Values.P", "entry.Rollups.Groups.Values.Clip", "entry.Rollups.Groups.Values.Band.Usual95",
	"entry.Rollups.Groups.Values.Smoothed."}

// ofFound begins the fields that only streams have whose groups are found: see TestNothingGetsPastDiscoveries.
var ofFound = []string{"entry.List.", "entry.Continual.Watch.Always", "entry.Rollups.Groups.Windows", "entry.Discovery.",
	"record.List", "record.Other", "record.Threshold", "record.Joined", "record.Left", "record.Found"}

const everything = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b]
    max_groups: 2
    unit: ms
    max_windows: {count: 100, per: 1h}
    bounds: {lower: 0, upper: 1000, step: 1, prior: adaptive}
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 1}
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 1}
      - {name: middle, statistic: median, interval: 0.9, epsilon: 1}
      - {name: tails, statistic: quantiles, p: [0.5, 0.9], epsilon: 1}
      - {name: typical, statistic: trimmed_mean, trim: 0.1, epsilon: 1}
      - {name: approximate, statistic: mean, mechanism: smooth_laplace, epsilon: 1, delta: 0.0000001}
      - {name: concentrated, statistic: mean, mechanism: smooth_lln, epsilon: 0.5}
      - {name: average, statistic: mean, epsilon: 1}
      - {name: total, statistic: sum, epsilon: 1}
      - {name: usual, statistic: mode, epsilon: 1}
      - {name: slow, statistic: count, above: 500, epsilon: 1}
      - {name: beyond, statistic: outside, epsilon: 1}
      - {name: shape, statistic: histogram, buckets: [100, 200, 700], levels: 2, epsilon: 1, rollup: [2m, 4m, 1d],
         zone: Europe/Berlin}
      - {name: mid, statistic: median, from: shape}
      - {name: part, statistic: share, above: 500, from: shape}
      - {name: few, statistic: count, below: 50, from: shape}
      - {name: peak, statistic: mode, from: shape}
      - {name: users, statistic: count, epsilon: 1}
    min_users: {count: 50, release: users}
    output: {topic: out}
    budget: {epsilon: 80, delta: 0.00001, order: 1.4, per: 24h} # for several windows, the later ones under learnt measures
    on_exhausted: withhold
`

// scripted takes the place of a mechanism. What it draws follows a script and not the sample. Bounds of errors and the
// like are computed from what it is given as public, as those of real mechanisms are.
type scripted struct {
	mechanisms.Mechanism
	query  mechanisms.Query
	script *rand.Rand
}

// most is above the min_users of the stream, so that some groups of a script have too few users.
const most = 120

func (m scripted) Draw(_ *mechanisms.Sample, given mechanisms.Public, _ io.Reader) (mechanisms.Draw, error) {
	values := max(1, len(m.query.P))
	seen := m.script.Float64()
	if given.Users != nil {
		seen += float64(given.Users.Value) + given.Users.Epsilon
	}
	if given.Measure != nil {
		b, err := given.Measure.AppendBinary(nil)
		if err != nil {
			return mechanisms.Draw{}, err
		}
		for i, x := range b {
			seen += float64(int(x) * (i % 97))
		}
	}
	seen = math.Mod(seen, 10) // small enough that figures are useful, rough or noise, as the number of users has it
	low, high := 1/(2+seen), 1-1/(2+seen)
	if m.script.IntN(2) == 0 {
		low, high = math.NaN(), math.NaN()
	}
	d := mechanisms.Draw{Mechanism: []string{"one", "other"}[m.script.IntN(2)], Low: m.script.Int64N(most),
		Clip: []int64{m.script.Int64N(most), m.script.Int64N(most)},
		Outside: &mechanisms.Outsiders{Users: -m.script.Int64N(most), Error95: m.script.Int64N(most),
			Users95: m.script.Int64N(most), Cut95: seen}}
	d.High = d.Low + m.script.Int64N(most)
	if b := mechanisms.Buckets(m.Mechanism); b != nil {
		for _, numbers := range []struct {
			of *[]int64
			n  int
		}{{&d.Raw, b.Len()}, {&d.Coarse, b.Groups()}} {
			for range numbers.n {
				*numbers.of = append(*numbers.of, m.script.Int64N(most)-most/3)
			}
		}
	}
	for range values {
		raw := m.script.Int64N(most) - most/4
		d.Values = append(d.Values, mechanisms.Value{Number: max(raw, 0), Raw: &raw,
			Bound: mechanisms.Bound{RankError95: seen, Error95: seen, PLow: low, PHigh: high}})
	}
	return d, nil
}

// Whatever people send, the ledger, the output records and the log are the same, as long as the mechanisms draw the
// same and the tests fire alike. So nothing of a sample gets past them: no count, no withholding, no measure, and not
// the number of values. Scripts say what is drawn, and the samples are as different as can be, some of them by one user
// more.
//
// Each field of an entry and of a record has a class, and one that is public does not depend on what is drawn either. A
// new field must be classed.
func TestNothingGetsPast(t *testing.T) {
	fields := map[string]class{}
	for path, c := range entryFields {
		fields["entry."+path] = c
	}
	for path, c := range figureFields {
		fields["record."+path] = c
	}
	all := map[string]bool{}
	typePaths(reflect.TypeFor[ledger.Entry](), "entry", all)
	typePaths(reflect.TypeFor[record.Value](), "record", all)
	for path := range all {
		if slices.ContainsFunc(slices.Concat(ofHistograms, ofFound, ofSoFar),
			func(begins string) bool { return strings.HasPrefix(path, begins) }) {
			continue
		}
		if fields[path] == 0 && watchFields[path] == 0 && changeFields[path] == 0 && totalFields[path] == 0 && activeFields[path] == 0 &&
			soFarFields[path] == 0 && lastFields[path] == 0 &&
			!neverFilled[strings.TrimPrefix(path, "record.")] {
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
