package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	// Together is what was added up of all groups together, in the windows that have that.
	Together *tally `json:"together,omitempty"`
}

// listed are the sums of a found group, over the windows of the period since it joined the list. A group that leaves
// and comes back begins anew: so there are never more of them than the list is long.
type listed struct {
	Name string `json:"name"`
	tally
}

// Rollups are the sums of histograms over periods that are not over yet, and over the newest time of each stream. They
// follow from the entries of a partition, in the order of the ledger. Rollups are not safe for concurrent use.
//
// A definition with other buckets, bounds, listed groups or another ε ends all periods that have begun: their sums are
// never published. So does a budget whose entries are in another partition. The next periods begin with the first
// window of the definition. Groups that are found come and go within a period. Another zone ends none: the first entry
// of a period decides when it ends.
type Rollups struct {
	streams map[string]*summed
	entries int64
}

// summed are the open periods of a stream, and its stretches.
type summed struct {
	open      []sums
	stretches []stretch
	released  time.Time // when its last entry was made
}

// NewRollups begins before the first entry of a partition.
func NewRollups() *Rollups { return &Rollups{streams: map[string]*summed{}} }

// Add adds what the next entry released.
func (r *Rollups) Add(e Entry) error {
	if r.entries++; r.entries%forgetEvery == 0 {
		forget(r.streams, func(s *summed) time.Time { return s.released })
	}
	if e.Lane != "" {
		return nil
	}
	next, err := r.after(e)
	if err != nil {
		return err
	}
	next.open = slices.DeleteFunc(next.open, func(s sums) bool { return s.ends(e) })
	if len(next.open)+len(next.stretches) == 0 {
		delete(r.streams, e.Stream)
		return nil
	}
	r.streams[e.Stream] = next
	return nil
}

// Next returns the roll-ups whose periods or stretches end with an entry's window, and what objectives add up. The
// entry, with all that was drawn, comes next.
func (r *Rollups) Next(e Entry) (all []Rollup, objectives []Objective, err error) {
	next, err := r.after(e)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range next.open {
		if !s.ends(e) {
			continue
		}
		up := Rollup{Release: s.Release, Period: s.Period, Since: s.Since, Windows: s.Windows}
		if s.Windows.Released > 0 {
			if err = e.rollUp(&up, s.totals(e)); err != nil {
				return nil, nil, err
			}
		}
		all = append(all, up)
	}
	for _, s := range next.stretches {
		switch i := e.release(s.Release); {
		case !s.newest(e): // a late window of an older edition
		case e.Releases[i].Buckets == nil:
			objectives = s.objective(e, objectives)
		default:
			up, err := s.rollup(e)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, up)
		}
	}
	return all, objectives, nil
}

// release returns the place of a release, or −1.
func (e Entry) release(name string) int {
	return slices.IndexFunc(e.Releases, func(r record.Series) bool { return r.Name == name })
}

// after returns what is added up of a stream with an entry's window.
func (r *Rollups) after(e Entry) (next *summed, err error) {
	before := r.streams[e.Stream]
	if before == nil {
		before = &summed{}
	}
	next = &summed{released: e.ReleasedAt}
	if next.open, err = e.periods(before.open); err == nil {
		next.stretches, err = e.stretches(before.stretches)
	}
	return next, err
}

