package web

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// The page with all that belongs to it is small, and so is what a demo, a histogram or a running total adds.
func TestPageWeight(t *testing.T) {
	for folder, most := range map[string]int{"page": 175 << 10, "detail": 34 << 10, "budget": 15 << 10,
		"comparison": 6 << 10, "demo": 17 << 10, // a first screen, the view of ε and a game: nobody else loads them
		"histogram": 12 << 10, "shares": 3 << 10, "total": 8 << 10, "groups": 12 << 10} {
		sum := 0
		err := fs.WalkDir(files, folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			body, err := files.ReadFile(name)
			sum += len(body)
			return err
		})
		if err != nil || sum > most {
			t.Errorf("%s: %d bytes, %v; want at most %d", folder, sum, err, most)
		}
	}
}

// restartable is a server that can go away and come back at the same address. It keeps the port: nobody else can take
// it meanwhile.
type restartable struct {
	*testing.T
	handler http.Handler
	address string
	server  *httptest.Server
	away    atomic.Bool
}

// shut is a listener that takes connections and closes them while the server is away.
type shut struct {
	net.Listener
	away *atomic.Bool
}

func (l shut) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || !l.away.Load() {
			return c, err
		}
		_ = c.Close()
	}
}

func (s *restartable) start() {
	if s.away.Store(false); s.server != nil {
		return
	}
	s.server = httptest.NewUnstartedServer(s.handler)
	s.server.Listener = shut{s.server.Listener, &s.away}
	s.server.Start()
	s.address = s.server.Listener.Addr().String()
	s.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
}

func (s *restartable) stop() {
	s.away.Store(true)
	s.server.CloseClientConnections()
}

// tab is a page in a real browser.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	bad      []string // errors in the console
	foreign  []string // requests to other hosts
	away     bool     // the server is: failed requests are no fault of the page
	host     string
	requests int
}

