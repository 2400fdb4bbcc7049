package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
)

// stated is what the API says one person can lose by n streams.
func stated(t *testing.T, h http.Handler, query string, n int) []statement {
	t.Helper()
	got := answered[struct{ Streams []statement }](t, h, "/api/v1/statement"+query).Streams
	if len(got) != n {
		t.Fatalf("%d streams, want %d: %+v", len(got), n, got)
	}
	return got
}

func TestStatement(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	h := served(w, streams, epoch)
	var sentences []string
	for _, s := range stated(t, h, "", 2) {
		for _, l := range s.Losses {
			sentences = append(sentences, fmt.Sprintf("%s %s %d: %s", s.Stream, l.Scope, l.Right, l.Sentence))
		}
	}
	// A stretch of 10 minutes is overlapped by up to 11 windows of one minute and 14 of four, of which it overlaps 2
	// and 8 in part. Together they cost (11 + 2)·0.3 + (14 + 8)·0.01 = 4.12. A day has 144 periods of 10 minutes, each
	// of which pays at most 2, and the schedule wants more.
	want(t, "sentences", strings.Join(sentences, "\n"), strings.TrimSpace(`
fast window 58: One window costs one person at most ε 0.3. Of 100 guesses whether that person is in it, at most 58 are right.
fast day 100: In any 24 h one person loses at most ε 288, counting the windows that end in it. That is too much to hide whether that person is in any of them: somebody who knows all the others can nearly always tell.
fast budget 89: The windows that end in any 10m cost one person at most ε 2. Of 100 guesses whether that person is in any of them, at most 89 are right.
fast stretch 99: What one person does in any 10m falls into up to 25 windows, and counts up to twice in a window or period that also holds other things of that person. Together they cost at most ε 4.12. Of 100 guesses whether that person did any of it, at most 99 are right.
hopping window 51: One window costs one person at most ε 0.01. Of 100 guesses whether that person is in it, at most 51 are right.
hopping event 51: One event puts its person into up to 4 windows. Together they cost that person at most ε 0.04. Of 100 guesses whether that person is in any of them, at most 51 are right.
hopping day 100: In any 24 h one person loses at most ε 288, counting the windows that end in it. That is too much to hide whether that person is in any of them: somebody who knows all the others can nearly always tell.
hopping budget 89: The windows that end in any 10m cost one person at most ε 2. Of 100 guesses whether that person is in any of them, at most 89 are right.
hopping stretch 99: What one person does in any 10m falls into up to 25 windows, and counts up to twice in a window or period that also holds other things of that person. Together they cost at most ε 4.12. Of 100 guesses whether that person did any of it, at most 99 are right.`))
	stated(t, h, "?stream=hopping", 1)
	want(t, "facts", facts(streams[0]), "A window lasts 1m. Only events with kind = server count. One value of each person "+
		"counts in a window, in at most 1 of 2 groups. Values count from 0 to 100.")
	w.publish(0, text("foreign", "", "users", 1, "1"))
	a := httptest.NewRecorder()
	h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/api/v1/statement?stream=foreign", nil))
	if a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), "in no streams file") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	forever := parsed(t, strings.Replace(streamsFile, "epsilon: 2, per: 10m", "epsilon: 30, per: forever", 1))
	if got := ask(t, served(w, forever, epoch), "/api/v1/statement?stream=fast"); !strings.Contains(got,
		"All windows together, for ever, cost one person at most ε 30. That is too much to hide") {
		t.Error(got)
	}
}

// Who does not count in a window may count in a later one, so what they have in one changes two.
func TestStatementUnderMaxWindows(t *testing.T) {
	streams := parsed(t, `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: ms}
    max_windows: {count: 8, per: 24h}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 2h, every: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.1}]
    output: {topic: out}
    budget: {epsilon: 0.8, per: 24h}
`)
	said := map[string]string{}
	for _, l := range stated(t, served(newWorld(t, 1<<20), streams, epoch), "", 1)[0].Losses {
		said[l.Scope], _, _ = strings.Cut(l.Sentence, " Of 100")
	}
	for scope, sentence := range map[string]string{
		"window": "What one person has in one window changes up to 2, for who does not count in it may count in a " +
			"later one. Together they cost that person at most ε 0.2.",
		"event": "One event puts its person into up to 2 windows and changes up to 4, for who does not count in them " +
			"may count in later ones. Together they cost that person at most ε 0.4.",
		"day": "In any 24 h one person loses at most ε 0.8, counting the windows that end in it.",
		"stretch": "What one person does in any 24h falls into up to 26 windows. Together with later ones in which " +
			"that person counts instead they cost at most ε 1.",
	} {
		if said[scope] != sentence {
			t.Errorf("%s: %q, want %q", scope, said[scope], sentence)
		}
	}
}

