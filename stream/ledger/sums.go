package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// sums are those of a histogram in a period that is not over.
type sums struct {
	Release string        `json:"release"`
	Period  string        `json:"period"`
	Since   record.Second `json:"since"`
	// Of is a digest of all that the windows must have in common.
	Of      string         `json:"of"`
	Windows record.Windows `json:"windows"`
	Groups  []Numbers      `json:"groups,omitempty"`
}

// Rollups are the sums of histograms over periods that are not over yet. It is a fold of the entries of a partition, in
// the order of the ledger. It is not safe for concurrent use.
//
// A definition with other buckets, bounds, groups or another ε ends all periods that have begun: their sums are never
// published. The next ones begin with its first window. Another zone ends none: the period's first entry decides when it
// ends. So does one whose budget has its entries in another partition.
type Rollups struct {
	streams map[string]*summed
	entries int64
}

// summed are the open periods of a stream.
type summed struct {
	open     []sums
	released time.Time // when its last entry was made
}

// NewRollups begins before the first entry of a partition.
func NewRollups() *Rollups { return &Rollups{streams: map[string]*summed{}} }

// Add adds what the next entry released.
func (r *Rollups) Add(e Entry) error {
	if r.entries++; r.entries%forgetEvery == 0 {
		r.forget()
	}
	if e.Row != "" {
		return nil
	}
	open, err := r.after(e)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(s sums) bool { return s.ends(e) })
	if len(open) == 0 {
		delete(r.streams, e.Stream)
		return nil
	}
	r.streams[e.Stream] = &summed{open, e.ReleasedAt}
	return nil
}

// forget drops the periods of streams that have ended long ago, as [Lately] does.
func (r *Rollups) forget() {
	var newest time.Time
	for _, s := range r.streams {
		if s.released.After(newest) {
			newest = s.released
		}
	}
	maps.DeleteFunc(r.streams, func(_ string, s *summed) bool { return newest.Sub(s.released) > forgetAfter })
}

// Next returns the roll-ups whose periods end with an entry's window. The entry, with all that was drawn, comes next.
func (r *Rollups) Next(e Entry) (all []Rollup, err error) {
	open, err := r.after(e)
	if err != nil {
		return nil, err
	}
	for _, s := range open {
		if !s.ends(e) {
			continue
		}
		up := Rollup{Release: s.Release, Period: s.Period, Since: s.Since, Windows: s.Windows}
		if s.Windows.Released > 0 {
			i := slices.IndexFunc(e.Releases, func(of record.Series) bool { return of.Name == s.Release })
			if up.Groups, err = e.rolledUp(i, s); err != nil {
				return nil, err
			}
		}
		all = append(all, up)
	}
	return all, nil
}

// after returns the open periods of a stream with an entry's window. What is not changed is shared with before.
func (r *Rollups) after(e Entry) (open []sums, err error) {
	var before []sums
	if s := r.streams[e.Stream]; s != nil {
		before = s.open
	}
	for i, of := range e.Releases {
		if of.Buckets == nil {
			continue
		}
		for _, name := range of.Rollups {
			s, err := e.begin(of, name)
			if err != nil {
				return nil, err
			}
			at := slices.IndexFunc(before, func(b sums) bool {
				return b.Release == s.Release && b.Period == s.Period && b.Of == s.Of && b.fits(e, i)
			})
			switch {
			case at >= 0 && before[at].Since.After(e.WindowStart):
				open = append(open, before[at]) // a window of an older edition with a longer grace: its period is over
				continue
			case at >= 0 && e.WindowStart.Before(before[at].until(e)):
				s = before[at] // whatever the entry says now of its period: the first one decided
			}
			if e.Reason == "" {
				s = s.with(e, i)
			}
			open = append(open, s)
		}
	}
	return open, nil
}

