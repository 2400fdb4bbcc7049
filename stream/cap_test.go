package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// capUsers have a group each, and counts are exact: so the records show who counts in which window.
const capUsers = 6

// capped is a stream with a group for each user and a cap.
func capped(name, rule string, size, every time.Duration, options ...configtest.Option) string {
	return configtest.Stream(name,
		append([]configtest.Option{configtest.Groups("u0", "u1", "u2", "u3", "u4", "u5"),
			configtest.Set("max_windows", rule), configtest.Window(size, time.Second), configtest.Every(every)},
			options...)...)
}

// attendance says who has an event in which step.
type attendance map[int64][capUsers]bool

// came draws who comes, and makes their events.
func (a attendance) came(random *rand.Rand, at time.Time) (events []event) {
	var here [capUsers]bool
	for u := range here {
		if here[u] = random.IntN(capUsers) <= u; here[u] { // the last one always does
			name := fmt.Sprintf("u%d", u)
			events = append(events, event{User: name, Group: name, Value: 1, Time: at})
		}
	}
	a[at.UnixNano()] = here
	return events
}

// spread draws who comes in so many minutes, and spreads the events over the partitions of the input.
func (a attendance) spread(w *world, random *rand.Rand, start time.Time, minutes int) {
	w.t.Helper()
	var events [2][]event
	for minute := range minutes {
		for _, e := range a.came(random, start.Add(time.Duration(minute)*time.Minute)) {
			p := random.IntN(2)
			events[p] = append(events[p], e)
		}
	}
	for p := range events {
		w.broker.Produce(w.t, w.input, p, recent(events[p])...)
	}
}

// whoCounts compares who counts in a stream, by the ledger, with a cap that goes through all windows once. It also
// checks that nobody counts too often. It returns the stream's entries.
func (w *world) whoCounts(s *config.Stream, came attendance, step time.Duration) (entries []ledger.Entry) {
	w.t.Helper()
	state, err := control.Read(kafkatest.Context(w.t), control.Kafka{Fetch: w.broker.Fetch(fetch.Options{}),
		Names: topics.Names{App: w.app}})
	if err != nil {
		w.t.Fatal(err)
	}
	hasher := windows.NewHasher(state.HashKey)
	undisturbed := windows.NewCap(s.MaxWindows.By)
	entries = slices.DeleteFunc(w.audit(), func(e ledger.Entry) bool { return e.Stream != s.Name })
	counted, left := [capUsers][]time.Time{}, 0
	for i, e := range entries {
		if i > 0 && !e.WindowEnd.Equal(entries[i-1].WindowEnd.Add(s.Window.Every)) {
			w.t.Fatalf("a window that ends %s comes after %s", e.WindowEnd, entries[i-1].WindowEnd)
		}
		if e.Cap != s.Cap(s.Window.Start/int64(time.Second)) || e.Reason != "" || e.Incomplete {
			w.t.Fatalf("the window that ends %s has the cap %+v, is incomplete %v and withheld for %q", e.WindowEnd,
				e.Cap, e.Incomplete, e.Reason)
		}
		if err := undisturbed.Begin(windows.Window{Start: e.WindowStart.UnixNano(),
			End: e.WindowEnd.UnixNano()}); err != nil {
			w.t.Fatal(err)
		}
		for u := range capUsers {
			here := false
			for at := e.WindowStart; at.Before(e.WindowEnd); at = at.Add(step) {
				here = here || came[at.UnixNano()][u]
			}
			counts := here && undisturbed.Counts(hasher.User(fmt.Appendf(nil, "u%d", u)))
			if here && !counts {
				left++
			}
			if got := e.Groups[u].Values[0].Value; got.Equal(decimal.NewFromInt(1)) != counts ||
				!counts && !got.IsZero() {
				w.t.Errorf("window ending %s: user %d counts %s times, want once: %v", e.WindowEnd, u, got, counts)
			}
			if counts {
				counted[u] = append(counted[u], e.WindowEnd)
			}
		}
	}
	for u, ends := range counted {
		k := int(s.Cap(0).Count)
		for i := range ends[min(k, len(ends)):] {
			if ends[i+k].Sub(ends[i]) < s.MaxWindows.Per {
				w.t.Errorf("user %d counts %d times between %s and %s", u, k+1, ends[i], ends[i+k])
			}
		}
	}
	if left == 0 {
		w.t.Error("everybody counts in every window: the test tests nothing")
	}
	return entries
}

