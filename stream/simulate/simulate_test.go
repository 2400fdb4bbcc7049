package simulate_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/simulate"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func collect(c simulate.Config, from, to time.Time) (events []simulate.Event) {
	simulate.New(c).Events(from, to, func(e simulate.Event) { events = append(events, e) })
	return events
}

func TestSameSeedSameEvents(t *testing.T) {
	end := noon.Add(20 * time.Second)
	whole := collect(simulate.Config{Seed: 1}, noon, end)
	if again := collect(simulate.Config{Seed: 1}, noon, end); !slices.Equal(whole, again) {
		t.Error("the same seed gives other events")
	}
	if other := collect(simulate.Config{Seed: 2}, noon, end); slices.Equal(whole, other) {
		t.Error("another seed gives the same events")
	}
	var pieces []simulate.Event
	for at := noon; at.Before(end); at = at.Add(333 * time.Millisecond) {
		next := at.Add(333 * time.Millisecond)
		if next.After(end) {
			next = end
		}
		pieces = append(pieces, collect(simulate.Config{Seed: 1}, at, next)...)
	}
	if !slices.Equal(whole, pieces) {
		t.Error("a span cut into pieces gives other events")
	}
	local := collect(simulate.Config{Seed: 1}, noon.In(time.FixedZone("", 5*3600)), end)
	if !slices.Equal(whole, local) {
		t.Error("another time zone gives other events")
	}
}

func TestEventsInOrderAndSpan(t *testing.T) {
	from, to := noon.Add(50*time.Millisecond), noon.Add(5*time.Second+7)
	last := from
	for _, e := range collect(simulate.Config{}, from, to) {
		if e.Time.Before(last) || !e.Time.Before(to) {
			t.Fatalf("event at %s after one at %s, span [%s, %s)", e.Time, last, from, to)
		}
		last = e.Time
		if e.Latency < 1 || !slices.Contains(simulate.Regions(), e.Region) {
			t.Fatalf("event %+v", e)
		}
	}
	if last.Equal(from) {
		t.Error("no events")
	}
	if got := collect(simulate.Config{}, to, from); got != nil {
		t.Errorf("%d events in an empty span", len(got))
	}
}

// The documented figures, by three seconds of every hour. Spans in an incident, told by their median, are left out of
// the latencies. All thresholds are five standard deviations: a false alarm, for another seed, of 6e-7 a figure.
func TestFigures(t *testing.T) {
	day := noon.Truncate(24 * time.Hour)
	users := map[string]bool{}
	var usual []float64 // logarithms of latencies
	const length = 3    // seconds
	for hour := range 24 {
		spans := map[string][]float64{}
		at := day.Add(time.Duration(hour) * time.Hour)
		for _, e := range collect(simulate.Config{Seed: 7}, at, at.Add(length*time.Second)) {
			spans[e.Region] = append(spans[e.Region], math.Log(float64(e.Latency)))
			users[e.User] = true
		}
		for region, east := range map[string]int{"eu": 1, "us": -5, "ap": 9} {
			want := 500 * length * (1 + 0.4*math.Cos(2*math.Pi*float64(hour+east-15)/24))
			if got := float64(len(spans[region])); math.Abs(got-want) > 5*math.Sqrt(want) { // Poisson
				t.Errorf("%s at %d:00 UTC: %v events in %d s, want about %.0f", region, hour, got, length, want)
			}
			slices.Sort(spans[region])
			if quantile(spans[region], 0.5) < math.Log(208) { // halfway between 120 and 3·120
				usual = append(usual, spans[region]...)
			}
		}
	}
	slices.Sort(usual)
	for _, q := range []struct{ p, z, density float64 }{{0.5, 0, 0.3989}, {0.9, 1.2816, 0.1755},
		{0.99, 2.3263, 0.02665}} {
		want := math.Log(120) + 0.6*q.z
		tolerance := 5 * 0.6 * math.Sqrt(q.p*(1-q.p)/float64(len(usual))) / q.density // of a quantile of normal values
		if got := quantile(usual, q.p); math.Abs(got-want) > tolerance {
			t.Errorf("quantile %v of %d latencies is %.1f ms, want %.1f within %.1f %%", q.p, len(usual), math.Exp(got),
				math.Exp(want), 100*tolerance)
		}
	}
	// Each of 30,000 users misses the 36,000 requests of the region's 10,000 with probability e^−3.6: 820 ± 28 do.
	delete(users, simulate.Robin)
	if missing := 30_000 - len(users); missing < 820-5*28 || missing > 820+5*28 {
		t.Errorf("%d users do not call, want about 820", missing)
	}
}