// begin returns empty sums for the period of a window.
func (e Entry) begin(of record.Series, name string) (sums, error) {
	length, err := period.Parse(name)
	if err != nil || length < e.Every || length%e.Every != 0 {
		return sums{}, fmt.Errorf("%s: roll-up %q of %q; want a multiple of %s", e.Name(), name, of.Name, e.Every)
	}
	digest, err := e.alike(of)
	if p, local := periodOf(e.Periods, of.Name, name); local {
		return sums{Release: of.Name, Period: name, Since: p.Since, Of: digest,
			Windows: record.Windows{Of: int64(p.Until.Sub(p.Since.Time) / e.Every)}}, err
	}
	since := time.Unix(0, e.WindowStart.UnixNano()-modulo(e.WindowStart.UnixNano(), int64(length)))
	return sums{Release: of.Name, Period: name, Since: record.Whole(since), Of: digest,
		Windows: record.Windows{Of: int64(length / e.Every)}}, err
}

// alike is a digest of what windows must have in common for their numbers to be added up.
func (e Entry) alike(of record.Series) (string, error) {
	var groups []string
	for _, g := range e.Groups {
		groups = append(groups, g.Name)
	}
	text, err := json.Marshal([]any{of.Mechanism, of.Epsilon, of.Buckets, groups, e.Every})
	d := sha256.Sum256(text)
	return hex.EncodeToString(d[:16]), err
}

func modulo(x, m int64) int64 { return (x%m + m) % m }

// ends reports whether the period ends with an entry's window.
func (s sums) ends(e Entry) bool {
	return e.WindowEnd.Equal(s.until(e))
}

// until is the end of the period, whose windows are as long as the entry's.
func (s sums) until(e Entry) time.Time { return s.Since.Add(time.Duration(s.Windows.Of) * e.Every) }

// fits reports whether the numbers of the i-th release of an entry can be added.
func (s sums) fits(e Entry, i int) bool {
	if len(s.Groups) == 0 || e.Reason != "" {
		return true
	}
	return len(s.Groups) == len(e.Groups) && !slices.ContainsFunc(e.Groups, func(g Group) bool {
		n := g.Values[i].Numbers
		return len(n.Raw) != len(s.Groups[0].Raw) || len(n.Coarse) != len(s.Groups[0].Coarse)
	})
}

// with adds the numbers of the i-th release of an entry.
func (s sums) with(e Entry, i int) sums {
	s.Windows.Released++
	if e.Incomplete {
		s.Windows.Incomplete++
	}
	groups := make([]Numbers, len(e.Groups))
	for g, group := range e.Groups {
		n := group.Values[i].Numbers
		groups[g] = Numbers{slices.Clone(n.Raw), slices.Clone(n.Coarse)}
		if len(s.Groups) > 0 {
			add(groups[g].Raw, s.Groups[g].Raw)
			add(groups[g].Coarse, s.Groups[g].Coarse)
		}
	}
	s.Groups = groups
	return s
}

func add(to, more []int64) {
	for i := range to {
		to[i] = min(max(to[i]+more[i], -histogram.MostUsers), histogram.MostUsers)
	}
}

// rolledUp computes the values of the i-th release of an entry, and of the figures from it, from sums.
func (e Entry) rolledUp(i int, s sums) ([]RollupGroup, error) {
	h, err := e.histogramAt(i)
	if err != nil {
		return nil, err
	}
	everybody, err := mechanisms.NewFree(mechanisms.Query{Statistic: mechanisms.Count, Grid: h.Grid}, h.Buckets)
	if err != nil {
		return nil, err
	}
	all := make([]RollupGroup, len(s.Groups))
	for g, n := range s.Groups {
		if err := h.fits(&n); err != nil {
			return nil, err
		}
		of := h.Buckets.Estimate(n.Raw, n.Coarse, h.Noise, s.Windows.Released)
		values := make([]Value, len(e.Releases))
		h.compute(of, values)
		users, _ := everybody.Of(of)
		all[g].Values = []Value{{Value: &users.Value, Error95: users.Error95, Quality: string(users.Quality), Numbers: &n}}
		for _, f := range h.free {
			all[g].Values = append(all[g].Values, values[f.at])
		}
	}
	return all, nil
}
