package simulate

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// Truth computes the figures of a stream's windows without noise, including those from histograms, those drawn on
// change, and totals of users since midnight in UTC. It may, because no people are behind simulated events. It is not
// safe for concurrent use.
type Truth struct {
	stream  *config.Stream
	figures []config.Figure // those that follow from the users of a window
	hasher  *windows.Hasher
	groups  map[string]int
	bags    map[int64]*windows.Bag // by window end
	totals  []string               // names of the totals
	today   seen
}

// seen are the users of a day.
type seen struct {
	day   int64                    // its beginning
	users map[string]bool          // by their names, which have their regions
	first map[int64]map[string]int // by window end and region, how many came for the first time
}

// NewTruth returns the truth about a stream of simulated events whose windows do not overlap.
func NewTruth(s *config.Stream) *Truth {
	t := &Truth{stream: s, hasher: windows.NewHasher([16]byte{}), groups: map[string]int{},
		bags: map[int64]*windows.Bag{}}
	for i, g := range s.Groups {
		t.groups[g] = i
	}
	for _, f := range s.Figures {
		if f.About().Query != nil {
			t.figures = append(t.figures, f)
		} else if f.About().Since != "" {
			t.totals = append(t.totals, f.Heading().Name)
		}
	}
	return t
}

// Add adds an event.
func (t *Truth) Add(e Event) {
	at := e.Time.UnixNano() / int64(time.Millisecond) * int64(time.Millisecond) // as the record says it
	size := int64(t.stream.Window.Size)
	w := windows.Window{Start: at - at%size, End: at - at%size + size}
	bag := t.bags[w.End]
	if bag == nil {
		bag = windows.NewBag(windows.BagSpec{Groups: t.stream.Groups, MaxGroups: t.stream.MaxGroups,
			Policy: t.stream.Contribution, Window: w, Hasher: t.hasher, Adding: t.stream.Adding()})
		t.bags[w.End] = bag
	}
	bag.Add(t.hasher.User([]byte(e.User)), t.groups[e.Region], at, e.Latency)
	if len(t.totals) > 0 {
		t.today.add(e, w.End)
	}
}

// add notes a user of the window that ends at end. Events come in order of time.
func (s *seen) add(e Event, end int64) {
	if day := e.Time.Truncate(24 * time.Hour).UnixNano(); day != s.day {
		if s.first == nil {
			s.first = map[int64]map[string]int{}
		}
		s.day, s.users = day, map[string]bool{}
	}
	if s.users[e.User] {
		return
	}
	s.users[e.User] = true
	if s.first[end] == nil {
		s.first[end] = map[string]int{}
	}
	s.first[end][e.Region]++
}

// total returns how many users of a region had come by the end of a window since its day began. It forgets earlier
// days.
func (s *seen) total(end time.Time, region string) (n int64) {
	midnight := end.Add(-1).Truncate(24 * time.Hour)
	for at, of := range s.first {
		switch then := time.Unix(0, at); {
		case !then.After(midnight):
			delete(s.first, at)
		case !then.After(end):
			n += int64(of[region])
		}
	}
	return n
}

// Take returns the figures of the window that ends at end, under "group/release", and the users' values by group. It
// forgets the window. A window without events has no figures, and a group without users has only counts and sums. If
// several values are right, Take returns the least.
func (t *Truth) Take(end time.Time) (figures map[string]decimal.Decimal, samples []*mechanisms.Sample) {
	bag := t.bags[end.UnixNano()]
	if bag == nil {
		return nil, nil
	}
	delete(t.bags, end.UnixNano())
	figures = map[string]decimal.Decimal{}
	for g, name := range t.stream.Groups {
		sample := mechanisms.NewSample(t.stream.Grid, bag.Sample(g))
		samples = append(samples, sample)
		for _, f := range t.figures {
			series := f.Series()
			for i, right := range f.About().Query.Truth(sample) {
				figures[name+"/"+series[i].Name] = right[0]
			}
		}
		for _, total := range t.totals {
			figures[name+"/"+total] = decimal.NewFromInt(t.today.total(end, name))
		}
	}
	return figures, samples
}
