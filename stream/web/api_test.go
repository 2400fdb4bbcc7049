package web

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/louver/louver/stream/record/recordtest"
)

// handler serves the records alone.
func (w *world) handler() http.Handler { return New(Config{Store: w.store}) }

// get asks the handler.
func (w *world) get(path string, headers ...string) *httptest.ResponseRecorder {
	return w.ask(http.MethodGet, path, headers...)
}

func (w *world) ask(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a := httptest.NewRecorder()
	w.handler().ServeHTTP(a, r)
	return a
}

func filled(t *testing.T) *world {
	w := newWorld(t, 1<<20)
	for i := range 5 {
		w.publish(0, text("s", "eu", "users", i, "100"))
		w.publish(0, text("s", "us", "users", i, "200"))
	}
	return w
}

func TestReleases(t *testing.T) {
	w := filled(t)
	var page struct {
		Releases []json.RawMessage
		Next     *string
	}
	a := w.get("/api/v1/releases?group=eu&limit=3")
	if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil || a.Code != http.StatusOK || len(page.Releases) != 3 ||
		page.Next == nil {
		t.Fatalf("%v %d %s", err, a.Code, a.Body)
	}
	want(t, "a record", string(page.Releases[2]), text("s", "eu", "users", 2, "100")) // byte by byte
	if link := a.Header().Get("Link"); link != "<?cursor="+*page.Next+`&group=eu&limit=3>; rel="next"` {
		t.Errorf("Link: %s", link)
	}
	a = w.get("/api/v1/releases?group=eu&limit=3&cursor=" + *page.Next)
	if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil || len(page.Releases) != 2 || page.Next != nil ||
		a.Header().Get("Link") != "" {
		t.Errorf("%v %d %s", err, a.Code, a.Body)
	}
	want(t, "some fields", w.get("/api/v1/releases/latest?fields=value,group,clip").Body.String(),
		`{"releases":[{"value":100,"group":"eu","clip":null},`+"\n"+`{"value":200,"group":"us","clip":null}]}`+"\n")
	want(t, "nothing", w.get("/api/v1/releases?from=2030-01-01T00:00:00Z").Body.String(),
		`{"releases":[],"next":null}`+"\n")
}

func TestCSV(t *testing.T) {
	w := filled(t)
	w.publish(1, `{"schema":"louver.release.v1","stream":"q","group":"","release":"p50","value":null,"status":"withheld","reason":"too_few_users",`+
		`"interval":{"level":0.9,"low":1,"high":2.5},"smoothed":{"value":2,"low":null,"high":3},"clip":[0,10],"epsilon":0.1,"delta":0,"budget_epsilon_limit":10}`)
	for path, accept := range map[string]string{"/api/v1/releases": "text/csv",
		"/api/v1/releases?format=csv": "application/json"} {
		a := w.get(path, "Accept", accept)
		rows, err := csv.NewReader(a.Body).ReadAll()
		if err != nil || len(rows) != 12 || !strings.HasPrefix(a.Header().Get("Content-Type"), "text/csv") {
			t.Fatalf("%v, %d rows of %s", err, len(rows), a.Header().Get("Content-Type"))
		}
		cells := map[string]string{}
		for i, name := range rows[0] {
			cells[name] = rows[1][i]
		}
		for name, value := range map[string]string{"value": "", "reason": "too_few_users", "interval_low": "1",
			"interval_high": "2.5", "smoothed": "2", "smoothed_low": "", "smoothed_high": "3",
			"clip_high": "10", "epsilon": "0.1", "budget_epsilon_limit": "10", "users": ""} {
			if cells[name] != value {
				t.Errorf("%s: %q; want %q", name, cells[name], value)
			}
		}
	}
	want(t, "some columns", w.get("/api/v1/releases/latest?stream=s&fields=group,value&format=csv").Body.String(),
		"group,value\neu,100\nus,200\n")
	want(t, "JSON is the default", w.get("/api/v1/releases", "Accept",
		"text/csv;q=0.1, */*;q=0.1, application/json").Header().Get("Content-Type"), "application/json")
}