// What a discovery of groups costs is said with its δ and its period. Who follows the list of another stream pays
// nothing.
func TestStatementOfDiscoveries(t *testing.T) {
	streams := parsed(t, `version: 1
budgets: [{name: web, epsilon: 30, delta: 0.0001, per: 24h}]
streams:
  - name: pages
    input: {topic: in, user: user, value: ms, group: path}
    groups:
      discover:
        - {name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001}
        - {name: hourly, every: 1h, epsilon: 0.25, delta: 0.0000000001, max_groups: 2, max_windows: {count: 4, per: 24h}}
    max_groups: 2
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.01}]
    output: {topic: out}
    budget: web
`)
	var said []string
	for _, l := range stated(t, served(newWorld(t, 1<<20), streams, epoch), "", 1)[0].Losses {
		if l.Scope == "discovery" {
			said = append(said, fmt.Sprintf("%s ε %v δ %v: %s", *l.Per, l.Epsilon, l.Delta, l.Sentence))
		}
	}
	want(t, "discoveries", strings.Join(said, "\n"), strings.TrimSpace(`
24h ε 0.5 δ 1e-08: Discovery daily counts one person for one name in each period of 24h, and publishes the names that many share. This costs that person at most ε 0.5, δ 0.00000001. Of 100 guesses whether that person is in the data of a period, at most 63 are right.
1h ε 1 δ 4e-10: Discovery hourly counts one person for up to 2 names in some of its periods of 1h, and publishes the names that many share. What that person sends in one period changes up to 2 of them. Together they cost that person at most ε 1, δ 0.0000000004. Of 100 guesses whether that person is in the data of a period, at most 74 are right.`))
	if text := facts(streams[0]); !strings.Contains(text, ", in at most 2 of the groups that many people share. ") {
		t.Error(text)
	}
}

// A δ makes many windows cheaper, and the plain sum stands beside it. What the books hold of former definitions is said
// where it is more, and so is what several budgets cost together.
func TestStatementOfBooksAndBudgets(t *testing.T) {
	const text = `version: 1
streams:
  - name: cheap
    input: {topic: in, user: user, value: ms}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 15m, grace: 10s, start: 2026-11-19T00:00:00Z}
    releases: [{name: users, statistic: count, epsilon: EPSILON, mechanism: geometric}]
    output: {topic: cheap.private}
    budget: {epsilon: 40, DELTA per: 24h}
  - name: dear
    input: {topic: in, user: user, value: ms}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.2}]
    output: {topic: dear.private}
    budget: {epsilon: 9, per: 24h}
    fresh: true
`
	of := func(replacements ...string) []*config.Stream {
		return parsed(t, strings.NewReplacer(append(replacements, "EPSILON", "0.1", "DELTA", "")...).Replace(text))
	}
	said := func(w *world, streams []*config.Stream) map[string]loss {
		all := map[string]loss{}
		for _, l := range stated(t, served(w, streams, epoch), "?stream=cheap", 1)[0].Losses {
			l.Sentence, _, _ = strings.Cut(l.Sentence, " Of 100")
			l.Sentence, _, _ = strings.Cut(l.Sentence, " That is too")
			all[l.Scope] = l
		}
		return all
	}
	plain := said(newWorld(t, 1<<20), of())
	want(t, "a day", plain["day"].Sentence,
		"In any 24 h one person loses at most ε 9.6, counting the windows that end in it.")
	want(t, "an input", plain["input"].Sentence,
		"Budgets cheap, dear pay for the people of topic in. Through all of them one person loses at most ε 14.4 "+
			"in any 24 h.")
	withDelta := said(newWorld(t, 1<<20), of("DELTA", "delta: 0.000000001,", "epsilon: 40", "epsilon: 6.1"))
	if day := withDelta["day"]; day.Sum != 9.6 || day.Epsilon.(float64) > 6.1 ||
		!strings.HasSuffix(day.Sentence, ", δ 0.000000001 (ε 9.6 without δ), counting the windows that end in it.") {
		t.Errorf("with a δ: %+v", day)
	}

	// Until an hour ago the stream published at ε 1.
	w := newWorld(t, 1<<20)
	books := ledger.NewBooks()
	for i := 20; i > 0; i-- {
		s := of("EPSILON", "1", "epsilon: 40", "epsilon: 100")[0]
		if i <= 4 {
			s = of("epsilon: 40", "epsilon: 100")[0]
		}
		end := epoch.Add(-time.Duration(i-1) * s.Window.Size)
		w.watched(books, s, end.Add(-s.Window.Size), end, func(*ledger.Entry) bool { return false })
	}
	want(t, "after an edit", said(w, of("epsilon: 40", "epsilon: 100"))["day"].Sentence,
		"By the newest definitions one person loses at most ε 9.6 in any 24 h, counting the windows that end in it. "+
			"Those that ended in the last 24 h cost at most ε 16.4: former definitions, or users who were counted "+
			"anew, cost more.")
}

