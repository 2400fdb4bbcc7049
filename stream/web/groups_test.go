package web

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// visits is a stream whose groups are found: its definition, and its ledger as far as it goes.
type visits struct {
	*world
	streams []*config.Stream
	lists   *ledger.Lists
	rules   ledger.Rules
	first   time.Time
	noise   *rand.Rand
	// books, if not nil, settle what is published.
	books *ledger.Books
}

const visitsLimit = "{epsilon: 10000, delta: 0.01, per: 24h}"

func newVisits(t testing.TB, most int64, first time.Time) *visits {
	v := &visits{world: newWorld(t, 256<<20), streams: parsed(t, services(1, visitsLimit)), lists: ledger.NewLists(),
		first: first, noise: rand.New(rand.NewPCG(1, 2)), rules: ledger.Rules{Source: "in path", Keep: 3 * 3600,
			Max: most, Other: "(other)", Always: []string{"/"}}}
	drawing, err := mechanisms.NewTruncatedGeometric(ledgertest.Dec("0.5"), ledgertest.Dec("0.00000001"), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := v.streams[0]
	s.Name, s.Groups, s.Window.Size, s.Window.Every = "pages", nil, 15*time.Minute, 15*time.Minute
	s.Found = &config.Found{Keep: 3 * time.Hour, Max: most, Other: "(other)", Always: []string{"/"}}
	s.Add(&config.Discovery{Head: config.Head{Name: "hourly", Groups: 2}, Every: time.Hour, Mechanism: drawing,
		AtMost: 25})
	return v
}

// discover publishes what a discovery found at the end of an hour; nil: it is withheld.
func (v *visits) discover(hour int, found map[string]int64) {
	v.Helper()
	s := v.streams[0]
	end := v.first.Add(time.Duration(hour) * time.Hour)
	e := ledgertest.Plan{Stream: s.Name, Budget: s.Budget.Name, Epsilon: "0.5", Limit: s.Budget.Limit}.
		Discovery("hourly", end.Add(-time.Hour), end, v.rules, found)
	if err := v.lists.Settle(&e); err != nil {
		v.Fatal(err)
	}
	v.say(e)
	if err := v.lists.Add(e); err != nil {
		v.Fatal(err)
	}
}

// window publishes a window that ends some quarters after the first moment, for the groups of the list.
func (v *visits) window(quarter int) { v.windowOf(v.streams[0], quarter) }

// follower adds a stream with other figures that has the list of the first.
func (v *visits) follower() *config.Stream {
	carts := *v.streams[0]
	found := *carts.Found
	found.From = "pages"
	carts.Name, carts.Found, carts.Figures = "carts", &found, nil
	for _, r := range config.All[*config.Release](v.streams[0]) {
		of := *r
		of.Name = "carts-" + of.Name
		carts.Add(&of)
	}
	v.streams = append(v.streams, &carts)
	return &carts
}

// windowOf does the same for another stream that has the list.
func (v *visits) windowOf(s *config.Stream, quarter int) {
	v.Helper()
	end := v.first.Add(time.Duration(quarter) * 15 * time.Minute)
	groups, of, err := v.lists.Of(s.Budget.Name, "pages", v.rules)
	if err != nil {
		v.Fatal(err)
	}
	e := ledger.Entry{App: "a", Stream: s.Name, Budget: s.Budget.Name, Input: "in", Output: "out", WindowStart: end.
		Add(-15 * time.Minute), WindowEnd: end, DueAt: end.Add(5 * time.Second), ReleasedAt: end.Add(5 * time.Second),
		Every: s.Window.Every, Limit: s.Budget.Limit, Price: s.Price(), Releases: v.streams[0].Series(),
		List: &ledger.List{Stream: s.Found.From, Of: of, Rules: v.rules}}
	for i, name := range groups {
		e.Groups = append(e.Groups, ledger.Group{Name: name})
		(&act{world: v.world, noise: v.noise}).fill(&e, i, quarter, 60)
	}
	e.Releases = s.Series()
	v.say(e)
}

func (v *visits) say(e ledger.Entry) {
	v.Helper()
	if v.books != nil {
		if err := v.books.Settle(&e); err != nil || e.Reason != "" {
			v.Fatal(e.Reason, err)
		}
		if err := v.books.Add(e); err != nil {
			v.Fatal(err)
		}
	}
	v.world.say(e)
}

// served serves what is known at the end of an hour.
func (v *visits) served(hour int) http.Handler {
	return served(v.world, v.streams, v.first.Add(time.Duration(hour)*time.Hour+time.Minute))
}

func (v *visits) list(t *testing.T, hour int) groupList {
	t.Helper()
	return v.listOf(t, "pages", hour)
}

func (v *visits) listOf(t *testing.T, stream string, hour int) groupList {
	t.Helper()
	return answered[groupList](t, v.served(hour), "/api/v1/groups?stream="+stream)
}

// Through random discoveries the API's list is that of the ledger: the names, their counts, and when they leave. Before
// a list has a window, they follow from the discovery's records, apart from names that others have displaced.
func TestGroupsAreThoseOfTheLedger(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 25))
		v := newVisits(t, 3+int64(random.IntN(5)), epoch)
		for hour := 1; hour <= 12; hour++ {
			found := map[string]int64{}
			for range random.IntN(5) {
				found[fmt.Sprintf("/p%d", random.IntN(9))] = 50 + int64(random.IntN(500))
			}
			if random.IntN(6) == 0 {
				found = nil
			}
			v.discover(hour, found)
			v.window(4 * hour)
			shown, err := v.lists.Show(v.streams[0].Budget.Name, "pages", v.rules)
			if err != nil {
				t.Fatal(err)
			}
			got := v.list(t, hour)
			listed := map[string]groupInfo{}
			for _, g := range got.Groups {
				if g.Listed {
					listed[g.Group] = g
				}
			}
			if len(listed) != len(shown) || got.Listed != len(shown) ||
				!got.AsOf.Equal(v.first.Add(time.Duration(hour)*time.Hour)) {
				t.Fatalf("seed %d, hour %d: %d groups, want %d\n%+v\n%+v", seed, hour, len(listed),
					len(shown), got, shown)
			}
			for _, want := range shown {
				g, ok := listed[want.Name]
				switch {
				case !ok || g.Always != (want.Name == "/"):
					t.Fatalf("seed %d, hour %d: %s is %+v", seed, hour, want.Name, g)
				case g.Always:
				case !g.Until.Equal(want.Until) || g.Value == nil:
					t.Fatalf("seed %d, hour %d: %s until %v with %v users; want %v, %d", seed, hour, want.Name, g.Until,
						g.Value, want.Until, want.Value)
				}
			}
		}
	}
}