// What a request gets wrong is said in one sentence.
func TestProblems(t *testing.T) {
	w := filled(t)
	for _, c := range []struct {
		method, path string
		status       int
		detail       string
	}{
		{"GET", "/api/v1/releases?strem=s", 400,
			"strem means nothing here; want stream, group, release, from, to, last, limit, cursor, fields, format"},
		{"GET", "/api/v1/budget?x=1", 400, "x means nothing here; want only, returns"},
		{"GET", "/api/v1/budget?only=streams", 400, `only="streams"; want budgets`},
		{"GET", "/api/v1/budget?returns=0", 400, `returns="0"; want a whole number from 1 to 1000`},
		{"GET", "/api/v1/releases?stream=x", 404, `there is no stream "x"; want one of s`},
		{"GET", "/api/v1/releases/latest?stream=s&group=ap", 404, `there is no group "ap"; want one of eu, us`},
		{"GET", "/api/v1/releases?from=yesterday", 400, `from="yesterday"; want a time such as 2026-11-20T08:15:00Z`},
		{"GET", "/api/v1/releases?limit=0", 400, `limit="0"; want a whole number from 1 to 10000`},
		{"GET", "/api/v1/releases?cursor=abc", 400, "cursor=\"abc\"; want the `next` of an earlier answer"},
		{"GET", "/api/v1/releases?format=xml", 400, `format="xml"; want json or csv`},
		{"GET", "/api/v1/releases/latest?readable=1", 400, `readable="1"; want true or false`},
		{"GET", "/api/v1/releases/latest?fields=value,user", 400, `fields: "user" is not one; want some of schema,id,`},
		{"GET", "/api/v1/streams?stream=x", 404, `there is no stream "x"; want one of s`},
		{"GET", "/api/v1/releases/live?group=x", 404, `there is no group "x"; want one of eu, us`},
		{"POST", "/api/v1/releases", 405, "POST /api/v1/releases; want GET: nothing can be changed here"},
		{"GET", "/api/v2/releases", 404, "there is no /api/v2/releases; louver schema openapi describes what there is"},
		{"GET", "/favicon.ico", 404, "there is no /favicon.ico; the page is at /"},
	} {
		a := w.ask(c.method, c.path)
		var p struct {
			Type, Title, Detail string
			Status              int
		}
		if err := json.Unmarshal(a.Body.Bytes(), &p); err != nil ||
			a.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v in %s", c.path, err, a.Body)
		}
		if a.Code != c.status || p.Status != c.status || p.Title == "" || !strings.HasPrefix(p.Detail, c.detail) {
			t.Errorf("%s: %d %+v; want %d %s", c.path, a.Code, p, c.status, c.detail)
		}
	}
	want(t, "Allow", w.ask(http.MethodPost, "/api/v1/streams").Header().Get("Allow"), "GET, HEAD")
}

func TestHeaders(t *testing.T) {
	w := filled(t)
	for _, path := range []string{"/", "/page.js", "/api/v1/streams", "/api/v1/releases", "/api/v1/releases/latest",
		"/nothing"} {
		a := w.get(path)
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
			if a.Header().Get(name) == "" {
				t.Errorf("%s has no %s", path, name)
			}
		}
		for name := range a.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s has %s", path, name)
			}
		}
		if a.Code != http.StatusOK {
			continue
		}
		tag := a.Header().Get("ETag")
		if again := w.get(path, "If-None-Match", tag); tag == "" || again.Code != http.StatusNotModified ||
			again.Body.Len() > 0 {
			t.Errorf("%s again, with ETag %s: %d", path, tag, again.Code)
		}
	}
	w.publish(0, text("s", "us", "users", 9, "200"))
	first := filled(t).get("/api/v1/releases/latest").Header().Get("ETag")
	if a := w.get("/api/v1/releases/latest", "If-None-Match", first); a.Code != http.StatusOK {
		t.Errorf("%d after a new record; want the record", a.Code)
	}
}

// The page has no script or style in its HTML, which the policy forbids, and asks no other host.
func TestPageKeepsToThePolicy(t *testing.T) {
	html := newWorld(t, 1).get("/").Body.String()
	for _, bad := range []string{"<script>", "<style", " style=", " onclick=", "javascript:", "http://", "https://",
		`src="/`, `href="/`} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

// Records and CSV have the band as it was published, for figures of every kind.
func TestAPIHasTheBand(t *testing.T) {
	w := newWorld(t, 1<<20)
	all := recordtest.AllBanded(t)
	for _, c := range all {
		w.publish(0, c.Record)
	}
	h := w.handler()
	for _, c := range all {
		asked := "/api/v1/releases?stream=shown&release=" + c.Name + "&fields=low,high"
		null := func(number string) string { return cmp.Or(number, "null") }
		want := fmt.Sprintf(`{"releases":[{"low":%s,"high":%s}]`, null(c.Low), null(c.High))
		if got := ask(t, h, asked); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", c.Name, got, want)
		}
		if got := ask(t, h, asked+"&format=csv"); got != "low,high\n"+c.Low+","+c.High+"\n" {
			t.Errorf("%s: %q, want %s and %s", c.Name, got, c.Low, c.High)
		}
	}
}
