package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release"
)

const streamsFile = `
version: 1
budgets: [{name: shared, epsilon: 2, per: 10m}]
streams:
  - name: fast
    input: {topic: in, user: u, value: v, group: g}
    groups: [eu, us]
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1m, grace: 5s, start: 2026-11-20T08:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 0.2}, {name: tail, statistic: quantiles, p: [0.9, 0.99], epsilon: 0.1}]
    output: {topic: out}
    budget: shared
    on_exhausted: withhold
  - name: hopping
    input: {topic: in, user: u, value: v}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 4m, every: 1m, grace: 5s, start: 2026-11-20T08:00:00Z}
    releases: [{name: p50, statistic: median, epsilon: 0.01}]
    output: {topic: out}
    budget: shared
    on_exhausted: withhold
`

func parsed(t testing.TB, file string) []*config.Stream {
	t.Helper()
	f, err := config.Parse("streams.yaml", []byte(file), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams
}

// ledgerOf decides so many minutes of the streams, in the order of due times, and publishes the windows from a number on.
func (w *world) ledgerOf(streams []*config.Stream, minutes, from int) *ledger.Books {
	w.Helper()
	books := ledger.NewBooks()
	for m := 1; m <= minutes; m++ {
		for _, s := range streams {
			end := epoch.Add(time.Duration(m) * time.Minute)
			if start := end.Add(-s.Window.Size); !start.Before(epoch) {
				w.decide(books, s, start, end, m > from)
			}
		}
	}
	return books
}

func (w *world) decide(books *ledger.Books, s *config.Stream, start, end time.Time, published bool) {
	w.Helper()
	w.draw(books, s, start, end, published, func(e *ledger.Entry) {
		for g := range e.Groups {
			for range e.Releases {
				e.Groups[g].Values = append(e.Groups[g].Values, ledger.Value{Value: new(decimal.NewFromInt(7))})
			}
		}
	})
}

// draw decides a window. If it is paid, fill gives its groups their values.
func (w *world) draw(books *ledger.Books, s *config.Stream, start, end time.Time, published bool, fill func(*ledger.Entry)) {
	w.Helper()
	e := ledger.Entry{Format: ledger.Format, App: "a", Stream: s.Name, Budget: s.Budget.Name, Input: "in", Output: s.Output, WindowStart: start, WindowEnd: end,
		DueAt: end.Add(s.Window.Grace), ReleasedAt: end.Add(s.Window.Grace), Every: s.Window.Every, Limit: s.Budget.Limit, Price: s.Price(), Releases: release.Series(s)}
	for _, g := range s.Groups {
		e.Groups = append(e.Groups, ledger.Group{Name: g})
	}
	if err := books.Settle(&e); err != nil {
		w.Fatal(err)
	}
	if e.Reason == "" {
		fill(&e)
	}
	records, err := e.Records()
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range records {
		if published {
			w.publish(0, string(r.Value))
		}
	}
	if err := books.Add(e); err != nil {
		w.Fatal(err)
	}
}

func ask(t testing.TB, h http.Handler, path string) string {
	t.Helper()
	a := httptest.NewRecorder()
	h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, nil))
	if a.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, a.Code, a.Body)
	}
	return a.Body.String()
}

func served(w *world, streams []*config.Stream, now time.Time) http.Handler {
	return newHandler(Config{Store: w.store, Streams: streams}, func() time.Time { return now })
}

// Who reads the outputs alone finds the same budget as who reads the ledger.
func TestBudgetIsThatOfTheLedger(t *testing.T) {
	streams := parsed(t, streamsFile)
	for _, minutes := range []int{3, 30} {
		w := newWorld(t, 1<<20)
		books := w.ledgerOf(streams, minutes, 0)
		now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
		var b strings.Builder
		if err := json.NewEncoder(&b).Encode(ledger.NewReport(books, now)); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, served(w, streams, now), "/api/v1/budget"); got != b.String() {
			t.Errorf("after %d minutes:\n%s\nwant\n%s", minutes, got, &b)
		}
	}
}