// A name is new for a day, then no more; one that left stays in the list of what is known, behind the others, and is
// new again if it returns. Names are any text.
func TestGroupsComeAndGo(t *testing.T) {
	v := newVisits(t, 100, epoch)
	const odd = `</td><img src=x onerror="alert(1)">`
	v.discover(1, map[string]int64{"/shoes": 214, odd: 60, "a%2Fb/c": 50})
	v.window(5)
	l := v.list(t, 2)
	var order []string
	for _, g := range l.Groups {
		order = append(order, g.Group)
	}
	if want := []string{"/shoes", odd, "a%2Fb/c", "/"}; !slices.Equal(order, want) || l.Listed != 4 || *l.Max != 100 ||
		l.Other != "(other)" {
		t.Errorf("%q, want %q: %+v", order, want, l)
	}
	if g := l.Groups[0]; !g.New || g.Value.String() != "214" || g.Error.String() != "6" ||
		g.Rows[0].Release != "hourly" {
		t.Errorf("%+v", g)
	}
	for hour := 2; hour <= 30; hour++ {
		v.discover(hour, map[string]int64{"/shoes": int64(100 + hour)})
	}
	l = v.list(t, 30)
	if g := l.Groups[0]; g.Group != "/shoes" || g.New || !g.Listed || !g.Since.Equal(epoch.Add(time.Hour)) {
		t.Errorf("%+v", g)
	}
	if g := l.Groups[2]; g.Group != odd || g.Listed || g.New || g.Value.String() != "60" {
		t.Errorf("%+v", g)
	}
	v.discover(31, map[string]int64{odd: 70})
	v.window(4 * 31)
	if g := v.list(t, 31).Groups[1]; g.Group != odd || !g.New || !g.Since.Equal(epoch.Add(31*time.Hour)) {
		t.Errorf("%+v", g)
	}
	// The stream itself knows how many there are, and its figures have no discovery among them.
	said := ask(t, v.served(31), "/api/v1/streams")
	for _, want := range []string{`"groups":[],"max_groups":1,`,
		`"discovery":{"listed":3,"max":100,"other":"(other)","as_of":"2026-11-21T15:00:00Z"}`,
		`"newest_window_end":"2026-11-21T15:00:00Z"`} {
		if !strings.Contains(said, want) || strings.Contains(said, `"statistic":"groups"`) {
			t.Errorf("%s\nwant %s", said, want)
		}
	}
	// A page of records continues after a name with strokes.
	page := ask(t, v.served(31), "/api/v1/releases?release=hourly&limit=1")
	for seen := 1; ; seen++ {
		_, cursor, more := strings.Cut(page, `"next":"`)
		if !more {
			if seen != 31*1+3+29+1 {
				t.Errorf("%d records on all pages", seen)
			}
			break
		}
		cursor, _, _ = strings.Cut(cursor, `"`)
		page = ask(t, v.served(31), "/api/v1/releases?release=hourly&limit=1&cursor="+cursor)
	}
	// Ids have names as keys have them.
	for _, id := range []string{"pages/a%252Fb%2Fc/2026-11-20T09:00:00Z/p50",
		"pages/%2F/2026-11-20T09:00:00Z..2026-11-20T10:00:00Z/p50"} {
		other := strings.Replace(id, "a%252Fb%2Fc", "%2Fshoes", 1)
		if strings.Contains(id, "..") {
			other = "pages/%2F/2026-11-21T14:00:00Z..2026-11-21T16:00:00Z/p50"
		}
		compared := ask(t, v.served(31), "/api/v1/compare?a="+strings.ReplaceAll(id, "%", "%25")+"&b="+
			strings.ReplaceAll(other, "%", "%25"))
		if !strings.Contains(compared, `"sentence"`) {
			t.Errorf("%s: %s", id, compared)
		}
	}
}