// note keeps what a page must not do.
func (b *tab) note(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		b.bad = append(b.bad, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.bad = append(b.bad, fmt.Sprint(e.Type, " ", len(e.Args), " arguments"))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError && (!b.away || e.Entry.Source != log.SourceNetwork) {
			b.bad = append(b.bad, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.requests++
		if u, err := url.Parse(e.Request.URL); err != nil || u.Host != b.host && u.Scheme != "data" &&
			u.Scheme != "about" {
			b.foreign = append(b.foreign, e.Request.URL)
		}
	}
}

func (b *tab) run(actions ...chromedp.Action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// awaited makes an evaluation wait for its promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// until waits for an expression to be true in the page.
func (b *tab) until(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	wait := fmt.Sprintf("new Promise((done) => { const look = () => (%s) ? done(true) : setTimeout(look, 50); "+
		"look(); })", expression)
	err := chromedp.Run(ctx, chromedp.Evaluate(wait, nil, awaited))
	for err != nil && strings.Contains(err.Error(), "navigated") { // a link was clicked: the next page may be the one
		err = chromedp.Run(ctx, chromedp.Evaluate(wait, nil, awaited))
	}
	if err != nil {
		var shown string
		_ = chromedp.Run(b.ctx, chromedp.Evaluate("document.body.innerText", &shown))
		b.Fatalf("%s: %v; the page shows\n%s\n%q", expression, err, shown, b.bad)
	}
}

// complete waits for all figures.
func (b *tab) complete() {
	b.Helper()
	b.until(`document.getElementById("main").ariaBusy === "false"`)
}

// place returns the middle of what a plot shows at a part of its width.
func (b *tab) place(plot string, part float64) (x, y float64) {
	b.Helper()
	var box struct{ X, Y, Width, Height float64 }
	b.run(chromedp.ScrollIntoView(plot),
		chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q + " .u-over").getBoundingClientRect().toJSON()`, plot),
			&box))
	return box.X + part*box.Width, box.Y + box.Height/2
}

// point moves the mouse over the large plot.
func (b *tab) point(part float64) {
	b.Helper()
	x, y := b.place(".plot.large", part)
	b.run(chromedp.MouseEvent(input.MouseMoved, x-1, y), chromedp.MouseEvent(input.MouseMoved, x, y))
}

// drag drags the mouse over a part of a plot.
func (b *tab) drag(plot string, from, to float64, modifiers ...input.Modifier) {
	b.Helper()
	x, y := b.place(plot, from)
	end, _ := b.place(plot, to)
	with := []chromedp.MouseOption{chromedp.ButtonLeft, chromedp.ButtonModifiers(modifiers...)}
	b.run(chromedp.MouseEvent(input.MouseMoved, x, y),
		chromedp.MouseEvent(input.MousePressed, x, y, append(with, chromedp.ClickCount(1))...),
		chromedp.MouseEvent(input.MouseMoved, (x+end)/2, y, with...), chromedp.MouseEvent(input.MouseMoved, end, y,
			with...), chromedp.MouseEvent(input.MouseReleased, end, y, append(with, chromedp.ClickCount(1))...))
}

// shows waits for an element that has a text.
func (b *tab) shows(selector, text string) {
	b.Helper()
	b.until(
		fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.checkVisibility() && e.textContent.includes(%q))",
			selector, text))
}

// showsAt waits like shows for a text that contains times. Each %s stands for one. The page writes the day too where it
// is not today's, and midnight may come at any moment of a test.
func (b *tab) showsAt(selector, format string, at ...time.Time) {
	b.Helper()
	var times []any
	for _, at := range at {
		times = append(times, `(\d+ \w+ )?`+at.Format("15:04"))
	}
	b.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.checkVisibility() && new RegExp(%q).test(e.textContent))",
		selector, fmt.Sprintf(format, times...)))
}

// withheld is a record of a window without a value.
func withheld(group string, window int) string {
	return strings.NewReplacer(`"value":0,"status":"ok","reason":null`,
		`"value":null,"status":"withheld","reason":"too_few_users"`, `"quality":"useful"`, `"quality":null`).
		Replace(text("s", group, "users", window, "0"))
}

// A person at a browser: figures come live, a gap has its reason, two windows are compared, and the page lives through
// a restart of the server without a hole.
func TestPageInBrowser(t *testing.T) {
	w := filled(t)
	w.publish(0, withheld("us", 5))
	s := &restartable{T: t, handler: w.handler()}
	s.start()
	b := browse(t, s.address)
	b.run(chromedp.Navigate("http://" + s.address + "/"))
	b.shows(".card .value", "100")
	b.shows(".card .error", "± 30")
	b.shows(".card.few .value", "too few users to say")
	b.run(chromedp.Evaluate("window.sameDocument = true", nil))

	w.publish(0, text("s", "eu", "users", 6, "180"))
	b.shows(".card .value", "180")

	b.goTo("#/s/s/us")
	b.shows(".windows td.withheld", "too few users to say")
	b.until(`document.querySelector(".plot.counts canvas") !== null`)

	// The newest two windows with figures: the API's sentence on them.
	ids := url.Values{"a": {"s/us/2026-11-20T08:03:00Z/users"}, "b": {"s/us/2026-11-20T08:04:00Z/users"}}.Encode()
	c := answered[struct{ Sentence string }](t, s.handler, "/api/v1/compare?"+ids)
	for _, row := range []string{"20 Nov 08:03–08:04", "20 Nov 08:04–08:05"} {
		b.shows(".windows th", row)
		b.run(chromedp.Click(fmt.Sprintf(`[aria-label="Compare %s"]`, row), chromedp.ByQuery))
	}
	b.shows(".comparison li", c.Sentence)
	b.run(chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("\x1b"))
	b.until(`document.querySelector(".comparison").hidden`)

	b.setAway(true)
	s.stop()
	b.shows("#trouble", "connection is lost")
	for i := 6; i < 9; i++ {
		w.publish(0, text("s", "us", "users", i, fmt.Sprint(300+100*i)))
	}
	s.start()
	for _, value := range []string{"900", "1,000", "1,100"} {
		b.shows(".windows td .number", value)
	}
	b.until(`document.getElementById("trouble").hidden`)
	b.setAway(false)
	b.until("window.sameDocument === true")

	b.goTo("#/budget")
	b.shows("main h1", "Budget")
	b.shows(".budget", "one person can have lost ε 1")
}

// The page works below a path of a proxy, whatever the server is told of it: its addresses are relative.
func TestPageBelowAPath(t *testing.T) {
	a := newAct(t, 1, ample, recent(20))
	a.play(0, 19)
	behind := httptest.NewServer(a.handler())
	t.Cleanup(behind.Close)
	to, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	mux := http.NewServeMux()
	mux.Handle("/tools/figures/", http.StripPrefix("/tools/figures", proxy)) // all else is not found
	front := &restartable{T: t, handler: mux}
	front.start()
	b := browse(t, front.address)
	b.run(chromedp.Navigate("http://" + front.address + "/tools/figures/"))
	b.complete()
	b.shows(".card .value", "")
	a.play(19, 20) // figures come live
	b.goTo("#/s/checkout-latency/eu")
	b.until(`document.querySelectorAll(".windows tbody tr").length === 20`)
	var status int
	b.run(chromedp.Evaluate(`fetch(document.querySelector("a[download]").href).then((answer) => answer.status)`,
		&status,
		awaited))
	want(t, "the status of the CSV", status, http.StatusOK)
	b.goTo("#/budget")
	b.shows(".loss", "One person loses at most")
	b.run(chromedp.Click(`//a[text()="The same in plain words"]`, chromedp.BySearch))
	b.shows("h1", "What these figures can tell about you")
	b.until(`getComputedStyle(document.body).maxWidth !== "none"`) // its style sheet is there
}

func (b *tab) setAway(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}