// The same with a watch that fires, holds, is armed again, and then is not allowed to be. The window of the firing is
// withheld in the second stream.
func TestBudgetWithAWatch(t *testing.T) {
	streams := parsed(t, strings.Replace(streamsFile, "    releases: [{name: p50, statistic: median, epsilon: 0.01}]\n",
		"    releases: [{name: p50, statistic: median, epsilon: 0.01}]\n    watches: [{name: slow, above: 5, users: 3, epsilon: 0.5, false_alarms: {at_most: 0.1, per: 1d}, hold: 2m, at_most: 2}]\n", 1))
	s := streams[slices.IndexFunc(streams, func(s *config.Stream) bool { return len(s.Watches) > 0 })]
	for _, minutes := range []int{5, 12, 30} {
		w := newWorld(t, 1<<20)
		books := ledger.NewBooks()
		for m := 1; m <= minutes; m++ {
			end := epoch.Add(time.Duration(m) * time.Minute)
			start := end.Add(-s.Window.Size)
			w.watched(books, s, start, end, func(*ledger.Entry) bool { return m == 7 || m == 10 })
		}
		now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
		want := ledger.NewReport(books, now)
		if len(want.Watches) != 1 {
			t.Fatalf("%+v", want.Watches)
		}
		var b strings.Builder
		if err := json.NewEncoder(&b).Encode(want); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, served(w, streams, now), "/api/v1/budget"); got != b.String() {
			t.Errorf("after %d minutes:\n%s\nwant\n%s", minutes, got, &b)
		}
	}
}

// The same with releases on change, with others and without. Their instances end in two windows and go on in the next.
func TestBudgetOnChange(t *testing.T) {
	const calm = "{name: calm, statistic: median, epsilon: 0.1, publish: on_change, tolerance: 0.1, watch_epsilon: 0.2, at_most: 2}"
	for _, releases := range []string{"{name: p50, statistic: median, epsilon: 0.01}, " + calm, calm} {
		streams := parsed(t, strings.Replace(streamsFile, "    releases: [{name: p50, statistic: median, epsilon: 0.01}]\n", "    releases: ["+releases+"]\n", 1))
		s := streams[slices.IndexFunc(streams, func(s *config.Stream) bool { return len(s.Watches) > 0 })]
		for _, minutes := range []int{5, 12, 30} {
			w := newWorld(t, 1<<20)
			books := ledger.NewBooks()
			for m := 1; m <= minutes; m++ {
				end := epoch.Add(time.Duration(m) * time.Minute)
				w.watched(books, s, end.Add(-s.Window.Size), end, func(*ledger.Entry) bool { return m == 7 || m == 10 })
			}
			now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
			var b strings.Builder
			if err := json.NewEncoder(&b).Encode(ledger.NewReport(books, now)); err != nil {
				t.Fatal(err)
			}
			// Records do not say whether the last instance fired or was ended. Either way it looks no more.
			want := strings.ReplaceAll(b.String(), `"state":"fired"`, `"state":"ended"`)
			if got := ask(t, served(w, streams, now), "/api/v1/budget"); got != want || !strings.Contains(got, `"watch":"calm"`) {
				t.Errorf("%s after %d minutes:\n%s\nwant\n%s", releases, minutes, got, want)
			}
			said := ask(t, served(w, streams, now), "/api/v1/statement?stream="+s.Name)
			if !strings.Contains(said, "Release calm costs one person ε 0.3 until it changes, over all windows together, at most 2 times in a period of the budget. The first time it costs ε 0.1 more: at most ε 0.4.") ||
				strings.Contains(said, "Beside its releases on change, one window costs one person at most ε 0.01. Of 100 guesses whether that person is in it, by these figures alone, at most 51 are right.") != strings.Contains(releases, "p50") {
				t.Errorf("%s", said)
			}
		}
	}
}

// watched decides a window of a stream with watches or releases on change, and publishes it.
func (w *world) watched(books *ledger.Books, s *config.Stream, start, end time.Time, fires func(*ledger.Entry) bool) {
	w.Helper()
	e := ledger.Entry{Format: ledger.Format, App: "a", Stream: s.Name, Budget: s.Budget.Name, Input: "in", Output: s.Output, WindowStart: start, WindowEnd: end,
		DueAt: end.Add(s.Window.Grace), ReleasedAt: end.Add(s.Window.Grace), Every: s.Window.Every, Limit: s.Budget.Limit, Price: s.Price(), Releases: release.Series(s)}
	for _, g := range s.Groups {
		e.Groups = append(e.Groups, ledger.Group{Name: g})
	}
	for _, x := range s.Watches {
		of := ledger.Watch{Name: x.Name, Definition: x.Definition, Cost: x.Price(), First: x.First(), AtMost: x.AtMost, Hold: int64(x.Hold.Seconds())}
		if x.Release != nil {
			of.Release = &ledger.Release{Name: x.Name, Statistic: string(x.Release.Query.Statistic), Mechanism: x.Release.Mechanism.Name(), Epsilon: x.Release.Query.Epsilon}
		}
		e.Watches = append(e.Watches, of)
	}
	if err := books.Settle(&e); err != nil {
		w.Fatal(err)
	}
	for i := range e.Watches {
		x := &e.Watches[i]
		if x.Arms {
			x.Sealed = []byte("sealed")
		}
		if x.Looks() && fires(&e) {
			x.Fire(e, e.Groups[0].Name)
		}
		for g := range x.Values {
			if x.Draws(e.Groups[g].Name) {
				x.Redraw(e, g, ledger.Value{Value: new(decimal.NewFromInt(7))})
			}
		}
	}
	if e.Reason == "" {
		for g := range e.Groups {
			for range e.Releases {
				e.Groups[g].Values = append(e.Groups[g].Values, ledger.Value{Value: new(decimal.NewFromInt(7))})
			}
		}
	}
	records, err := e.Records()
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range records {
		w.publish(0, string(r.Value))
	}
	if err := books.Add(e); err != nil {
		w.Fatal(err)
	}
}

