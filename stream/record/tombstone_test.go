package record

import (
	"strings"
	"testing"
	"time"
)

// The key of a tombstone is that of the series' figures. Its id is none that a figure has, and is read back.
func TestTombstones(t *testing.T) {
	end := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, l := range []Left{{Stream: "s", Group: "a/b%", Release: "p50.1d", Discovery: "daily", End: end, Due: end},
		{Stream: "s", Group: "left", Release: "left", End: end, Due: end}} {
		r := l.Tombstone(Destination{App: "app", Topic: "out"})
		f := Value{Found: true, Stream: l.Stream, Group: l.Group, Release: l.Release, DueAt: end}
		if string(r.Key) != f.Key() || r.Value != nil || r.Topic != "out" || !r.Time.Equal(end) {
			t.Errorf("%+v", r)
		}
		f.ID = f.At(Whole(end))
		like, err := New(f, Destination{App: "app", Topic: "out"})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Headers) != len(like.Headers)-1 {
			t.Errorf("headers %s, want those of a figure without the type of its content", r.Headers)
		}
		for i, h := range r.Headers {
			if want := like.Headers[i+1]; h.Key != want.Key || h.Key != HeaderID &&
				string(h.Value) != string(want.Value) {
				t.Errorf("header %s, want %s", h, want)
			}
		}
		read, ok := ReadLeft(r.ID())
		if !ok || read.Stream != l.Stream || read.Release != l.Release || read.Discovery != l.Discovery ||
			!read.End.Equal(end) {
			t.Errorf("%s is read as %+v", r.ID(), read)
		}
		if _, ok := ReadLeft(f.ID); ok || !strings.HasPrefix(r.ID(), f.ID+"/left") {
			t.Errorf("the ids %s and %s", r.ID(), f.ID)
		}
	}
	for _, id := range []string{"", "s/a/2026-11-20T09:00:00Z/p50", "s/a/today/p50/left",
		"s/a/2026-11-20T09:00:00Z/p50/right",
		"s/a/2026-11-20T09:00:00Z/p50/left/x/y"} {
		if l, ok := ReadLeft(id); ok {
			t.Errorf("%q is read as %+v", id, l)
		}
	}
}

// A slash in a group's name divides no key, whether the group is found or listed. Listed names without one are in the
// key as they are.
func TestSlashesInKeys(t *testing.T) {
	for _, c := range []struct {
		found bool
		group string
		want  string
	}{{false, "eu", "s/eu/r"}, {false, "50 %", "s/50 %/r"}, {true, "50 %", "s/50 %25/r"}, {false, "/cart", "s/%2Fcart/r"},
		{true, "/cart", "s/%2Fcart/r"}, {false, "/50%", "s/%2F50%25/r"}} {
		f := Value{Stream: "s", Group: c.group, Release: "r", Found: c.found}
		if got := f.Key(); got != c.want {
			t.Errorf("%q, found %v: %s, want %s", c.group, c.found, got, c.want)
		}
	}
}