func quantile(sorted []float64, p float64) float64 { return sorted[int(p*float64(len(sorted)))] }

// In every three minutes one region and only one is three times as slow, for 30 to 60 seconds.
func TestIncidents(t *testing.T) {
	for period := range 5 {
		start := noon.Add(time.Duration(period) * 3 * time.Minute)
		slow := map[string]int{}
		for second := range 180 {
			latencies := map[string][]int64{}
			at := start.Add(time.Duration(second) * time.Second)
			for _, e := range collect(simulate.Config{Seed: 3}, at, at.Add(time.Second)) {
				latencies[e.Region] = append(latencies[e.Region], e.Latency)
			}
			for region, l := range latencies {
				slices.Sort(l)
				if l[len(l)/2] > 208 { // between 120 and 360, far from both for 90 values and more
					slow[region]++
				}
			}
		}
		if len(slow) != 1 {
			t.Fatalf("period %d: slow seconds %v, want one region", period, slow)
		}
		for region, n := range slow {
			if n < 29 || n > 61 {
				t.Errorf("period %d: %s was slow for %d s, want 30 to 60", period, region, n)
			}
		}
	}
}

func TestManyUsers(t *testing.T) {
	users := map[string]bool{}
	for _, e := range collect(simulate.Config{Users: 50000, Rate: 20000}, noon, noon.Add(10*time.Second)) {
		users[e.User] = true
	}
	if len(users) < 80000 { // of 150 000 with 200 000 requests: 1 − e^{−4/3} = 74 %
		t.Errorf("%d users", len(users))
	}
}

