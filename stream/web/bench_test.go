package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/louver/louver/stream/outputs"
)

// many is a Store of a thousand streams of three groups and two releases, as full as it gets.
func many(b *testing.B) (*Store, func(window int)) {
	b.Helper()
	s, offset := NewStore(64<<20), int64(0)
	round := func(window int) {
		for stream := range 1000 {
			for _, group := range []string{"eu", "us", "ap"} {
				for _, release := range []string{"p50", "users"} {
					value := []byte(text(fmt.Sprint("stream-", stream), group, release, window, "812"))
					r, _, err := outputs.Decode(value)
					if err != nil {
						b.Fatal(err)
					}
					s.Add(outputs.Message{Topic: "out", Partition: stream % 12, Offset: offset, Value: value}, r)
					offset++
				}
			}
		}
	}
	for window := range 15 {
		round(window)
	}
	return s, round
}

// BenchmarkAdd takes in a window of a thousand streams, 6,000 records, while so many clients listen.
func BenchmarkAdd(b *testing.B) {
	for _, clients := range []int{0, 100, 1000} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			s, round := many(b)
			done := make(chan struct{})
			for range clients {
				r := s.read(selection{streams: []string{"stream-7"}}, nil)
				go func() {
					for {
						found, more, _ := r.next()
						for _, f := range found {
							r.pass(f)
						}
						select {
						case <-more:
							gather(b.Context())
						case <-done:
							return
						}
					}
				}()
			}
			window := 20
			for b.Loop() {
				round(window)
				window++
			}
			close(done)
		})
	}
}

func BenchmarkAnswer(b *testing.B) {
	s, _ := many(b)
	h := New(Config{Store: s})
	for _, path := range []string{"/api/v1/streams", "/api/v1/releases/latest",
		"/api/v1/releases/latest?fields=stream,group,release,window_end,value", "/api/v1/releases?stream=stream-7",
		"/api/v1/releases?limit=10000", "/api/v1/budget"} {
		b.Run(path[len("/api/v1/"):], func(b *testing.B) {
			for b.Loop() {
				a := httptest.NewRecorder()
				h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, nil))
				if a.Code != http.StatusOK {
					b.Fatal(a.Code, a.Body)
				}
			}
		})
	}
}