// periods returns the open periods of a stream with an entry's window. What is not changed is shared with before.
func (e Entry) periods(before []sums) (open []sums, err error) {
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
		at[name] = listed{name, tally{Released: s.Windows.Released, Incomplete: s.Windows.Incomplete,
			Numbers: &s.Groups[g]}}
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
	before, all, w := s.before(e), make([]listed, len(e.Groups)), e.tallies(i)
	for g, group := range e.Groups {
		if all[g] = before(group.Name); e.Reason == "" {
			all[g].tally = all[g].plus(w.groups[g], w.most)
		}
	}
	if e.Reason == "" {
		s.Windows.Released++
		if e.Incomplete {
			s.Windows.Incomplete++
		}
	}
	switch {
	case e.Together == nil:
		s.Together = nil
	case e.Reason == "" && s.Together != nil:
		s.Together = new(s.Together.plus(*w.together, w.most))
	case e.Reason == "":
		s.Together = w.together
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

// totals are what a roll-up is made of: for each group of the entry, and for all groups together.
type totals struct {
	groups   []tally
	together *tally
}

// totals are what was added up in the period.
func (s sums) totals(e Entry) totals {
	all, before := totals{together: s.Together}, s.before(e)
	for _, g := range e.Groups {
		all.groups = append(all.groups, before(g.Name).tally)
	}
	return all
}

// rollUp computes the values of a roll-up, and of the figures from its histogram.
func (e Entry) rollUp(up *Rollup, of totals) error {
	h, err := e.histogramAt(e.release(up.Release))
	if err != nil {
		return err
	}
	group := func(n tally, draws int64, counted bool) (g RollupGroup, err error) {
		if counted {
			g.Windows = &record.Windows{Of: up.Windows.Of, Released: n.Released, Incomplete: n.Incomplete}
		}
		if n.Numbers == nil {
			return g, nil // all its windows were withheld
		}
		if err := h.fits(n.Numbers); err != nil {
			return g, err
		}
		values := make([]Value, len(e.Releases))
		total, _, err := h.sum(n.Numbers, draws, values)
		g.Values = []Value{total}
		for _, f := range h.free {
			g.Values = append(g.Values, values[f.at])
		}
		return g, err
	}
	up.Groups = make([]RollupGroup, len(of.groups))
	for g, n := range of.groups {
		if up.Groups[g], err = group(n, n.Released, e.List != nil); err != nil {
			return err
		}
	}
	if of.together != nil {
		all, err := group(*of.together, of.together.Draws, true)
		up.Together = &all
		return err
	}
	return nil
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
	// Together are all groups together, in the windows that have that; nil if the stream does not publish it, or if
	// there is no such window.
	Together *RollupGroup `json:"together,omitempty"`
}

// RollupGroup is the roll-up of a group: the value of the histogram and then of each figure from it, in the order of
// the entry's releases. A figure without a value is withheld, because the histogram shows nobody.
type RollupGroup struct {
	Values []Value `json:"values"`
	// Windows are those of the period since the group joined the list; nil unless groups are found. Those of all groups
	// together are never nil. If none of them was released, there are no values.
	Windows *record.Windows `json:"windows,omitempty"`
}

// group returns the roll-up of the g-th group, with the windows that are added up for it.
func (up Rollup) group(g int) (of RollupGroup) {
	if len(up.Groups) > 0 {
		of = up.Groups[g]
	}
	if of.Windows == nil {
		of.Windows = &up.Windows
	}
	return of
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

// checkRollups checks that each roll-up is of a histogram of the entry and has the values of all groups.
func (e Entry) checkRollups() error {
	for _, up := range e.Rollups {
		series := e.rollupSeries(up)
		if len(series) == 0 || series[0].Buckets == nil || !up.of(series[0]) {
			return fmt.Errorf("roll-up %s of %q, which is no histogram with that roll-up", up.Period, up.Release)
		}
		if up.Windows.Released < 0 || up.Windows.Released > up.Windows.Of ||
			up.Windows.Incomplete > up.Windows.Released ||
			(up.Windows.Released > 0) != (len(up.Groups) > 0) || !up.Since.Before(e.WindowEnd) {
			return fmt.Errorf("roll-up %s of %q since %s has %+v and %d groups", up.Period, up.Release, up.Since,
				up.Windows, len(up.Groups))
		}
		h, err := e.histogramAt(e.release(up.Release))
		if err != nil {
			return err
		}
		groups := up.Groups
		if up.Together != nil {
			groups = append(slices.Clone(groups), *up.Together)
		}
		for i, g := range groups {
			if (g.Windows != nil) != (e.List != nil || i == len(up.Groups)) || g.Windows != nil && !up.holds(*g.Windows) {
				return fmt.Errorf("roll-up %s of %q has %+v in some group, and %+v in all", up.Period, up.Release,
					g.Windows, up.Windows)
			}
			if g.Windows != nil && g.Windows.Released == 0 && len(g.Values) == 0 && len(up.Groups) == len(e.Groups) {
				continue
			}
			if len(up.Groups) != len(e.Groups) || len(g.Values) != len(series) || g.Values[0].Value == nil {
				return fmt.Errorf("roll-up %s of %q has no values of some group", up.Period, up.Release)
			}
			err := h.fits(g.Values[0].Numbers)
			for _, v := range g.Values {
				err = errors.Join(err, v.check())
			}
			if err != nil {
				return fmt.Errorf("roll-up %s of %q: %w", up.Period, up.Release, err)
			}
		}
	}
	return nil
}

// of reports whether a histogram has the roll-up.
func (up Rollup) of(r record.Series) bool {
	if over, last := strings.CutPrefix(up.Period, record.LastPrefix); last {
		return slices.Contains(r.Last, over)
	}
	return slices.Contains(r.Rollups, up.Period)
}

// holds reports whether windows of a group can be among those of the roll-up.
func (up Rollup) holds(w record.Windows) bool {
	return w.Of == up.Windows.Of && w.Released >= 0 && w.Released <= up.Windows.Released && w.Incomplete >= 0 &&
		w.Incomplete <= min(w.Released, up.Windows.Incomplete)
}
