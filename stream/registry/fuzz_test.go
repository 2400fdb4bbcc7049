package registry_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/registry"
)

// FuzzAnswer: whatever a registry answers, with whatever status, is an error or a schema. Each schema that it builds
// upon is there once, and the answer is remembered.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{`{"schema":"\"string\""}`,
		`{"schemaType":"PROTOBUF","schema":"x","references":[{"name":"a","subject":"b","version":1}]}`,
		`{"schemaType":"JSON","schema":"{}"}`, `{"error_code":40403,"message":"Schema not found"}`,
		`{"schemaType":"?"}`,
		`{}`, `null`, `[`, ``, "<html>"} {
		f.Add(uint8(0), []byte(text))
		f.Add(uint8(4), []byte(text))
	}
	statuses := []int{http.StatusOK, http.StatusNoContent, http.StatusFound, http.StatusUnauthorized,
		http.StatusNotFound, http.StatusInternalServerError}
	var status atomic.Int32
	var answer atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write(*answer.Load())
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		status.Store(int32(statuses[int(kind)%len(statuses)]))
		answer.Store(&text)
		c, err := registry.New(registry.Config{URLs: []string{server.URL}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Schema(t.Context(), codec.Numbered(7))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, r := range got.References {
			if seen[r.Name] {
				t.Fatalf("%q: %q occurs twice", text, r.Name)
			}
			seen[r.Name] = true
		}
		none := []byte("no more")
		answer.Store(&none)
		if again, err := c.Schema(t.Context(), codec.Numbered(7)); err != nil || again.Text != got.Text {
			t.Fatalf("%q: not remembered: %v", text, err)
		}
		// What a registry says may be no schema at all: the decoder must find out.
		spec := codec.Spec{Format: got.Format, User: codec.KeyField, Value: "v", Schema: codec.Schema{Text: got.Text,
			Message: "m"}}
		_ = spec.Mistakes()
	})
}