// A stream that follows another one's list has the names and counts that the other one has found, as far as its own
// windows have that list. Without a streams file the names are those of its windows.
func TestGroupsOfAFollower(t *testing.T) {
	v := newVisits(t, 100, epoch)
	carts := v.follower()
	told := func(hour int) string {
		l := v.listOf(t, "carts", hour)
		text := fmt.Sprintf("from %s, %d listed:", l.From, l.Listed)
		for _, g := range l.Groups {
			users, listed := "-", ""
			if g.Value != nil {
				users = g.Value.String()
			}
			if g.Listed {
				listed = "listed"
			}
			text += fmt.Sprintf(" %s:%s:%s", g.Group, users, listed)
		}
		return text
	}
	if got, want := told(0), "from pages, 1 listed: /:-:listed"; got != want {
		t.Errorf("at first %s, want %s", got, want)
	}
	v.discover(1, map[string]int64{"/shoes": 214, "a/b": 60})
	v.windowOf(carts, 4)
	v.discover(2, map[string]int64{"/hats": 80})
	// Its window is not due yet.
	if got, want := told(2), "from pages, 3 listed: /shoes:214:listed a/b:60:listed /:-:listed /hats:80:"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	v.windowOf(carts, 8)
	want := "4 listed: /shoes:214:listed /hats:80:listed a/b:60:listed /:-:listed"
	if got := told(2); got != "from pages, "+want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if said := ask(t, v.served(2), "/api/v1/streams?stream=carts"); !strings.Contains(said,
		`"discovery":{"listed":4,"max":100,`+
			`"other":"(other)","as_of":"2026-11-20T10:00:00Z"}`) {
		t.Error(said)
	}
	v.streams = nil
	if got, want := told(2), "from , 4 listed: /:-:listed /hats:-:listed /shoes:-:listed a/b:-:listed"; got != want {
		t.Errorf("without a streams file %s\nwant %s", got, want)
	}
}

