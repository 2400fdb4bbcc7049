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

// sums are the sums of a histogram over a period that is not over.
type sums struct {
	Release string        `json:"release"`
	Period  string        `json:"period"`
	Since   record.Second `json:"since"`
	// Of is a digest of all that the windows must have in common.
	Of      string         `json:"of"`
	Windows record.Windows `json:"windows"`
	Groups  []Numbers      `json:"groups,omitempty"`
	// Listed stands in place of Groups if these are found: the groups of the last window, in order.
	Listed []listed `json:"listed,omitempty"`
}

// listed are the sums of a found group, over the windows of the period since it joined the list. A group that leaves
// and comes back begins anew: so there are never more of them than the list is long.
type listed struct {
	Name       string   `json:"name"`
	Released   int64    `json:"released"`
	Incomplete int64    `json:"incomplete,omitempty"`
	Numbers    *Numbers `json:"numbers,omitempty"`
}

// Rollups are the sums of histograms over periods that are not over yet. They follow from the entries of a partition,
// in the order of the ledger. Rollups are not safe for concurrent use.
//
// A definition with other buckets, bounds, listed groups or another ε ends all periods that have begun: their sums are
// never published. So does a budget whose entries are in another partition. The next periods begin with the first
// window of the definition. Groups that are found come and go within a period. Another zone ends none: the first entry
// of a period decides when it ends.
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
	if e.Lane != "" {
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
				open = append(open, before[at]) // a late window of an older edition, whose period is over
				continue
			case at >= 0 && e.WindowStart.Before(before[at].until(e)):
				s = before[at] // whatever this entry says of its period: the first one decided
			}
			s = s.with(e, i)
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

