package ingest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// A stream follows another one only if it would write the same parts at the same offsets.
func TestWhoFollows(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*config.Stream)
		meet   func(*route)
		want   bool
	}{
		{"name, output, releases", func(s *config.Stream) { s.Name, s.Output, s.Figures = "other", "elsewhere", nil },
			nil, true},
		{"topics for copies", func(s *config.Stream) { s.Rejects, s.Late = "bad", "late" }, nil, true},
		{"contribution", func(s *config.Stream) { s.Contribution = "max" }, nil, false},
		{"max_groups", func(s *config.Stream) { s.MaxGroups = 2 }, nil, false},
		{"size", func(s *config.Stream) { s.Window.Size = 8 * time.Second }, nil, false},
		{"grace", func(s *config.Stream) { s.Window.Grace = 3 * time.Second }, nil, false},
		{"groups", func(s *config.Stream) { s.Groups = []string{"a"}; s.Input.Group = "g" }, nil, false},
		{"max_future", func(s *config.Stream) { s.Input.MaxFuture = time.Minute }, nil, false},
		{"position", same, func(r *route) { r.from = 1 }, false},
		{"cut windows", same, func(r *route) { r.through = 4 * second }, false},
		{"lost records", same, func(r *route) { r.lost = 1 }, false},
		{"open cuts", same, func(r *route) { r.cutAt(4*second, 1, 1) }, false},
		{"open bags", same, func(r *route) { r.slot(second) }, false},
	} {
		routes := sharing(t, same, func(s *config.Stream) { s.Name = "second"; c.change(s) })
		if c.meet != nil {
			c.meet(routes[1])
		}
		all := lanes(routes)
		follow(all)
		if got := routes[1].follows == routes[0]; got != c.want ||
			len(leading(all)) != len(routes)-len(routes[0].followers) {
			t.Errorf("another %s: follows is %v, want %v; %d lanes take events", c.what, got, c.want, len(leading(all)))
		}
	}
}

// Two definitions of a stream take events at the same time: neither follows.
func TestEditionsDoNotFollow(t *testing.T) {
	routes := sharing(t, same, same, func(s *config.Stream) { s.Name = "second" })
	routes[1].edition = 1
	if follow(lanes(routes)); len(routes[0].followers)+len(routes[1].followers)+len(routes[2].followers) > 0 {
		t.Error("a stream with two definitions follows or leads")
	}
}

// What the leader writes, its followers have written too.
func TestFollowersMoveWithTheirLeader(t *testing.T) {
	routes := sharing(t, same, func(s *config.Stream) { s.Name = "second" },
		func(s *config.Stream) { s.Name = "third" })
	follow(lanes(routes))
	leader := routes[0]
	leader.cutAt(4*second, 7, 1)
	for _, r := range routes {
		r.lose(3)
	}
	mark, err := leader.flush(7, windows.Origin{}, 1, func(windows.Part) error { return nil })
	if err != nil || mark.Lost != 3 {
		t.Fatalf("%+v, %v", mark, err)
	}
	type state struct {
		From, Through, Lost, Marked int64
	}
	of := func(r *route) state { return state{r.from, r.through, r.lost, r.marked.UnixNano()} }
	want := state{7, 4 * second, 0, leader.marked.UnixNano()}
	for _, r := range routes {
		if d := cmp.Diff(want, of(r)); d != "" {
			t.Errorf("stream %s (-want +got)\n%s", r.stream.Name, d)
		}
	}
}