// TestTheSameUsersCountAfterAnyStop stops the service without notice again and again, sometimes after another one has
// joined, while it decides, deletes and rebuilds. The same users count as if it had never been stopped.
func TestTheSameUsersCountAfterAnyStop(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const n, overlap = 28, 2
		start := time.Now().UTC().Add(3 * time.Second).Truncate(time.Second)
		w := newWorld(t, b, 2, configtest.File(capped("live", "{count: 8, per: 12s, parts: 1}", overlap*time.Second,
			time.Second, configtest.Start(start), configtest.End(start.Add((n+overlap-1)*time.Second)))))
		random, came := rand.New(rand.NewPCG(1, 2)), attendance{}
		for second := range n + overlap - 1 {
			for _, e := range came.came(random, start.Add(time.Duration(second)*time.Second)) {
				b.Produce(t, w.input, random.IntN(2), e.record()) // a user's are in both partitions
			}
		}
		end := start.Add((n + overlap) * time.Second)
		var before *running
		stops, deleted := 0, int64(0)
		// On a busy machine each takes longer. Four are enough to test something, and what was deleted in one of them.
		for time.Now().Before(end) || stops < 4 || deleted == 0 {
			if stops == 20 {
				t.Fatalf("in %d sessions no parts were deleted", stops)
			}
			s := w.start()
			kafkatest.Await(t, "the service has worked for a while", func() bool { return s.Ready() })
			s.works(t, time.Duration(2000+random.IntN(4000))*time.Millisecond)
			if before != nil {
				before.end(t)
				before = nil
			}
			if stops++; random.IntN(2) == 0 {
				before = s // the next one joins it
			} else {
				s.end(t)
			}
			if now, _ := w.parts(); now > deleted {
				deleted = now
			}
		}
		if before != nil {
			before.end(t)
		}
		s := w.start()
		w.await(n * capUsers)
		s.end(t)
		if len(w.whoCounts(w.streams[0], came, time.Second)) != n {
			t.Errorf("not %d windows are in the ledger", n)
		}
	})
}

// TestADayOfMinutes has a window every minute for more than a day. Nobody counts in more than eight of any 24 hours,
// and so the budget of eight windows pays for all of them. A worker begins in the middle, from a checkpoint.
func TestADayOfMinutes(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const n = 30 * 60
		start := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
		w := newWorld(t, b, 2, configtest.File(capped("live", "{count: 8, per: 24h}", time.Minute, time.Minute,
			configtest.Budget("8000000", "24h"), configtest.Start(start), configtest.End(start.Add(n*time.Minute)))))
		random, came := rand.New(rand.NewPCG(3, 4)), attendance{}
		came.spread(w, random, start, n)
		var remembered, least, most atomic.Int64 // least is what the figures that were learnt from take by themselves
		few := func(s *stream.Service) {
			s.CheckpointEvery = 100
			s.Remembers = func(partition int, bytes int64) {
				if partition == topics.Place(w.streams[0].Budget.Name, topics.Partitions) {
					remembered.Store(bytes)
					most.Store(max(most.Load(), bytes))
					if bytes > 0 && (least.Load() == 0 || bytes < least.Load()) {
						least.Store(bytes)
					}
				}
			}
		}
		left := func() int64 {
			start, end := w.parts()
			return end - start
		}
		gate := w.gate()
		s := w.start(few)
		gate.until("a part of the windows is decided",
			func() bool { return w.records(topics.Names{App: w.app}.Ledger()) > n/3 })
		s.end(t)
		gate.open.Store(true)
		s = w.start(few)
		kafkatest.Await(t, "all records are published", func() bool { return w.records(w.outputs()[0]) >= n*capUsers })
		kafkatest.Await(t, "the parts are deleted that the snapshots replace", func() bool { return left() < 2*2*60 })
		s.end(t)
		if most.Load() <= least.Load() || remembered.Load() != 0 {
			t.Errorf("%d bytes are remembered at first, up to %d with who has counted, and %d at the end; want "+
				"more, and none", least.Load(), most.Load(), remembered.Load())
		}
		entries := w.whoCounts(w.streams[0], came, time.Minute)
		last := entries[len(entries)-1]
		if len(entries) != n || last.Standing.BudgetSpent.String() != "8000000" ||
			!last.Standing.BudgetSpent.Equal(last.Limit.Epsilon) {
			t.Errorf("%d windows, of which the last leaves ε %s of %s spent; want %d and all of it", len(entries),
				last.Standing.BudgetSpent, last.Limit.Epsilon, n)
		}
	})
}