// alike is a digest of what windows must have in common before their numbers are added up. Windows with found groups
// need to have in common where the names come from.
func (e Entry) alike(of record.Series) (string, error) {
	var groups any
	if e.List != nil {
		groups = e.List.Rules.Source
	} else {
		groups = e.GroupNames()
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
	if n := len(s.Groups); n > 0 && n != len(e.Groups) {
		return false
	}
	if e.Reason != "" {
		return true
	}
	before := s.before(e)
	return !slices.ContainsFunc(e.Groups, func(g Group) bool {
		n, old := g.Values[i].Numbers, before(g.Name).Numbers
		return old != nil && (len(n.Raw) != len(old.Raw) || len(n.Coarse) != len(old.Coarse))
	})
}

// before returns the sums of the groups of an entry without it, by name. Those of a group that is not known are empty.
func (s sums) before(e Entry) func(name string) listed {
	at := map[string]listed{}
	for _, of := range s.Listed {
		at[of.Name] = of
	}
	for g := range s.Groups { // the digest says that these are the same groups
		name := e.Groups[g].Name
		at[name] = listed{name, s.Windows.Released, s.Windows.Incomplete, &s.Groups[g]}
	}
	return func(name string) listed {
		of := at[name]
		of.Name = name
		return of
	}
}

// with adds a window: what its groups are, and the numbers of the i-th release of an entry, unless it is withheld.
func (s sums) with(e Entry, i int) sums {
	if e.Reason != "" && e.List == nil {
		return s
	}
	before, all := s.before(e), make([]listed, len(e.Groups))
	for g, group := range e.Groups {
		if all[g] = before(group.Name); e.Reason == "" {
			all[g] = all[g].with(*group.Values[i].Numbers, e.Incomplete)
		}
	}
	if e.Reason == "" {
		s.Windows.Released++
		if e.Incomplete {
			s.Windows.Incomplete++
		}
	}
	if e.List != nil {
		s.Listed = all
		return s
	}
	s.Groups = make([]Numbers, len(all))
	for g, of := range all {
		s.Groups[g] = *of.Numbers
	}
	return s
}

// with adds the numbers of a window.
func (l listed) with(n Numbers, incomplete bool) listed {
	sum := &Numbers{slices.Clone(n.Raw), slices.Clone(n.Coarse)}
	if l.Numbers != nil {
		add(sum.Raw, l.Numbers.Raw)
		add(sum.Coarse, l.Numbers.Coarse)
	}
	l.Numbers, l.Released = sum, l.Released+1
	if incomplete {
		l.Incomplete++
	}
	return l
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
	everybody, err := mechanisms.NewComputed(mechanisms.Query{Statistic: mechanisms.Count, Grid: h.Grid}, h.Buckets)
	if err != nil {
		return nil, err
	}
	all, before := make([]RollupGroup, len(e.Groups)), s.before(e)
	for g, group := range e.Groups {
		n := before(group.Name)
		if e.List != nil {
			all[g].Windows = &record.Windows{Of: s.Windows.Of, Released: n.Released, Incomplete: n.Incomplete}
		}
		if n.Numbers == nil {
			continue // all its windows were withheld
		}
		if err := h.fits(n.Numbers); err != nil {
			return nil, err
		}
		of := h.Buckets.Estimate(n.Numbers.Raw, n.Numbers.Coarse, h.Noise, n.Released)
		values := make([]Value, len(e.Releases))
		h.compute(of, values)
		sum, _ := everybody.Of(of)
		total := Value{Value: &sum.Value, Error95: sum.Error95, Quality: string(sum.Quality), Numbers: n.Numbers}
		total.Band = NewBand(total, false, fromZero)
		all[g].Values = []Value{total}
		for _, f := range h.free {
			all[g].Values = append(all[g].Values, values[f.at])
		}
	}
	return all, nil
}

// Rollup is a histogram of several windows together: the sums of what was drawn in each of them, with the figures that
// follow. It is in the entry of the period's last window, even if that window is withheld. It costs nothing: everything
// in it has been published before.
type Rollup struct {
	// Release is the histogram, and Period the name of the period's length.
	Release string `json:"release"`
	Period  string `json:"period"`
	// Since is the start of the period. It ends with the entry's window.
	Since record.Second `json:"since"`
	// Windows says how many windows the period has, how many of them were released and are added up here, and how many
	// of these had lost part of their input.
	Windows record.Windows `json:"windows"`
	// Groups hold the values of each group, in order; empty if no window was released.
	Groups []RollupGroup `json:"groups,omitempty"`
}

// RollupGroup is the roll-up of a group: the value of the histogram and then of each figure from it, in the order of
// the entry's releases. A figure without a value is withheld, because the histogram shows nobody.
type RollupGroup struct {
	Values []Value `json:"values"`
	// Windows are those of the period since the group joined the list; nil unless groups are found. If none of them was
	// released, there are no values.
	Windows *record.Windows `json:"windows,omitempty"`
}

// windows are those that are added up for the g-th group.
func (up Rollup) windows(g int) record.Windows {
	if len(up.Groups) > 0 && up.Groups[g].Windows != nil {
		return *up.Groups[g].Windows
	}
	return up.Windows
}

// Period is the time of a roll-up on local days: its first window begins at Since, and its last one ends at Until. A
// day may have 23 to 25 hours. It stands in the entry, so a reader needs no time zone database, and a newer database
// does not change the day.
type Period struct {
	// Release is the histogram, and Period the name of the period's usual length.
	Release string        `json:"release"`
	Period  string        `json:"period"`
	Since   record.Second `json:"since"`
	Until   record.Second `json:"until"`
}

// periodOf returns the local days of a roll-up, if it is on local days.
func periodOf(all []Period, release, name string) (p Period, local bool) {
	i := slices.IndexFunc(all, func(p Period) bool { return p.Release == release && p.Period == name })
	if i < 0 {
		return p, false
	}
	return all[i], true
}

// check checks that the period is of a roll-up of these releases, holds the window and has whole windows.
func (p Period) check(releases []record.Series, start, end time.Time, every time.Duration) error {
	if !slices.ContainsFunc(releases, func(r record.Series) bool {
		return r.Name == p.Release && r.Buckets != nil && slices.Contains(r.Rollups, p.Period)
	}) {
		return fmt.Errorf("period %s of %q, which is no histogram with that roll-up", p.Period, p.Release)
	}
	if p.Since.After(start) || p.Until.Before(end) || start.Sub(p.Since.Time)%every != 0 ||
		p.Until.Sub(p.Since.Time)%every != 0 {
		return fmt.Errorf("period %s of %q from %s to %s; want whole windows, and this one of them", p.Period,
			p.Release, p.Since, p.Until)
	}
	return nil
}