// While a watch is armed, books with a δ add up by the order of the limit, which is far more than a few charges cost.
// That is no sign of a former definition, and nobody loses so much.
func TestStatementOfAWatch(t *testing.T) {
	streams := parsed(t, `version: 1
streams:
  - name: watched
    input: {topic: in, user: user, value: ms}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.1}]
    watches: [{name: many, above: 50, users: 10, epsilon: 0.1, at_most: 2, hold: 1h, false_alarms: {at_most: 0.05, per: 30d}}]
    output: {topic: watched.private}
    budget: {epsilon: 100, delta: 0.000000001, per: 7d}
`)
	w, books := newWorld(t, 1<<20), ledger.NewBooks()
	for i := 24; i > 0; i-- {
		end := epoch.Add(-time.Duration(i-1) * time.Hour)
		w.watched(books, streams[0], end.Add(-time.Hour), end, func(*ledger.Entry) bool { return false })
	}
	day := ledger.NewReport(books, epoch).Budgets[0].EpsilonDayLost
	got := ask(t, served(w, streams, epoch), "/api/v1/statement")
	pays := (&config.File{Streams: streams}).Payer(streams[0].Budget, epoch).InAnyDay()
	if day == nil || !day.GreaterThan(pays.Epsilon) {
		t.Fatalf("the books count ε %v and the definitions allow %s: nothing is tested", day, pays)
	}
	if strings.Contains(got, "former definitions") ||
		!strings.Contains(got, fmt.Sprintf("In any 24 h one person loses at most %s,", pays.ForReaders())) {
		t.Errorf("the books count ε %s:\n%s", day, got)
	}
	if !strings.Contains(got, "The windows that end in any 7d cost") || strings.Contains(got, "any 168h") {
		t.Errorf("the period is 7d in the file:\n%s", got)
	}
}

// Who asks for HTML gets the same in plain words. Programs get JSON, as before, and nothing of a file is taken for
// HTML.
func TestStatementForPeople(t *testing.T) {
	streams := parsed(t, strings.Replace(services(1, ample), "time to confirm an order",
		"time <b>to</b> pay", 1))
	h := New(Config{Store: newWorld(t, 1).store, Streams: streams})
	get := func(accept string) (contentType, body string) {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/statement", nil)
		r.Header.Set("Accept", accept)
		a := httptest.NewRecorder()
		h.ServeHTTP(a, r)
		if vary := a.Header().Values("Vary"); !slices.Contains(vary, "Accept") {
			t.Errorf("Vary: %q; want Accept", vary)
		}
		return a.Header().Get("Content-Type"), a.Body.String()
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		if kind, _ := get(accept); kind != "application/json" {
			t.Errorf("%q gets %s", accept, kind)
		}
	}
	kind, body := get("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8") // as browsers ask
	if kind != "text/html; charset=utf-8" {
		t.Errorf("a browser gets %s", kind)
	}
	for _, want := range []string{"<h2>checkout-latency</h2>", "time &lt;b&gt;to&lt;/b&gt; pay. A window lasts 1m.",
		"in at most 1 of 3 groups. Values count from 0 to 60000 ms.",
		"By the figures of one window of time: <strong>at most 54 of 100</strong>",
		"One window costs one person at most ε 0.15."} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
}

// In sentences a loss has four digits, rounded up because it is a bound. The fields have all of them.
func TestStatementSaysFourDigits(t *testing.T) {
	h := New(Config{Store: newWorld(t, 1<<20).store, Streams: parsed(t, strings.Replace(
		services(1, ample), "epsilon: 0.05", "epsilon: 0.0512345", 1))})
	exact := ask(t, h, "/api/v1/statement")
	if !strings.Contains(exact, `"epsilon":0.1512345`) {
		t.Error("the fields have lost digits: ", exact)
	}
	page := httptest.NewRequest(http.MethodGet, "/api/v1/statement", nil)
	page.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, page)
	for _, text := range []string{exact, w.Body.String()} {
		if long := regexp.MustCompile(`ε \d+\.\d{4,}`).FindAllString(strings.ReplaceAll(text, "ε 0.1513", ""), -1); long != nil ||
			!strings.Contains(text, "one person at most ε 0.1513.") {
			t.Errorf("%q in %s", long, text)
		}
	}
}
