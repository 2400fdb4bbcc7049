package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/louver/louver/stream/config"
)

// Config says what is served.
type Config struct {
	Store *Store
	// Streams are the definitions in the streams files. If nil, the handler knows only the records.
	Streams []*config.Stream
	// Demo, if not nil, answers requests below api/v1/demo, and the page has a view of it. Without a Demo neither
	// exists.
	Demo Demo
	// Now is the time by which windows close; nil: time.Now.
	Now func() time.Time
}

// now returns the clock.
func (c Config) now() func() time.Time {
	if c.Now == nil {
		return time.Now
	}
	return c.Now
}

// Demo is what only a simulated service knows: the truth, and what its figures would be with another ε. It may tell,
// because no people are behind them. It is safe for concurrent use.
type Demo interface {
	// Known returns the answer of api/v1/demo.
	Known() any
	// Redraw returns the answer of api/v1/demo/redraw: figures of the newest windows, drawn again with another ε. Its
	// error is about the request.
	Redraw(release, epsilon string) (any, error)
}

// New makes the handler of the page and of the API, whose paths begin with /api/v1/. It is safe for concurrent use.
func New(c Config) http.Handler { return newHandler(c, c.now()) }

func newHandler(c Config, now func() time.Time) http.Handler {
	from := source{c.Store, c.Streams, now}
	mux := http.NewServeMux()
	for path, f := range endpoints(from, c.Demo) {
		mux.Handle("GET /api/v1/"+path, gzhttp.GzipHandler(patient(answering(f))))
	}
	// not compressed: each event goes out at once
	mux.Handle("GET /api/v1/releases/live", answering((&live{source: from}).answer))
	mux.Handle("/", answering(nothing(mux)))
	addFiles(mux, page, "page")
	addFiles(mux, accounts, "budget")
	addFiles(mux, pairs, "comparison")
	addFiles(mux, histograms, "histogram")
	addFiles(mux, distributionShares, "shares")
	addFiles(mux, totals, "total")
	addFiles(mux, foundGroups, "groups")
	mux.Handle("GET /statement.css", file("statement.css", statementCSS))
	if c.Demo != nil {
		addFiles(mux, demonstration, "demo")
	}
	if c.Now != nil {
		return protected(dated(mux, c.Now))
	}
	return protected(mux)
}

// dated makes answers bear the time by which windows close: the page counts ages from it.
func dated(next http.Handler, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", now().UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	})
}

// endpoints returns the endpoints below /api/v1/, apart from the live one.
func endpoints(from source, demo Demo) map[string]func(http.ResponseWriter, *http.Request) error {
	budgets := &reports{source: from}
	all := map[string]func(http.ResponseWriter, *http.Request) error{
		"streams":         listing{from, demo != nil}.answer,
		"releases":        records{from}.page,
		"releases/latest": records{from}.newest,
		"budget":          budgets.answer,
		"compare":         comparisons{from.store}.answer,
		"distribution":    distributions{from}.answer,
		"groups":          groupLists{from}.answer,
		"signals":         signals{from}.answer,
		"statement":       statements{from, budgets}.answer,
		"openapi.json":    describe,
	}
	if demo != nil {
		all["demo"] = func(w http.ResponseWriter, r *http.Request) error { return answerJSON(w, r, demo.Known()) }
		all["demo/redraw"] = redrawn(demo)
	}
	return all
}

// redrawn answers with what a demo draws again.
func redrawn(demo Demo) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := parameters{values: r.URL.Query()}
		if p.allowed("release", "epsilon"); p.err != nil {
			return invalid(p.err)
		}
		again, err := demo.Redraw(p.values.Get("release"), p.values.Get("epsilon"))
		if err != nil {
			return invalid(err)
		}
		return answerJSON(w, r, again)
	}
}

// nothing answers the requests that no handler of mux takes.
func nothing(mux *http.ServeMux) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		get := r.Clone(r.Context())
		get.Method = http.MethodGet
		if _, pattern := mux.Handler(get); pattern != "/" {
			w.Header().Set("Allow", "GET, HEAD")
			return &problem{http.StatusMethodNotAllowed,
				fmt.Sprintf("%s %s; want GET: nothing can be changed here", r.Method, r.URL.Path)}
		}
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			return &problem{http.StatusNotFound, fmt.Sprintf("there is no %s; the page is at %s/",
				r.URL.Path, pathOf(r))}
		}
		return &problem{http.StatusNotFound,
			fmt.Sprintf("there is no %s; louver schema openapi describes what there is", r.URL.Path)}
	}
}

// patient ends a connection whose client takes the answer too slowly.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * blocked)) // not every ResponseWriter can
		next.ServeHTTP(w, r)
	})
}

// policy lets the page use only what this address serves: no inline script, no eval, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// protected sets the security headers for browsers.
func protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		next.ServeHTTP(w, r)
	})
}