// The demo's streams file is right, and its decoder takes every event.
func TestStreams(t *testing.T) {
	f, err := parse.File("demo.yaml", simulate.Streams(), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	s := f.Streams[0]
	if day := simulate.Day(1); s.Window.Size != day.Spell {
		t.Errorf("windows of %s, want Robin's spell of %s", s.Window.Size, day.Spell)
	}
	if !slices.Equal(s.Groups, simulate.Regions()) {
		t.Errorf("groups %v, want %v", s.Groups, simulate.Regions())
	}
	d, err := codec.New(s.Codec())
	if err != nil {
		t.Fatal(err)
	}
	var record []byte
	for _, e := range collect(simulate.Day(1), noon, noon.Add(10*time.Minute)) {
		var got codec.Event
		record = e.AppendJSON(record[:0])
		if r := d.Decode(codec.Record{Value: record, Time: e.Time.UnixNano()}, &got); r != codec.OK {
			t.Fatalf("%s: %v", record, r)
		}
		if string(got.User) != e.User || s.Groups[got.Group] != e.Region || got.Value != e.Latency ||
			got.Time != e.Time.Truncate(time.Millisecond).UnixNano() {
			t.Fatalf("%s: decoded as %+v", record, got)
		}
	}
}

// Pages have their shares. That of the offers is there for twelve hours of each day, and named after the day. All
// thresholds are five standard deviations of a binomial count: a false alarm, for another seed, of 6e-7 a share.
func TestPages(t *testing.T) {
	for hour, offers := range map[int]float64{7: 0, 8: 0.2, 19: 0.2, 20: 0} {
		at := noon.Truncate(24 * time.Hour).Add(time.Duration(hour) * time.Hour)
		pages, n := map[string]float64{}, 0.
		for _, e := range collect(simulate.Config{Seed: 4}, at, at.Add(20*time.Second)) {
			pages[e.Page]++
			n++
		}
		for page, share := range map[string]float64{"/search": 0.45, "/account": 0.25, "/checkout": 0.2, "/help": 0.1,
			"/offers/friday": 0} {
			want := share * (1 - offers)
			if page == simulate.Page(at) {
				want = offers
			}
			if math.Abs(pages[page]-want*n) > 5*math.Sqrt(want*(1-want)*n) {
				t.Errorf("%s at %d:00: %v of %v requests, want a share of %v", page, hour, pages[page], n, want)
			}
			delete(pages, page)
		}
		if len(pages) > 0 {
			t.Errorf("other pages: %v", pages)
		}
	}
}

// Seen from further away, spells and incidents take longer: in each twelve hours one of two to four hours.
func TestDay(t *testing.T) {
	s := simulate.New(simulate.Day(3))
	for at := noon; at.Before(noon.Add(30 * 24 * time.Hour)); at = at.Add(7 * time.Hour) {
		i := s.Incident(at)
		period := at.Truncate(12 * time.Hour)
		if length := i.End.Sub(i.Start); i.Start.Before(period) || i.End.After(period.Add(12*time.Hour)) ||
			length < 2*time.Hour || length > 4*time.Hour {
			t.Fatalf("at %s: incident %+v takes %s", at, i, length)
		}
	}
	robin := 0
	s.Events(noon, noon.Add(3*time.Hour), func(e simulate.Event) {
		if e.User == simulate.Robin {
			robin++
			if !s.RobinCalls(e.Time) {
				t.Errorf("Robin calls at %s", e.Time)
			}
		}
	})
	want := 0
	for i := range 12 {
		if s.RobinCalls(noon.Add(time.Duration(i) * 15 * time.Minute)) {
			want++
		}
	}
	if robin != want {
		t.Errorf("Robin calls %d times in three hours, want %d", robin, want)
	}
}

// Robin calls at most once in a spell, when the coin says so, and the coin is fair.
func TestRobin(t *testing.T) {
	const spells, spell = 3600, 10 * time.Second
	s := simulate.New(simulate.Config{Seed: 5, Rate: 1})
	calls := map[time.Time]int{}
	s.Events(noon, noon.Add(spells*spell), func(e simulate.Event) {
		if e.User == simulate.Robin {
			calls[e.Time.Truncate(spell)]++
		}
	})
	present := 0
	for i := range spells {
		at := noon.Add(time.Duration(i) * spell)
		want := 0
		if s.RobinCalls(at) {
			want, present = 1, present+1
		}
		if calls[at] != want {
			t.Fatalf("%s: %d calls, want %d", at, calls[at], want)
		}
	}
	if math.Abs(float64(present)-spells/2) > 5*math.Sqrt(spells/4) {
		t.Errorf("Robin called in %d of %d spells, want half", present, spells)
	}
}

func TestIncidentsOneAfterAnother(t *testing.T) {
	s := simulate.New(simulate.Config{Seed: 3})
	for at := noon; at.Before(noon.Add(time.Hour)); at = at.Add(7 * time.Second) {
		this := s.Incident(at)
		if before := s.Before(this); before.End.After(this.Start) || this.Start.Sub(before.End) > 6*time.Minute {
			t.Fatalf("incident %+v comes before %+v", before, this)
		}
		if length := this.End.Sub(this.Start); length < 30*time.Second || length > time.Minute {
			t.Fatalf("incident %+v takes %s", this, length)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	s := simulate.New(simulate.Config{Rate: 100000})
	var record []byte
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		s.Events(noon, noon.Add(100*time.Millisecond),
			func(e simulate.Event) { record = e.AppendJSON(record[:0]); n++ })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
}
