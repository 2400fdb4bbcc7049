package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
	"github.com/louver/louver/windows/period"
)

// pastWindow is what a brute sum needs to know of a window.
type pastWindow struct {
	edition  int // windows of different editions are not added up
	start    time.Time
	numbers  []ledger.Numbers
	together bool
	broken   bool
}

// stretchLine makes the entries of a stream that adds up the newest time, and keeps all windows beside them.
type stretchLine struct {
	*rollupLine
	every    time.Duration
	random   *rand.Rand
	edition  int
	together bool
	past     []pastWindow
	newest   time.Time
}

// next adds a window so many steps after the newest one, and compares all its sums with those of the windows.
func (l *stretchLine) next(steps int, reason string) ledger.Entry {
	l.t.Helper()
	start := l.newest.Add(time.Duration(steps) * l.every)
	one := pastWindow{edition: l.edition, start: start, together: l.together, broken: l.random.IntN(9) == 0}
	l.change = func(e *ledger.Entry) {
		e.Every, e.WindowStart, e.WindowEnd = l.every, start, start.Add(l.every)
		e.DueAt, e.ReleasedAt = e.WindowEnd, e.WindowEnd
		r := slices.Clone(e.Releases)
		r[0].Rollups, r[0].Last = nil, lengths(l.every, 3, 12, 400)
		r[3].Over = lengths(l.every, 1, 12, 577)
		if l.edition%2 == 1 {
			r[0].Epsilon = ledgertest.Dec("0.4")
		}
		e.Releases, e.Incomplete = r, one.broken
		if l.together {
			e.Together = &ledger.Together{Name: "all", Counts: record.UserGroups}
		}
		for g := range e.Groups {
			n := &ledger.Numbers{Raw: make([]int64, 5), Coarse: make([]int64, 2)}
			for _, x := range [][]int64{n.Raw, n.Coarse} {
				for i := range x {
					x[i] = l.random.Int64N(900) - 100
				}
			}
			e.Groups[g].Values[0].Numbers, e.Groups[g].Values[0].Value = n, new(decimal.NewFromInt(1))
			one.numbers = append(one.numbers, *n)
		}
	}
	e := l.window(0, 1, reason)
	if reason == "" {
		l.past = append(l.past, one)
	}
	if steps <= 0 {
		if len(e.Rollups)+len(e.Objectives) > 0 {
			l.t.Fatalf("a late window has %d roll-ups", len(e.Rollups))
		}
		return e
	}
	l.newest = start
	for i, n := range []int64{3, 12, 400} {
		l.compare(e, e.Rollups[i], n)
	}
	for i, n := range []int64{1, 12, 577} {
		l.compareObjective(e, e.Objectives[0].Over[i], n)
	}
	return e
}

func lengths(every time.Duration, windows ...int) (all []string) {
	for _, n := range windows {
		all = append(all, period.Name(time.Duration(n)*every))
	}
	return all
}

// within are the windows of a stretch of n: those of the edition, from the first block that is in it as a whole.
func (l *stretchLine) within(n int64) (all []pastWindow, since time.Time, of int64) {
	block := l.every
	for int64(block/l.every)*288 < n {
		block += l.every
	}
	end := l.newest.Add(l.every)
	since = end.Add(-time.Duration(n) * l.every)
	for since.UnixNano()%int64(block) != 0 {
		since = since.Add(l.every)
	}
	for _, w := range l.past {
		if w.edition == l.edition && !w.start.Before(since) {
			all = append(all, w)
		}
	}
	return all, since, int64(end.Sub(since) / l.every)
}

