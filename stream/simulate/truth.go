package simulate

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// Truth computes the figures of a stream's windows without noise, including those drawn on change. It may, because no
// people are behind simulated events. It is not safe for concurrent use.
type Truth struct {
	stream   *config.Stream
	releases []config.Release
	hasher   *windows.Hasher
	groups   map[string]int
	bags     map[int64]*windows.Bag // by window end
}

// NewTruth returns the truth about a stream of simulated events whose windows do not overlap.
func NewTruth(s *config.Stream) *Truth {
	t := &Truth{stream: s, releases: slices.Clone(s.Releases), hasher: windows.NewHasher([16]byte{}),
		groups: map[string]int{}, bags: map[int64]*windows.Bag{}}
	for i, g := range s.Groups {
		t.groups[g] = i
	}
	for _, w := range s.OnChange {
		t.releases = append(t.releases, *w.Release)
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
			Policy: t.stream.Contribution, Window: w, Hasher: t.hasher})
		t.bags[w.End] = bag
	}
	bag.Add(t.hasher.User([]byte(e.User)), t.groups[e.Region], at, e.Latency)
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
		for _, r := range t.releases {
			truth, names := r.Query.Truth(sample), r.Names()
			for i, right := range truth {
				figures[name+"/"+names[i]] = right[0]
			}
		}
	}
	return figures, samples
}