// TestLostPartsBeginAnEra deletes the parts and the snapshots that tell who has counted. The next worker says so, and
// counts from then on anew: nobody counts too often in either era, and the windows of both cost what they cost apart.
func TestLostPartsBeginAnEra(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const n = 40 // the first session has long ended when the last one begins, also on a busy machine
		start := time.Now().UTC().Add(3 * time.Second).Truncate(time.Second)
		w := newWorld(t, b, 1, configtest.File(capped("live", "{count: 2, per: 8s, parts: 1}", time.Second, time.Second,
			configtest.Start(start), configtest.End(start.Add(n*time.Second)))))
		random, came := rand.New(rand.NewPCG(5, 6)), attendance{}
		for second := range n {
			b.Produce(t, w.input, 0, records(came.came(random, start.Add(time.Duration(second)*time.Second))...)...)
		}
		core, logs := observer.New(zap.ErrorLevel)
		s := w.start()
		kafkatest.Await(t, "some windows are decided",
			func() bool { return w.records(topics.Names{App: w.app}.Ledger()) >= 8 })
		s.end(t)
		for _, topic := range []string{topics.Names{App: w.app}.Partials(), topics.Names{App: w.app}.State()} {
			_, end := w.ends(topic)
			b.DeleteRecords(t, topic, topics.Place("live", topics.Partitions), end)
		}
		s = w.start(func(s *stream.Service) { s.Log = zap.New(core) })
		w.await(n * capUsers)
		s.expect(t, 1, "louver_max_windows_recounts_total")
		s.end(t)
		type era struct{ start, end time.Time }
		var eras []era
		counted := map[string][]time.Time{}
		for _, e := range w.audit() {
			if last := len(eras) - 1; last < 0 || eras[last].start.Unix() != e.Cap.Era {
				eras = append(eras, era{start: e.WindowStart})
				clear(counted)
			}
			eras[len(eras)-1].end = e.WindowEnd
			for _, g := range e.Groups {
				if g.Values[0].Value.IsZero() {
					continue
				}
				counted[g.Name] = append(counted[g.Name], e.WindowEnd)
				if ends := counted[g.Name]; len(ends) > 2 && ends[len(ends)-1].Sub(ends[len(ends)-3]) < 8*time.Second {
					t.Errorf("%s counts three times in one era, in %v", g.Name, ends[len(ends)-3:])
				}
			}
			if len(eras) == 2 && e.WindowEnd.Equal(eras[0].end.Add(time.Second)) &&
				e.Standing.BudgetSpent.String() != "3000000" {
				t.Errorf("after the first window of the second era ε %s are spent, want two of the first and one of "+
					"the second", e.Standing.BudgetSpent)
			}
		}
		if len(eras) != 2 || eras[1].start.Unix() != eras[0].end.Unix() {
			t.Errorf("eras %v, want a second one from where parts were lost", eras)
		}
		if got := logs.FilterMessageSnippet("max_windows begins anew").Len(); got != 1 {
			t.Errorf("%d lines say that counting begins anew, want 1", got)
		}
	})
}
