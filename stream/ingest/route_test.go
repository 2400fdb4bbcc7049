package ingest

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

const second = int64(time.Second)

// testStream has windows of four seconds every two and a grace of one.
func testStream(t testing.TB) *config.Stream {
	t.Helper()
	grid, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(60000), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	return &config.Stream{Name: "s", Groups: []string{""}, MaxGroups: 1, Grid: grid, Contribution: "last",
		Input:  config.Input{Topic: "in", Format: "json", User: "user_id", Value: "latency_ms", Time: "ts", MaxFuture: time.Hour},
		Window: config.Window{Size: 4 * time.Second, Every: 2 * time.Second, Grace: time.Second}}
}

func testRoute(t testing.TB, s *config.Stream) *route {
	t.Helper()
	r, err := newRoute(s, 0, 0, false, windows.NewHasher([16]byte{1}))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func jsonEvent(user int, at int64) []byte {
	return fmt.Appendf(nil, `{"user_id":"user-%d","latency_ms":%d,"ts":%d}`, user, user%1000, at)
}

// TestMembershipIsAPropertyOfRecordAndCut compares with the definition: a record counts in each window that contains
// its time and whose cut lies above its offset, however reading, cutting and sealing take turns.
func TestMembershipIsAPropertyOfRecordAndCut(t *testing.T) {
	stream := testStream(t)
	rapid.Check(t, func(t *rapid.T) {
		r, err := newRoute(stream, 0, 0, false, windows.NewHasher([16]byte{1}))
		if err != nil {
			t.Fatal(err)
		}
		var times []int64 // of the record at each offset
		cuts := map[int64]int64{}
		sealed := map[int64]int{}
		position, now := int64(0), int64(0)
		seal := func() {
			err := r.ready(position, func(w windows.Window, b *windows.Bag, cut int64) error {
				if _, twice := sealed[w.End]; twice {
					t.Fatalf("window ending %d is sealed twice", w.End/second)
				}
				if cut != cuts[w.End] {
					t.Fatalf("window ending %d has cut %d, want %d", w.End/second, cut, cuts[w.End])
				}
				sealed[w.End] = 0
				if b != nil {
					sealed[w.End] = b.Users()
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0: // somebody produces
				times = append(times, rapid.Int64Range(0, 30).Draw(t, "time"))
			case 1: // the clock goes on
				now += rapid.Int64Range(0, 5).Draw(t, "seconds")
			case 2: // the worker looks at the clock, as it does before it sorts a page in
				if through, ok := r.due(now * second); ok {
					for w, more := r.schedule.After(r.cutThrough()); more && w.End <= through; w, more = r.schedule.After(w.End) {
						cuts[w.End] = int64(len(times))
					}
					r.cutAt(through, int64(len(times)))
				}
				seal()
			case 3: // and reads a few records
				for range rapid.IntRange(1, 5).Draw(t, "records") {
					if position < int64(len(times)) {
						// A fetch never reaches beyond the end that a cut of the same moment would take.
						r.add(position, times[position]*second+3600*second, nil, jsonEvent(int(position), times[position]))
						position++
					}
				}
				seal()
			}
		}
		for ; position < int64(len(times)); position++ {
			r.add(position, times[position]*second+3600*second, nil, jsonEvent(int(position), times[position]))
		}
		seal()
		for end, cut := range cuts {
			want := 0
			for offset, at := range times {
				if int64(offset) < cut && at*second >= end-4*second && at*second < end {
					want++
				}
			}
			if got, ok := sealed[end]; !ok || got != want {
				t.Fatalf("window ending %d: sealed %v with %d users, want %d", end/second, ok, got, want)
			}
		}
		if r.counts.rejected != [len(r.counts.rejected)]int{} {
			t.Fatalf("records were rejected: %v", r.counts.rejected)
		}
	})
}

func TestNeedsTheLowestOffsetOfOpenWindows(t *testing.T) {
	r := testRoute(t, testStream(t))
	for offset, at := range []int64{1, 5, 9, 9} {
		r.add(int64(offset), 3600*second, nil, jsonEvent(offset, at))
	}
	if got := r.needs(4); got != 0 {
		t.Errorf("needs offset %d, want 0", got)
	}
	through, ok := r.due(5 * second)
	if !ok || through != 4*second {
		t.Fatalf("due at 5 s is %d, %v; want the window that ends at 4 s", through/second, ok)
	}
	r.cutAt(through, 4)
	if err := r.ready(4, func(windows.Window, *windows.Bag, int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := r.needs(4); got != 1 {
		t.Errorf("needs offset %d after the first window, want 1", got)
	}
	r.truncate(0)
	if got := r.needs(0); got != 0 {
		t.Errorf("needs offset %d after a truncation, want 0", got)
	}
}

func TestBeforeTheStartIsLate(t *testing.T) {
	s := testStream(t)
	r, err := newRoute(s, 100*second, 0, false, windows.NewHasher([16]byte{1}))
	if err != nil {
		t.Fatal(err)
	}
	if v := r.add(0, 3600*second, nil, jsonEvent(1, 99)); !v.late {
		t.Error("an event before the start counts")
	}
	if v := r.add(1, 3600*second, nil, jsonEvent(1, 101)); v.late {
		t.Error("an event after the start is late")
	}
}

func TestProgressTravelsInMetadata(t *testing.T) {
	p := progress{Read: 17, Sealed: map[string]int64{"a": 3600}}
	metadata, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	q, err := decodeProgress(metadata)
	if err != nil {
		t.Fatal(err)
	}
	if end, ok := q.sealedEnd("a"); q.Read != 17 || !ok || end != 3600*second {
		t.Errorf("came back as %+v", q)
	}
	if _, ok := q.sealedEnd("b"); ok {
		t.Error("knows a stream that was not there")
	}
	if _, err := decodeProgress("somebody else's"); err == nil {
		t.Error("foreign metadata is accepted")
	}
	for i := range 300 {
		p.Sealed[fmt.Sprintf("stream-%d", i)] = 1
	}
	if _, err := p.encode(); err == nil {
		t.Error("more metadata than a broker takes is accepted")
	}
}
