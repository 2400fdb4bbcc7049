package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/registry"
)

// fake is a registry: what it answers by path. Other paths are schemas that it has not.
type fake struct {
	answers map[string]any
	deleted map[string]bool // paths that it answers only to those who want deleted schemas too
	asked   []string
	user    string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.asked = append(f.asked, r.URL.Path)
	if f.deleted[r.URL.Path] && r.URL.Query().Get("deleted") != "true" {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"error_code":40402,"message":"Version not found"}`)
		return
	}
	if user, password, _ := r.BasicAuth(); f.user != "" && user+":"+password != f.user {
		http.Error(w, "<html>who are you?</html>", http.StatusUnauthorized)
		return
	}
	answer, ok := f.answers[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"error_code":40403,"message":"Schema not found"}`)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func client(t *testing.T, f *fake, change func(*registry.Config)) *registry.Client {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	config := registry.Config{URLs: []string{server.URL}}
	if change != nil {
		change(&config)
	}
	c, err := registry.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type object = map[string]any

func TestSchema(t *testing.T) {
	refer := func(names ...string) (all []object) {
		for _, name := range names {
			all = append(all, object{"name": name + ".proto", "subject": name, "version": 2})
		}
		return all
	}
	version := func(text string, references ...string) object {
		return object{"subject": "s", "version": 2, "id": 9, "schemaType": "PROTOBUF", "schema": text,
			"references": refer(references...)}
	}
	f := &fake{answers: map[string]any{
		"/schemas/ids/7":         object{"schema": `"string"`}, // Avro has no type there
		"/schemas/ids/8":         object{"schemaType": "PROTOBUF", "schema": "top", "references": refer("a", "b")},
		"/subjects/a/versions/2": version("text of a", "c"),
		"/subjects/b/versions/2": version("text of b", "c"),
		"/subjects/c/versions/2": version("text of c"),
	}}
	c := client(t, f, nil)
	for range 2 { // the second answer is remembered
		got, err := c.Schema(t.Context(), codec.Numbered(7))
		if want := (codec.Registered{Format: "avro", Text: `"string"`}); err != nil || !cmp.Equal(got, want) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if len(f.asked) != 1 {
		t.Errorf("asked for %v, want one request", f.asked)
	}
	got, err := c.Schema(t.Context(), codec.Numbered(8))
	if err != nil {
		t.Fatal(err)
	}
	want := codec.Registered{Format: "protobuf", Text: "top", References: []codec.Reference{{Name: "c.proto",
		Text: "text of c"}, {Name: "a.proto", Text: "text of a"}, {Name: "b.proto", Text: "text of b"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := c.Schema(t.Context(), codec.Numbered(9)); !errors.Is(err, codec.ErrNoSchema) {
		t.Errorf("%v, want ErrNoSchema", err)
	}
}

// One node is behind, one is down, and one has the schema.
func TestEveryNodeIsAsked(t *testing.T) {
	behind, ahead := httptest.NewServer(&fake{}), httptest.NewServer(&fake{answers: map[string]any{
		"/schemas/ids/7": object{"schema": `"string"`}}})
	defer behind.Close()
	defer ahead.Close()
	const down = "http://127.0.0.1:1"
	c, err := registry.New(registry.Config{URLs: []string{down, behind.URL, ahead.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Schema(t.Context(), codec.Numbered(7)); err != nil || got.Text != `"string"` {
		t.Errorf("%+v, %v; want the schema that the last node has", got, err)
	}
	for _, id := range []uint32{8, 1 << 31} {
		if _, err := c.Schema(t.Context(), codec.Numbered(id)); !errors.Is(err, codec.ErrNoSchema) {
			t.Errorf("schema %d: %v, want ErrNoSchema", id, err)
		}
	}
	c, err = registry.New(registry.Config{URLs: []string{down, behind.URL, down}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Schema(t.Context(), codec.Numbered(7)); !errors.Is(err, codec.ErrNoSchema) {
		t.Errorf("%v, want ErrNoSchema as one node answers so", err)
	}
}

// A schema may build upon one that was deleted.
func TestDeletedReference(t *testing.T) {
	f := &fake{answers: map[string]any{
		"/schemas/ids/8": object{"schemaType": "PROTOBUF", "schema": "top", "references": []object{{"name": "a.proto",
			"subject": "a", "version": 2}}},
		"/subjects/a/versions/2": object{"subject": "a", "version": 2, "id": 9, "schemaType": "PROTOBUF",
			"schema": "text of a"},
	}, deleted: map[string]bool{"/subjects/a/versions/2": true}}
	got, err := client(t, f, nil).Schema(t.Context(), codec.Numbered(8))
	if err != nil || len(got.References) != 1 || got.References[0].Text != "text of a" {
		t.Errorf("%+v, %v; want the deleted schema that it builds upon", got, err)
	}
}

func TestPassword(t *testing.T) {
	f := &fake{answers: map[string]any{"/schemas/ids/7": object{"schema": `"string"`}}, user: "me:new"}
	password := "old"
	c := client(t, f, func(c *registry.Config) {
		c.Username, c.Password = "me", func() (string, error) { return password, nil }
	})
	_, err := c.Schema(t.Context(), codec.Numbered(7))
	if err == nil || errors.Is(err, codec.ErrNoSchema) || !strings.Contains(err.Error(), "401") ||
		strings.Contains(err.Error(), "html") || strings.Contains(err.Error(), password) {
		t.Errorf("%v, want one line about 401", err)
	}
	password = "new" // as if the file had changed
	if _, err := c.Schema(t.Context(), codec.Numbered(7)); err != nil {
		t.Error(err)
	}
}

func TestNoAnswer(t *testing.T) {
	c, err := registry.New(registry.Config{URLs: []string{"http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Schema(t.Context(), codec.Numbered(7)); err == nil || errors.Is(err, codec.ErrNoSchema) {
		t.Errorf("%v, want an error of the connection", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Schema(ctx, codec.Numbered(7)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

// A record may name its schema by a GUID. A registry that knows none has no such schema.
func TestGUID(t *testing.T) {
	id := codec.SchemaID{GUID: [16]byte{0: 0x5e, 15: 1}}
	const path = "/schemas/guids/5e000000-0000-0000-0000-000000000001"
	f := &fake{answers: map[string]any{path: object{"schema": `"string"`, "guid": id.String(), "references": []object{
		{"name": "A", "subject": "a", "version": 2}}},
		"/subjects/a/versions/2": object{"subject": "a", "version": 2, "id": 9, "schema": `"long"`}}}
	c := client(t, f, nil)
	for range 2 {
		got, err := c.Schema(t.Context(), id)
		if err != nil || got.Text != `"string"` || got.Format != "avro" || len(got.References) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if len(f.asked) != 2 {
		t.Errorf("asked for %q; want the schema and its reference once", f.asked)
	}
	if _, err := c.Schema(t.Context(), codec.SchemaID{GUID: [16]byte{1}}); !errors.Is(err, codec.ErrNoSchema) {
		t.Errorf("%v, want ErrNoSchema", err)
	}
	old := httptest.NewServer(http.NotFoundHandler())
	defer old.Close()
	c, err := registry.New(registry.Config{URLs: []string{old.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Schema(t.Context(), id); !errors.Is(err, codec.ErrNoSchema) {
		t.Errorf("%v, want ErrNoSchema of a registry that knows no GUIDs", err)
	}
	if _, err := c.Schema(t.Context(), codec.Numbered(7)); err == nil || errors.Is(err, codec.ErrNoSchema) {
		t.Errorf("%v; want an error that says what is answered at a wrong address", err)
	}
}
