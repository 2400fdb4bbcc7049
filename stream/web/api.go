package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	_ "embed" // the documents
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
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
		mux.Handle("GET /api/v1/"+path, gzhttp.GzipHandler(limitTime(handle(f))))
	}
	// not compressed: each event goes out at once
	mux.Handle("GET /api/v1/releases/live", handle((&live{source: from}).answer))
	mux.Handle("/", handle(nothing(mux)))
	for _, folder := range folders {
		addFiles(mux, folder)
	}
	mux.Handle("GET /statement.css", file("statement.css", statementCSS))
	if c.Demo != nil {
		addFiles(mux, "demo")
	}
	if c.Now != nil {
		return protect(setDate(mux, c.Now))
	}
	return protect(mux)
}

// setDate gives answers the time by which windows close. The page counts ages from that time.
func setDate(next http.Handler, now func() time.Time) http.Handler {
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
		all["demo/redraw"] = redraw(demo)
	}
	return all
}

// redraw answers with what a demo draws again.
func redraw(demo Demo) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := query(r, "release", "epsilon")
		if err := p.mistake(); err != nil {
			return err
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

// limitTime ends a connection whose client takes the answer too slowly.
func limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * blocked)) // not every ResponseWriter can
		next.ServeHTTP(w, r)
	})
}

// policy lets the page use only what this address serves: no inline script, no eval, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// protect sets the security headers for browsers.
func protect(next http.Handler) http.Handler {
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

// answer sends a body with its ETag, or 304 if the client has it already.
func answer(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	h := w.Header()
	sum := sha256.Sum256(body)
	h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	h.Set("Content-Type", contentType)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache") // the client may keep it, but has to ask each time
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// answerJSON sends a value as JSON.
func answerJSON(w http.ResponseWriter, r *http.Request, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", r.URL.Path, err)
	}
	answer(w, r, "application/json", b.Bytes())
	return nil
}

// csvType is the type of answers in CSV.
const csvType = "text/csv"

// answerCSV sends rows below a header.
func answerCSV(w http.ResponseWriter, r *http.Request, header []string, rows [][]string) error {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	_ = c.Write(header)                      // to memory: it never fails
	if err := c.WriteAll(rows); err != nil { // which flushes
		return err
	}
	answer(w, r, csvType+"; charset=utf-8; header=present", b.Bytes())
	return nil
}

func instant(seconds int64) *time.Time { return new(time.Unix(seconds, 0).UTC()) }

func exactly(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func optional(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	return new(exactly(*d))
}

// problem is an error answer in the form of RFC 9457.
type problem struct {
	status int
	detail string
}

func (p *problem) Error() string { return p.detail }

// invalid is the problem of a request that asks for something impossible.
func invalid(err error) *problem {
	return &problem{status: http.StatusBadRequest, detail: err.Error()}
}

// ServeHTTP writes the problem.
func (p *problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body, _ := json.Marshal(struct { // of strings and a number: never fails
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(p.status), p.status, p.detail})
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	_, _ = w.Write(body)
}

// handle turns a function that answers or returns an error into a handler.
func handle(f func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := f(w, r)
		if err == nil {
			return
		}
		var p *problem
		if !errors.As(err, &p) {
			p = &problem{status: http.StatusInternalServerError, detail: err.Error()}
		}
		p.ServeHTTP(w, r)
	}
}

// below is the key of a request's context for the path of a proxy.
type below struct{}

// Below returns a request that knows the path under which a proxy shows this server, such as /louver: escaped, and
// without a / at its end. Most addresses in the page's answers are relative. The few that cannot be begin with that
// path.
func Below(r *http.Request, path string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), below{}, pathOf(r)+path))
}

// pathOf returns the path of Below, or "".
func pathOf(r *http.Request) string {
	path, _ := r.Context().Value(below{}).(string)
	return path
}

// servedAt puts the address of this server into the description of its API.
func servedAt(document json.RawMessage, path string) (json.RawMessage, error) {
	if path == "" {
		return document, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(document, &all); err != nil {
		return nil, err
	}
	servers, err := json.Marshal([]map[string]string{{"url": path + "/"}})
	if err != nil {
		return nil, err
	}
	all["servers"] = servers
	return json.Marshal(all)
}

// files are those of the page. Its page/vendor/uplot holds unchanged files of the npm package uplot 1.6.32 (MIT):
// package/dist/uPlot.iife.min.js and package/LICENSE of a tgz whose sha256 is
// 4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d. page/page.css has what is needed of its style
// sheet.
//
//go:embed page detail budget comparison histogram shares total groups demo
var files embed.FS

// folders hold what a page loads at different times, and what every page may load. What only a demo has is in demo.
var folders = []string{
	"page",       // what every view needs, with the overview
	"detail",     // what shows a group: once all figures are there, or when somebody asks for it
	"budget",     // the view of the budgets
	"comparison", // loaded when somebody picks a window to compare
	"histogram",  // with the first histogram
	"shares",     // when somebody clicks on a window of a histogram
	"total",      // with the first running total
	"groups",     // with the first stream whose groups are found
}

// addFiles adds the files of a folder; index.html is at /.
func addFiles(mux *http.ServeMux, folder string) {
	_ = fs.WalkDir(files, folder, func(name string, d fs.DirEntry, err error) error { // embedded files can be read
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		at := name[len(folder):]
		if at == "/index.html" {
			at = "/{$}"
		}
		mux.Handle("GET "+at, file(name, body))
		return nil
	})
}

// file answers with a file.
func file(name string, body []byte) http.Handler {
	return gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, contentType(name), body)
	}))
}

// contentType does not use the system's table of file types, which differs between machines.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt", ".md", "":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed asyncapi.yaml
	asyncAPI []byte
)

// OpenAPI describes the HTTP API, as an OpenAPI 3.1 document in JSON.
func OpenAPI() (json.RawMessage, error) { return withRelease("openapi.yaml", openAPI) }

// AsyncAPI describes the output topics, as an AsyncAPI 3.0 document in JSON.
func AsyncAPI() (json.RawMessage, error) { return withRelease("asyncapi.yaml", asyncAPI) }

// withRelease adds the schema of published records to the schemas of a document.
func withRelease(name string, document []byte) (json.RawMessage, error) {
	var all struct {
		Components map[string]any
		Rest       map[string]any `yaml:",inline"`
	}
	if err := yaml.Unmarshal(document, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// References in the record's schema begin at its root. Here the root is the document.
	var release map[string]any
	if err := json.Unmarshal(bytes.ReplaceAll(record.JSONSchema(), []byte(`"#/$defs/`),
		[]byte(`"#/components/schemas/`)),
		&release); err != nil {
		return nil, fmt.Errorf("the schema of records: %w", err)
	}
	schemas, _ := all.Components["schemas"].(map[string]any)
	if schemas == nil {
		schemas = map[string]any{}
		all.Components["schemas"] = schemas
	}
	parts, _ := release["$defs"].(map[string]any)
	for part, schema := range parts {
		schemas[part] = schema
	}
	delete(release, "$defs")
	delete(release, "$schema")
	schemas["Release"] = release
	all.Rest["components"] = all.Components
	return json.Marshal(all.Rest)
}

// describe answers with the description of the API.
func describe(w http.ResponseWriter, r *http.Request) error {
	document, err := OpenAPI()
	if err == nil {
		document, err = servedAt(document, pathOf(r))
	}
	if err != nil {
		return err
	}
	return answerJSON(w, r, document)
}