func (l *stretchLine) compare(e ledger.Entry, up ledger.Rollup, n int64) {
	l.t.Helper()
	all, since, of := l.within(n)
	want := record.Windows{Of: of, Released: int64(len(all))}
	var sums []ledger.Numbers // of eu, of a<b, of all
	together, draws := record.Windows{Of: of}, 0
	for range 3 {
		sums = append(sums, ledger.Numbers{Raw: make([]int64, 5), Coarse: make([]int64, 2)})
	}
	plus := func(to *ledger.Numbers, n ledger.Numbers) {
		for i := range n.Raw {
			to.Raw[i] += n.Raw[i]
		}
		for i := range n.Coarse {
			to.Coarse[i] += n.Coarse[i]
		}
	}
	for _, w := range all {
		broken := int64(0)
		if w.broken {
			broken = 1
		}
		want.Incomplete += broken
		if w.together {
			together.Released, together.Incomplete, draws = together.Released+1, together.Incomplete+broken, draws+2
		}
		for g, n := range w.numbers {
			if plus(&sums[g], n); w.together {
				plus(&sums[2], n)
			}
		}
	}
	if up.Windows != want || !up.Since.Equal(since) || (len(up.Groups) > 0) != (want.Released > 0) {
		l.t.Fatalf("%s, %s: %+v since %s, want %+v since %s", e.Name(), up.Period, up.Windows, up.Since, want, since)
	}
	for g, of := range up.Groups {
		if got := ledgertest.JSON(l.t, of.Values[0].Numbers); got != ledgertest.JSON(l.t, sums[g]) {
			l.t.Fatalf("%s, %s of group %d: %s, want %v", e.Name(), up.Period, g, got, sums[g])
		}
	}
	switch {
	case !l.together || together.Released == 0:
		if up.Together != nil && up.Together.Windows.Released > 0 {
			l.t.Fatalf("%s, %s: all groups have %+v", e.Name(), up.Period, up.Together)
		}
	case *up.Together.Windows != together || ledgertest.JSON(l.t, up.Together.Values[0].Numbers) !=
		ledgertest.JSON(l.t, sums[2]):
		l.t.Fatalf("%s, %s: all groups have %+v, want %+v and %v", e.Name(), up.Period, up.Together, together, sums[2])
	}
}

func (l *stretchLine) compareObjective(e ledger.Entry, over ledger.Over, n int64) {
	l.t.Helper()
	all, _, of := l.within(n)
	_, b, err := e.Releases[0].Buckets.Open()
	if err != nil {
		l.t.Fatal(err)
	}
	sums := make([][2]int64, 2)
	for _, w := range all {
		for g, n := range w.numbers {
			above, users := b.Estimate(n.Raw, n.Coarse, histogram.Noise{}, 1).Above(2) // 800 ends the third bucket
			sums[g][0], sums[g][1] = sums[g][0]+above, sums[g][1]+users
		}
	}
	if over.Of != of || over.Windows != int64(len(all)) || len(all) > 0 && !slices.Equal(over.Sums, sums) {
		l.t.Fatalf("%s: the objective has %+v; want %d of %d windows and %v", e.Name(), over, len(all), of, sums)
	}
}

// What is added up over the newest time is the sum of the windows, whatever is between them: gaps, withheld and late
// windows, edits, restarts at any window, and blocks of one or of several windows.
func TestTheNewestTimeIsTheSumOfItsWindows(t *testing.T) {
	for _, every := range []time.Duration{15 * time.Minute, time.Minute} {
		l := &stretchLine{rollupLine: newRollupLine(t), every: every, random: rand.New(rand.NewPCG(1, uint64(every))),
			newest: at("2026-11-20T08:00:00Z")}
		for i := range 900 {
			switch i {
			case 300, 310:
				l.edition++
			case 100, 420, 450:
				l.together = !l.together
				for k := range l.past { // without all groups together for a while, they begin anew
					l.past[k].together = false
				}
			}
			steps, reason := 1, ""
			switch x := l.random.IntN(40); {
			case x < 3:
				reason = record.BudgetExhausted
			case x < 5:
				steps += 1 + l.random.IntN(8)
			case x == 5 && i > 0:
				l.restart()
			}
			l.next(steps, reason)
			if gap := steps > 1; gap && i != 299 && i != 309 && l.random.IntN(2) == 0 {
				l.next(-1, "") // one of those that were left out, of an older edition with a longer grace
			}
		}
	}
}