// A window that is decided later than a newer one of another stream is not missing: the newer one's record could not know it.
func TestBudgetOfALateWindow(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	books := ledger.NewBooks()
	minute := func(m int) time.Time { return epoch.Add(time.Duration(m) * time.Minute) }
	w.decide(books, streams[1], minute(0), minute(4), true)
	w.decide(books, streams[0], minute(0), minute(1), true)
	var b strings.Builder
	if err := json.NewEncoder(&b).Encode(ledger.NewReport(books, minute(5))); err != nil {
		t.Fatal(err)
	}
	want(t, "the report", ask(t, served(w, streams, minute(5)), "/api/v1/budget"), b.String())
}

// Fewer returns are the same ε: the next one as it is, and none before it is really back.
func TestFewerReturns(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	w.ledgerOf(streams, 30, 0)
	h := served(w, streams, epoch.Add(30*time.Minute+10*time.Second))
	type back struct {
		At      time.Time
		Epsilon decimal.Decimal
	}
	type answer struct {
		Streams []any
		Budgets []struct{ Returns []back }
	}
	get := func(query string) (a answer) {
		if err := json.Unmarshal([]byte(ask(t, h, "/api/v1/budget"+query)), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	upTo := func(all []back, until time.Time) (sum decimal.Decimal) {
		for _, r := range all {
			if !r.At.After(until) {
				sum = sum.Add(r.Epsilon)
			}
		}
		return sum
	}
	all := get("")
	full := all.Budgets[0].Returns
	if len(all.Streams) != 2 || len(full) < 5 {
		t.Fatalf("%d streams, %d returns; want 2 and some", len(all.Streams), len(full))
	}
	for n := 1; n <= len(full)+1; n++ {
		a := get(fmt.Sprint("?only=budgets&returns=", n))
		few := a.Budgets[0].Returns
		if a.Streams != nil || len(few) > n || n > 1 && (!few[0].At.Equal(full[0].At) || !few[0].Epsilon.Equal(full[0].Epsilon)) {
			t.Errorf("%d: %v, streams %v", n, few, a.Streams)
		}
		for _, r := range full {
			if upTo(few, r.At).GreaterThan(upTo(full, r.At)) {
				t.Errorf("%d returns: more is said to be back at %s than is", n, r.At)
			}
		}
		if end := full[len(full)-1].At; !upTo(few, end).Equal(upTo(full, end)) {
			t.Errorf("%d returns: %s in all; want %s", n, upTo(few, end), upTo(full, end))
		}
	}
}

func TestBudgetOfAnIncompletePast(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	w.ledgerOf(streams, 30, 28)
	for name, known := range map[string][]*config.Stream{"declared": streams, "from records alone": nil} {
		var r struct {
			Streams []map[string]any
			Budgets []map[string]any
		}
		if err := json.Unmarshal([]byte(ask(t, served(w, known, epoch.Add(31*time.Minute)), "/api/v1/budget")), &r); err != nil {
			t.Fatal(err)
		}
		newest, err := w.store.latest(selection{streams: []string{"hopping"}})[0].decode() // the last to be decided
		if err != nil || len(r.Budgets) != 1 || len(r.Streams) != 2 {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		b := r.Budgets[0]
		if b["budget"] != "shared" || b["partial"] != true || fmt.Sprint(b["epsilon_spent"]) != newest.BudgetSpent.String() || fmt.Sprint(b["epsilon_limit"]) != "2" || b["exhausted_at"] != nil {
			t.Errorf("%s: %+v; want what the newest record says, %s", name, b, newest.BudgetSpent)
		}
		if s := r.Streams[1]; s["stream"] != "hopping" || fmt.Sprint(s["epsilon_total"]) != newest.StreamSpent.String() {
			t.Errorf("%s: %+v; want a total of %s", name, s, newest.StreamSpent)
		}
	}
}

func TestStatement(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	h := served(w, streams, epoch)
	var got struct{ Streams []statement }
	if err := json.Unmarshal([]byte(ask(t, h, "/api/v1/statement")), &got); err != nil || len(got.Streams) != 2 {
		t.Fatal(err, got)
	}
	var sentences []string
	for _, s := range got.Streams {
		for _, l := range s.Losses {
			sentences = append(sentences, fmt.Sprintf("%s %s %d: %s", s.Stream, l.Scope, l.Right, l.Sentence))
		}
	}
	// A stretch of 10 minutes is overlapped by up to 11 windows of one minute and 14 of four. Together they cost
	// 11·0.3 + 14·0.01 = 3.44. A day has 144 periods of 10 minutes, each of which pays at most 2, and the schedule wants more.
	want(t, "sentences", strings.Join(sentences, "\n"), strings.TrimSpace(`
fast window 58: One window costs one person at most ε 0.3. Of 100 guesses whether that person is in it, at most 58 are right.
fast day 100: In any 24 h one person loses at most ε 288, counting the windows that end in it. That is too much to hide whether that person is in any of them: somebody who knows all the others can nearly always tell.
fast budget 89: The windows that end in any 10m cost one person at most ε 2. Of 100 guesses whether that person is in any of them, at most 89 are right.
fast stretch 97: What one person does in any 10m falls into up to 25 windows. Together they cost at most ε 3.44. Of 100 guesses whether that person is in any of them, at most 97 are right.
hopping window 51: One window costs one person at most ε 0.01. Of 100 guesses whether that person is in it, at most 51 are right.
hopping event 51: One event falls into up to 4 windows. Together they cost its person at most ε 0.04. Of 100 guesses whether that person is in any of them, at most 51 are right.
hopping day 100: In any 24 h one person loses at most ε 288, counting the windows that end in it. That is too much to hide whether that person is in any of them: somebody who knows all the others can nearly always tell.
hopping budget 89: The windows that end in any 10m cost one person at most ε 2. Of 100 guesses whether that person is in any of them, at most 89 are right.
hopping stretch 97: What one person does in any 10m falls into up to 25 windows. Together they cost at most ε 3.44. Of 100 guesses whether that person is in any of them, at most 97 are right.`))
	if err := json.Unmarshal([]byte(ask(t, h, "/api/v1/statement?stream=hopping")), &got); err != nil || len(got.Streams) != 1 {
		t.Error(err, got)
	}
	w.publish(0, text("foreign", "", "users", 1, "1"))
	a := httptest.NewRecorder()
	h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/api/v1/statement?stream=foreign", nil))
	if a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), "in no streams file") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	forever := parsed(t, strings.Replace(streamsFile, "epsilon: 2, per: 10m", "epsilon: 30, per: forever", 1))
	if got := ask(t, served(w, forever, epoch), "/api/v1/statement?stream=fast"); !strings.Contains(got, "All windows together, for ever, cost one person at most ε 30. That is too much to hide") {
		t.Error(got)
	}
}

func TestStreams(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	now := epoch.Add(90 * time.Second)
	get := func() (all []streamInfo) {
		var got struct {
			Streams []streamInfo
			Reading Reading
		}
		if err := json.Unmarshal([]byte(ask(t, served(w, streams, now), "/api/v1/streams")), &got); err != nil || !got.Reading.OK {
			t.Fatal(err, got.Reading)
		}
		return got.Streams
	}
	s := get()[0]
	if s.Newest != nil || s.NextDue.Format(time.RFC3339) != "2026-11-20T08:02:05Z" {
		t.Errorf("before the first record: newest %v, next %v", s.Newest, s.NextDue)
	}
	var names []string
	for _, r := range s.Releases {
		names = append(names, fmt.Sprint(r.Release, cell(r.P)))
	}
	want(t, "releases", names, []string{"users", "tail.p900.9", "tail.p990.99"})
	w.ledgerOf(streams, 5, 0)
	w.publish(0, text("foreign", "x", "users", 1, "1"))
	w.publish(0, text("fast", "ap", "old", 0, "1")) // of an earlier definition
	all := get()
	s, foreign := all[0], all[2]
	want(t, "newest", s.Newest.Format(time.RFC3339), "2026-11-20T08:05:00Z")
	want(t, "oldest", s.Oldest.Format(time.RFC3339), "2026-11-20T08:01:00Z")
	want(t, "next", s.NextDue.Format(time.RFC3339), "2026-11-20T08:06:05Z")
	want(t, "groups", s.Groups, []string{"eu", "us", "ap"})
	want(t, "a former release", s.Releases[3].Release, "old")
	if foreign.Stream != "foreign" || foreign.Declared || foreign.MaxGroups != nil || *foreign.Window.Size != 60 || foreign.Window.Every != nil || foreign.Budget != "b" || foreign.NextDue != nil {
		t.Errorf("%+v", foreign)
	}
}
