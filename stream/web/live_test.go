package web

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/outputs"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// event is a server-sent event.
type event struct{ id, name, data string }

// listener is a live client.
type listener struct {
	*testing.T
	events chan event
	last   string // the id of the last event
	stop   func()
}

func listen(t *testing.T, server *httptest.Server, query, lastID string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/releases/live"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	a, err := server.Client().Do(r) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Header.Get("Content-Type"); a.StatusCode != http.StatusOK || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("%s, %s", a.Status, got)
	}
	l := &listener{T: t, events: make(chan event, 100), last: lastID}
	done := make(chan struct{})
	l.stop = func() { cancel(); <-done }
	t.Cleanup(l.stop)
	go func() {
		defer close(done)
		defer func() { _ = a.Body.Close() }()
		scan := bufio.NewScanner(a.Body)
		var e event
		for scan.Scan() {
			field, value, _ := strings.Cut(scan.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if scan.Text() == "" && e != (event{}) {
					select {
					case l.events <- e:
					case <-ctx.Done():
						return
					}
					e = event{}
				}
			}
		}
	}()
	return l
}

// next waits for the next event that is no news about Kafka. An id alone counts as an event without a name.
func (l *listener) next() event {
	l.Helper()
	for {
		select {
		case e := <-l.events:
			if e.id != "" {
				l.last = e.id
			}
			if e.name != "reading" {
				return e
			}
		case <-time.After(patience):
			l.Fatal("no event")
		}
	}
}

// wants waits for records with these values.
func (l *listener) wants(values ...string) {
	l.Helper()
	for _, v := range values {
		if got := l.value(); got != v {
			l.Fatalf("a release of %s; want one of %s", got, v)
		}
	}
}

// value is that of the next release.
func (l *listener) value() string {
	l.Helper()
	e := l.next()
	var r outputs.Record
	if err := json.Unmarshal([]byte(e.data), &r); e.name != "release" || err != nil {
		l.Fatalf("%s %s (%v); want a release", e.name, e.data, err)
	}
	return r.Value.String()
}

func (w *world) serve() *httptest.Server {
	s := httptest.NewServer(w.handler())
	w.Cleanup(s.Close)
	return s
}

func TestLive(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.store.Begin("out", 0, 0, 0)
	w.store.Begin("out", 1, 0, 0)
	w.publish(0, text("s", "", "users", 1, "1"))
	server := w.serve()
	all, one := listen(t, server, "", ""), listen(t, server, "?stream=s", "")
	want(t, "the id at the start", all.next().id, "out:0=0")
	one.next()
	w.publish(1, text("t", "", "users", 1, "2"))
	w.publish(0, text("s", "", "users", 2, "3"))
	all.wants("2", "3")
	one.wants("3")
	want(t, "the id", all.last, "out:0=2,1=0")
	want(t, "the id of one stream", one.last, "out:0=2")
}

// A client that comes back gets what it has missed, once, from the same server and from one that was started anew.
func TestLiveResumes(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.store.Begin("out", 0, 0, 0)
	w.store.Begin("out", 1, 0, 0)
	server := w.serve()
	var log []func()
	publish := func(partition int, value string) {
		w.publish(partition, value)
		offset := w.next[partition] - 2
		log = append(log, func() { w.next[partition] = offset; w.publish(partition, value) })
	}
	publish(0, text("s", "", "users", 1, "1"))
	publish(1, text("t", "", "users", 1, "2"))
	l := listen(t, server, "", "")
	l.next()
	publish(1, text("t", "", "users", 2, "3"))
	l.wants("3")
	l.stop()
	publish(0, text("s", "", "users", 2, "4"))
	publish(1, text("t", "", "users", 3, "5"))
	publish(0, text("s", "", "users", 3, "6"))
	again := listen(t, server, "", l.last)
	again.next()
	again.wants("4", "6", "5") // partition by partition

	// The new server has read nothing when the client comes, and then reads everything.
	w.store = NewStore(1 << 20)
	server = w.serve()
	again = listen(t, server, "", l.last)
	again.next()
	w.store.Begin("out", 0, 0, 5)
	w.store.Begin("out", 1, 0, 5)
	for _, publish := range log {
		publish()
	}
	// The records of a partition come in order; those of several may come in between.
	got := []string{again.value(), again.value(), again.value()}
	all := slices.Sorted(slices.Values(got))
	if slices.Index(got, "4") > slices.Index(got, "6") || !slices.Equal(all, []string{"4", "5", "6"}) {
		t.Fatalf("releases of %s; want 4 before 6, and 5", got)
	}
	publish(0, text("s", "", "users", 4, "7"))
	again.wants("7")
}