func TestGroupsRefuses(t *testing.T) {
	w := filled(t)
	for path, want := range map[string]string{
		"/api/v1/groups":          "stream is missing; want a stream whose groups are found",
		"/api/v1/groups?stream=s": "the groups of s are not found, but listed in its streams file",
		"/api/v1/groups?stream=x": `there is no stream \"x\"`,
	} {
		if got := w.get(path).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// village is a stream of so many found groups, with figures of the last hours.
func village(t *testing.T, groups, hours int) *visits {
	v := newVisits(t, int64(groups), recent(60*hours).Truncate(time.Hour))
	for hour := 1; hour <= hours; hour++ {
		found := map[string]int64{}
		for i := range groups - 1 {
			found[fmt.Sprintf("/products/%04d", i)] = int64(5000/(1+i)) + 50
		}
		if hour < hours {
			found["/once"] = 60
		} else {
			found[`<img src=x onerror="document.title='broken'">`] = 70
		}
		v.discover(hour, found)
		for quarter := range 4 {
			v.window(4*hour + quarter)
		}
	}
	return v
}

// All groups together stand behind the groups that are listed, and before those that left. They have a card of their
// own.
func TestFoundGroupsTogether(t *testing.T) {
	v := newVisits(t, 100, epoch)
	v.discover(1, map[string]int64{"/shoes": 214, "/hats": 60})
	v.discover(5, map[string]int64{"/shoes": 150})
	v.streams[0].Together = "everywhere"
	v.window(20)
	record := strings.Replace(ofAll("pages", 0), `"all"`, `"everywhere"`, 1)
	end := epoch.Add(5 * time.Hour)
	for _, at := range []struct{ was, is time.Time }{{epoch.Add(time.Minute + 5*time.Second), end.Add(5 * time.Second)},
		{epoch.Add(time.Minute), end}} {
		record = strings.ReplaceAll(record, at.was.Format(time.RFC3339), at.is.Format(time.RFC3339))
	}
	v.publish(0, strings.Replace(record, `"incomplete"`, fmt.Sprintf(`"list":%q,"incomplete"`,
		end.Format(time.RFC3339)), 1))
	var order []string
	l := v.list(t, 5)
	for _, g := range l.Groups {
		order = append(order, fmt.Sprint(g.Group, g.Listed))
	}
	want(t, "groups", order, []string{"/shoestrue", "/true", "everywheretrue", "/hatsfalse"})
	want(t, "listed", l.Listed, 2)
	b := visit(t, v.served(5), "#/?show=pages/slow")
	b.until(`[...document.querySelectorAll(".card .group")].map((e) => e.textContent).join() === "(other),/shoes,/,everywhere"`)
}

// The page shows the groups with the most users as cards, all in a list with a search, and each on its own. Their names
// are text, never markup.
func TestGroupsInBrowser(t *testing.T) {
	v := village(t, 60, 4)
	b := visit(t, New(Config{Store: v.store, Streams: v.streams}), "")
	b.until(`[...document.querySelectorAll(".card .group")].map((e) => e.textContent).join() === "(other),/products/0000,/products/0001,/products/0002,/products/0003,/products/0004,/products/0005,/products/0006,/products/0007,/products/0008,/products/0009,/products/0010,/products/0011"`)
	b.shows(".all", "all 61 groups")
	b.run(chromedp.Click(".all"))
	b.until(`document.querySelectorAll(".found li").length === 63`)
	b.shows(".found li .number", "5,050 users")
	b.shows(".found .pill", "everybody else")
	b.shows(".found li.gone", "/once left")
	b.shows(".found .name", `<img src=x onerror="document.title='broken'"> new`)
	var broken bool
	b.run(chromedp.Evaluate(`document.querySelector(".found img") !== null || document.title.includes("broken")`, &broken))
	if broken {
		t.Error("a name is markup")
	}
	b.run(chromedp.SendKeys(`.found, .groups input`, "0005"))
	b.until(`[...document.querySelectorAll(".found li")].filter((e) => e.checkVisibility()).length === 1`)
	b.shows(".bar .quiet", "1 group of 63")
	b.run(chromedp.Click(`.found li:not([hidden]) a`))
	b.shows("h1", "pages / /products/0005")
	b.shows("nav a[aria-current]", "/products/0005")
	b.shows(".detail nav a", "all 61 groups …")
	b.until(`document.querySelectorAll(".plot.large canvas").length > 0`)
	// One that has no card, and one whose name would be markup.
	for _, name := range []string{"/products/0050", `<img src=x onerror="document.title='broken'">`} {
		b.goTo("#/s/pages/" + url.PathEscape(name))
		b.shows("h1", name)
		b.until(`document.querySelectorAll(".windows tbody tr").length >= 4`)
	}
	b.run(chromedp.Evaluate(`document.querySelectorAll(".windows .pick")[0].click(); document.querySelectorAll(".windows .pick")[1].click()`, nil))
	b.until(`document.querySelector(".comparison li") !== null && !document.querySelector(".comparison").textContent.includes("memory")`)
}

// The page of a stream that follows a list says whose it is. Its figures have other names than those of that stream.
func TestGroupsOfAFollowerInBrowser(t *testing.T) {
	v := village(t, 6, 4)
	carts := v.follower()
	b := visit(t, New(Config{Store: v.store, Streams: v.streams}), "#/g/carts")
	// before it has figures
	b.until(`document.querySelector(".about")?.textContent.includes("Stream pages finds them")`)
	for quarter := 16; quarter < 20; quarter++ {
		v.windowOf(carts, quarter)
	}
	b.run(chromedp.Reload())
	b.complete()
	b.until(`document.querySelectorAll(".found li:not(.gone)").length === 8`)
	b.shows(".about", "7 groups with figures")
	b.until(`[...document.querySelectorAll(".found li:not(.gone)")].every((e) => e.textContent.includes("ms"))`)
}
