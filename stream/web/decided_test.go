package web

import (
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/decide"
	"github.com/louver/louver/windows"
)

const streamsFile = `
version: 1
budgets: [{name: shared, epsilon: 2, per: 10m}]
streams:
  - name: fast
    input: {topic: in, user: u, value: v, group: g, where: {kind: server}}
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
	f, err := parse.File("streams.yaml", []byte(file), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams
}

// ledgerOf decides so many minutes of the streams, in the order of due times, and publishes the windows from a number
// on.
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
	w.draw(books, s, start, end, published, sevens)
}

// entry is that of a window that is not decided yet.
func entry(s *config.Stream, start, end time.Time) ledger.Entry {
	e := ledger.Entry{App: "a", Stream: s.Name, Budget: s.Budget.Name, Input: "in", Output: s.Output,
		WindowStart: start, WindowEnd: end, DueAt: end.Add(s.Window.Grace), ReleasedAt: end.Add(s.Window.Grace),
		Every: s.Window.Every, Limit: s.Budget.Limit, Price: s.Price(), Releases: s.Series()}
	for _, g := range s.Groups {
		e.Groups = append(e.Groups, ledger.Group{Name: g})
	}
	return e
}

// draw decides a window. If it is paid, fill gives its groups their values.
func (w *world) draw(books *ledger.Books, s *config.Stream, start, end time.Time, published bool,
	fill func(*ledger.Entry)) {
	w.Helper()
	e := entry(s, start, end)
	if err := books.Settle(&e); err != nil {
		w.Fatal(err)
	}
	if e.Reason == "" {
		fill(&e)
	}
	if published {
		w.say(e)
	}
	if err := books.Add(e); err != nil {
		w.Fatal(err)
	}
}

// sevens gives all figures of a window the same value.
func sevens(e *ledger.Entry) {
	for g := range e.Groups {
		for range e.Releases {
			e.Groups[g].Values = append(e.Groups[g].Values, ledger.Value{Value: new(decimal.NewFromInt(7))})
		}
	}
}

// say publishes the records of an entry.
func (w *world) say(e ledger.Entry) {
	w.Helper()
	records, err := e.Records()
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range records {
		w.publish(0, string(r.Value))
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

// answered is an answer of the API, as T has it.
func answered[T any](t testing.TB, h http.Handler, path string) (answer T) {
	t.Helper()
	if err := json.Unmarshal([]byte(ask(t, h, path)), &answer); err != nil {
		t.Fatal(path, err)
	}
	return answer
}

func served(w *world, streams []*config.Stream, now time.Time) http.Handler {
	return newHandler(Config{Store: w.store, Streams: streams}, func() time.Time { return now })
}

// leaf draws nothing but zeros where a leaf of an ongoing figure ends with the window.
func leaf(e ledger.Entry, s ledger.Continual, of config.Ongoing) {
	number, ends := s.Leaf(e)
	if !ends {
		return
	}
	law, _ := of.Law()
	draws := make([][]*big.Int, len(e.Groups)*of.Numbers())
	for i := range draws {
		for range law.Draws(number) {
			draws[i] = append(draws[i], new(big.Int))
		}
	}
	s.Draw(draws)
}

// watched decides a window of a stream with ongoing figures, watches or releases on change, and publishes it.
func (w *world) watched(books *ledger.Books, s *config.Stream, start, end time.Time, fires func(*ledger.Entry) bool) {
	w.Helper()
	e := entry(s, start, end)
	for _, f := range s.Lasting() {
		h, c := f.Heading(), f.Cost()
		x := ledger.Continual{Name: h.Name, Definition: h.Definition, Cost: c.Items, AtMost: c.AtMost}
		switch of := f.(type) {
		case config.Ongoing:
			x = decide.Describe(of, windows.Window{Start: start.UnixNano(), End: end.UnixNano()})
		case *config.Watch:
			x.Watch = &ledger.Watch{Hold: int64(of.Hold.Seconds())}
		case *config.Change:
			x.Change = &ledger.Change{First: c.First, Release: of.Drawn()}
		}
		e.Continual = append(e.Continual, x)
	}
	if err := books.Settle(&e); err != nil {
		w.Fatal(err)
	}
	for i, f := range s.Lasting() {
		x := &e.Continual[i]
		if of, ongoing := f.(config.Ongoing); ongoing && x.Looks() {
			leaf(e, *x, of)
			continue
		}
		if x.Arms {
			x.Sealed = []byte("sealed")
		}
		if x.Looks() && fires(&e) {
			x.Fire(e.Groups[0].Name)
		}
		if c := x.Change; c != nil {
			for g := range c.Values {
				if c.Draws(*x, e.Groups[g].Name) {
					c.Redraw(g, ledger.Value{Value: new(decimal.NewFromInt(7))})
				}
			}
		}
	}
	if err := books.Finish(&e); err != nil {
		w.Fatal(err)
	}
	if e.Reason == "" {
		sevens(&e)
	}
	w.say(e)
	if err := books.Add(e); err != nil {
		w.Fatal(err)
	}
}