// A group that is found counts from the window on in which it joined the list. All groups together are the sum of each
// window's groups.
func TestTheNewestTimeOfFoundGroups(t *testing.T) {
	l, away := newRollupLine(t), false
	l.change = func(e *ledger.Entry) {
		e.List = &ledger.List{Of: new(record.Whole(e.WindowStart)), Rules: ledger.Rules{Source: "in region", Keep: 3600, Max: 9}}
		e.Releases = slices.Clone(e.Releases)
		e.Releases[0].Rollups, e.Releases[0].Last = []string{"1h"}, []string{"1h"}
		e.Together = &ledger.Together{Name: "all"}
		if slices.Reverse(e.Groups); away {
			e.Groups = e.Groups[:1]
		}
	}
	l.window(0, 100, "")
	away = true
	l.window(1, 100, "")
	away = false
	l.window(2, 100, "")
	e := l.window(3, 100, "")
	for _, up := range e.Rollups { // of the hour, and of the last hour
		for g, want := range []int64{4, 2} { // of a<b, and of eu, which was away
			if of := up.Groups[g]; of.Windows.Released != want || of.Values[0].Numbers.Raw[0] != 100*want {
				t.Errorf("%s: group %d has %d windows and the number %d, want %d windows of 100 each", up.Period, g,
					of.Windows.Released, of.Values[0].Numbers.Raw[0], want)
			}
		}
		if all := up.Together; all.Windows.Released != 4 || all.Values[0].Numbers.Raw[0] != 700 {
			t.Errorf("%s of all: %d windows and the number %d, want 4 and 700", up.Period, all.Windows.Released,
				all.Values[0].Numbers.Raw[0])
		}
	}
}

// Records of all groups together, of the newest time and of objectives follow the schema. They cost nothing, each has
// its own id, and the noise of all groups together is that of their draws.
func TestRecordsOfTheNewestTime(t *testing.T) {
	s := recordtest.Compile(t)
	l := &stretchLine{rollupLine: newRollupLine(t), every: time.Minute, random: rand.New(rand.NewPCG(2, 2)),
		together: true,
		newest:   at("2026-11-20T08:00:00Z")}
	for range 7 {
		l.next(1, "")
	}
	seen := map[string]bool{}
	for range 3 {
		e := l.next(1, "")
		back, err := ledger.Decode(ledgertest.Encode(t, e))
		if err != nil {
			t.Fatal(err)
		}
		records := ledgertest.Records(t, back)
		if len(records) != e.Size() || len(records) != 7*4*3 {
			t.Fatalf("%d records, %d announced; want 7 figures of 4 times and 3 groups", len(records), e.Size())
		}
		errors := map[string]float64{}
		for _, r := range records {
			f := s.Follows(t, "record", r.Value)
			id, group, release := f["id"].(string), f["group"].(string), f["release"].(string)
			if seen[id] {
				t.Errorf("id %s comes twice", id)
			}
			seen[id] = true
			if group == "all" && (f["together"] != true || fmt.Sprint(f["epsilon"]) != "0" || f["counts"] == nil) ||
				group != "all" && f["together"] != nil {
				t.Errorf("%s", r.Value)
			}
			if release == "latency" || release == "latency.last_3m" {
				errors[group+" "+release], _ = e95(f)
			}
			if over, has := f["over"].([]any); has != (release == "slow" && group != "all") || has && len(over) != 3 {
				t.Errorf("%s says %v of its objective", release, over)
			}
		}
		// Two groups have √2 times the noise, and three windows √3 times, apart from the last whole user.
		for name, times := range map[string]float64{"all latency": 1.414, "eu latency.last_3m": 1.732,
			"all latency.last_3m": 2.449} {
			if got, one := errors[name], errors["eu latency"]; got < times*(one-1) || got > times*one+1 {
				t.Errorf("the error of %s is %v; want %v times %v", name, got, times, one)
			}
		}
	}
}

func e95(f map[string]any) (float64, error) {
	d, err := decimal.NewFromString(fmt.Sprint(f["error_95"]))
	return d.InexactFloat64(), err
}
