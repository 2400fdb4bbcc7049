package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// described is the OpenAPI document, which is right by itself.
func described(t *testing.T) (*openapi3.T, routers.Router) {
	t.Helper()
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	return document, router
}

// holds asks for a path and holds the question and the answer against the document.
func holds(t *testing.T, router routers.Router, h http.Handler, path string, accept string, status int) error {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	route, parameters, err := router.FindRoute(r)
	if err != nil {
		return err
	}
	asked := &openapi3filter.RequestValidationInput{Request: r, PathParams: parameters, Route: route}
	if status == http.StatusOK {
		if err := openapi3filter.ValidateRequest(t.Context(), asked); err != nil {
			return err
		}
	}
	a := httptest.NewRecorder()
	h.ServeHTTP(a, r)
	if a.Code != status {
		t.Errorf("%s: %d %s; want %d", path, a.Code, a.Body, status)
	}
	return openapi3filter.ValidateResponse(t.Context(),
		&openapi3filter.ResponseValidationInput{RequestValidationInput: asked, Status: a.Code, Header: a.Header(),
			Body: io.NopCloser(a.Body), Options: &openapi3filter.Options{IncludeResponseStatus: true}})
}

// Every endpoint answers as the document says, and the document describes every endpoint.
func TestOpenAPI(t *testing.T) {
	openapi3filter.RegisterBodyDecoder("text/csv", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	document, router := described(t)
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	w.ledgerOf(streams, 15, 0)
	w.publish(0, text("foreign", "x", "users", 1, "1"))
	w.publish(0, histogramText("latency", 0, 1))
	found := newVisits(t, 10, epoch)
	found.world = w
	found.discover(1, map[string]int64{"/shoes": 50})
	found.window(5)
	h := New(Config{Store: w.store, Streams: streams, Demo: rehearsal{}})
	ids := url.Values{"a": {"fast/eu/2026-11-20T08:00:00Z/users"}, "b": {"fast/us/2026-11-20T08:01:00Z/users"}}.Encode()
	ranges := url.Values{"a": {"fast/eu/2026-11-20T08:00:00Z..2026-11-20T08:02:00Z/users"},
		"b": {"fast/us/2026-11-20T08:02:00Z..2026-11-20T08:15:00Z/users"}}.Encode()
	asked := map[string]bool{}
	for _, c := range []struct {
		path, accept string
		status       int
	}{
		{"/api/v1/streams", "*/*", 200}, {"/api/v1/streams?stream=x", "*/*", 404},
		{"/api/v1/releases?stream=fast&stream=hopping&group=eu&last=3&limit=2&from=2026-11-20T08:00:00Z", "*/*", 200},
		{"/api/v1/releases", "text/csv", 200}, {"/api/v1/releases?format=csv&fields=value,unit", "*/*", 200},
		{"/api/v1/releases?limit=0", "*/*", 400},
		{"/api/v1/releases/latest", "application/json", 200}, {"/api/v1/releases/latest", "text/csv", 200},
		{"/api/v1/releases/latest?group=zz", "*/*", 404},
		{"/api/v1/budget", "*/*", 200}, {"/api/v1/budget?only=budgets&returns=2", "*/*", 200},
		{"/api/v1/budget?x=1", "*/*", 400},
		{"/api/v1/compare?" + ids, "*/*", 200}, {"/api/v1/compare?" + ranges, "*/*", 200},
		{"/api/v1/compare?a=x&b=y", "*/*", 400},
		{"/api/v1/distribution?stream=h&release=latency", "*/*", 200},
		{"/api/v1/distribution?stream=h&release=latency", "text/csv", 200},
		{"/api/v1/distribution?stream=h", "*/*", 400},
		{"/api/v1/groups?stream=pages", "*/*", 200}, {"/api/v1/groups?stream=fast", "*/*", 404},
		{"/api/v1/signals", "*/*", 200}, {"/api/v1/signals?last=2&stream=fast", "*/*", 200},
		{"/api/v1/signals?last=0", "*/*", 400},
		{"/api/v1/statement", "*/*", 200}, {"/api/v1/statement", "text/html", 200},
		{"/api/v1/statement?stream=foreign", "*/*", 404},
		{"/api/v1/demo", "*/*", 200}, {"/api/v1/demo/redraw?release=p50&epsilon=0.1", "*/*", 200},
		{"/api/v1/demo/redraw?release=p50&epsilon=0", "*/*", 400},
		{"/api/v1/openapi.json", "*/*", 200}, {"/api/v1/releases/live?stream=zz", "*/*", 404},
	} {
		path, _, _ := strings.Cut(c.path, "?")
		asked[path] = true
		if err := holds(t, router, h, c.path, c.accept, c.status); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	for path := range document.Paths.Map() {
		if !asked[path] {
			t.Errorf("nobody asks for %s", path)
		}
	}
	for path := range endpoints(source{}, rehearsal{}) {
		if document.Paths.Find("/api/v1/"+path) == nil {
			t.Errorf("%s is not in the document", path)
		}
	}
	// The comparison is not blind: an answer with a field too many does not pass.
	bad := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"streams":[],"reading":{"ok":true,"since":null},"demo":false,"extra":1}`))
	})
	if err := holds(t, router, bad, "/api/v1/streams", "*/*", 200); err == nil {
		t.Error("a field that is not described passes")
	}
}

// What is said of live answers holds too.
func TestLiveIsDescribed(t *testing.T) {
	_, router := described(t)
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	w := filled(t)
	h := w.handler()
	ended := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Millisecond)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
	if err := holds(t, router, ended, "/api/v1/releases/live?stream=s", "text/event-stream", 200); err != nil {
		t.Error(err)
	}
}

// The AsyncAPI document has what the specification wants, its references lead somewhere, and its schemas accept what is
// published.
func TestAsyncAPI(t *testing.T) {
	text, err := AsyncAPI()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range references(document) {
		if at(document, ref) == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("asyncapi.json", document); err != nil {
		t.Fatal(err)
	}
	compile := func(path string) *jsonschema.Schema {
		s, err := c.Compile("asyncapi.json#" + path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	payload, headers := compile("/components/messages/release/payload"), compile("/components/messages/release/headers")
	w := newWorld(t, 1<<20)
	streams := parsed(t, streamsFile)
	w.ledgerOf(streams, 3, 0)
	for _, f := range w.store.latest(selection{}) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.value))
		if err != nil {
			t.Fatal(err)
		}
		if err := payload.Validate(value); err != nil {
			t.Error(err)
		}
	}
	e := ledger.Entry{App: "a", Stream: "s", Budget: "b", Input: "in", Output: "out", WindowStart: epoch,
		WindowEnd: epoch.Add(time.Minute), DueAt: epoch.Add(time.Minute),
		ReleasedAt: epoch, Every: time.Minute, Limit: streams[0].Budget.Limit, Price: streams[0].Price(),
		Releases: streams[1].Series(),
		Groups:   []ledger.Group{{}}, Reason: record.BudgetExhausted}
	records, err := e.Records()
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]any{}
	for _, x := range records[0].Headers {
		sent[x.Key] = string(x.Value)
	}
	if err := headers.Validate(sent); err != nil {
		t.Error(err)
	}
	if err := headers.Validate(map[string]any{}); err == nil {
		t.Error("no headers pass")
	}
}

// references are all values of $ref.
func references(v any) (refs []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			if ref, ok := below.(string); ok && key == "$ref" {
				refs = append(refs, ref)
				continue
			}
			refs = append(refs, references(below)...)
		}
	case []any:
		for _, below := range v {
			refs = append(refs, references(below)...)
		}
	}
	return refs
}

// at returns the target of a reference.
func at(document any, ref string) any {
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		below, _ := document.(map[string]any)
		document = below[name]
	}
	return document
}

func TestContractsAreJSON(t *testing.T) {
	for name, make := range map[string]func() (json.RawMessage, error){"openapi": OpenAPI, "asyncapi": AsyncAPI} {
		text, err := make()
		if err != nil || !json.Valid(text) || !strings.Contains(string(text), `"louver.release.v1"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