// A client that comes while the server still reads the past gets what is new, and not the past.
func TestLiveBeginsWithWhatComesNext(t *testing.T) {
	w := newWorld(t, 1<<20)
	server := w.serve()
	early := listen(t, server, "", "")
	w.store.Begin("out", 0, 0, 5)
	w.publish(0, text("s", "", "users", 1, "1"))
	late := listen(t, server, "", "")
	want(t, "the id in the midst of the past", late.next().id, "out:0=4")
	w.publish(0, text("s", "", "users", 2, "2"))
	w.publish(0, text("s", "", "users", 3, "3"))
	w.publish(0, text("s", "", "users", 4, "4"))
	early.wants("4")
	late.wants("4")
	// All of a topic that did not exist is new.
	w.store.Begin("out", 1, 0, 0)
	w.publish(1, text("t", "", "users", 1, "5"))
	early.wants("5")
}

// Where records may have been missed, the client is told, and goes on.
func TestLiveTellsOfHoles(t *testing.T) {
	bytes := 20 * (int64(len(text("s", "", "users", 1, "100"))) + overhead)
	for name, make := range map[string]func(w *world) (id string){
		"not an id":          func(*world) string { return "what?" },
		"dropped meanwhile":  func(*world) string { return "out:0=2" },
		"never read":         func(w *world) string { w.store.Begin("late", 0, 50, 60); return "late:0=40" },
		"a topic recreated":  func(*world) string { return "out:0=5000" },
		"made anew and read": func(w *world) string { w.store.Begin("new", 0, 0, 3); return "new:0=3" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bytes)
			w.store.Begin("out", 0, 0, 0)
			for i := range 100 {
				w.publish(0, text("s", "", "users", i, "100"))
			}
			l := listen(t, w.serve(), "", make(w))
			for l.next().name != "reset" { // the first event has an id alone
			}
			w.publish(0, text("s", "", "users", 100, "7"))
			l.wants("7")
		})
	}
}

func TestLiveWhenATopicIsMadeAnew(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.store.Begin("out", 0, 0, 0)
	w.publish(0, text("s", "", "users", 1, "1"))
	w.publish(0, text("s", "", "users", 2, "2"))
	l := listen(t, w.serve(), "", "")
	l.next()
	w.store.Renew("out")
	if e := l.next(); e.name != "reset" {
		t.Fatalf("%+v; want a reset", e)
	}
	w.next[0] = 0
	w.store.Begin("out", 0, 0, 0)
	w.publish(0, text("s", "", "users", 3, "3"))
	l.wants("3")
	want(t, "the id", l.last, "out:0=0")
	got, _, _ := w.store.find(selection{}, nil, 10)
	want(t, "windows", windowsIn(got), []int{1, 2, 3}) // what was published was published
}

// A client that is so slow that the Store has passed on gets what is still there, or hears that something is missing.
func TestSlowReader(t *testing.T) {
	w := newWorld(t, 1<<30)
	w.publish(0, text("s", "", "users", 0, "1"))
	r := w.store.read(selection{}, nil)
	const many = 3 * recentRecords
	for i := range many {
		w.publish(0, text([]string{"s", "t"}[i%2], "", "users", i+1, "1"))
	}
	found, _, lost := r.next()
	if lost || len(found) != many {
		t.Errorf("%d records, lost %v", len(found), lost)
	}
	for _, f := range found {
		r.pass(f)
	}
	if found, _, lost := r.next(); len(found) > 0 || lost {
		t.Errorf("%d records, lost %v; want nothing new", len(found), lost)
	}
	for i := range 2 * mostWindows {
		w.publish(0, text("s", "", "users", 20000+i, "1"))
	}
	if found, _, lost := r.next(); !lost {
		t.Errorf("%d records; want to hear that some are lost", len(found))
	}
}

func TestTooManyClients(t *testing.T) {
	l := &live{source: source{store: NewStore(1 << 20)}}
	l.clients.Store(mostLive)
	w := httptest.NewRecorder()
	handle(l.answer)(w, httptest.NewRequest(http.MethodGet, "/api/v1/releases/live", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || l.clients.Load() != mostLive {
		t.Errorf("%d %v, %d clients", w.Code, w.Header(), l.clients.Load())
	}
}

func TestReading(t *testing.T) {
	s := NewStore(1 << 20)
	s.reading.note("x", true)
	want(t, "at once", s.Reading().OK, true) // it may pass
	s.reading.failing["x"] = time.Now().Add(-time.Minute)
	if r := s.Reading(); r.OK || time.Since(*r.Since) < time.Minute {
		t.Errorf("%s", r.json())
	}
	s.reading.note("x", false)
	want(t, "after it has passed", string(s.Reading().json()), `{"ok":true,"since":null}`)
}
