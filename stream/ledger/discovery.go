package ledger

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/record"
)

// Discovery is what a discovery found at the end of a period: names that many users share. Its entry has the period as
// its window, the name of the discovery as its lane, and no groups. Names that are not in it are in no entry at all.
type Discovery struct {
	// MaxGroups is the most names for which one user counts. Threshold is the least count that is published.
	MaxGroups int64 `json:"max_groups"`
	Threshold int64 `json:"threshold"`
	// Error95 is the error that 95 % of the counts do not exceed.
	Error95 int64 `json:"error_95"`
	Rules   Rules `json:"rules"`
	// Found are the names that were found, sorted by bytes; nil if the discovery is withheld.
	Found []Finding `json:"found"`
	// Joined and Left are the names that joined the list, and those that left it. Listed is how many are on it now.
	Joined []string `json:"joined,omitempty"`
	Left   []string `json:"left,omitempty"`
	Listed int64    `json:"listed"`
	// Unlisted are the found names that are not on the list: it is full of names with more users.
	Unlisted []string `json:"unlisted,omitempty"`
	// Tombstones names the figures of each group that left, if their series end in the output.
	Tombstones []string `json:"tombstones,omitempty"`
}

// Rules say which names may be on the list of a stream. They come from its definition.
type Rules struct {
	// Source names the topic and the field that names come from. Names from another one are not of this list.
	Source string `json:"source"`
	// Keep is for how many seconds a name stays on the list after it was last found.
	Keep int64 `json:"keep"`
	// Max is the most names on the list. Always and Other do not count.
	Max int64 `json:"max"`
	// Other is the group for everybody else; "" for none.
	Other string `json:"other,omitempty"`
	// Always are on the list in any case, Except in no case; sorted. Match is a regular expression for all other names.
	Always []string `json:"always,omitempty"`
	Except []string `json:"except,omitempty"`
	Match  string   `json:"match,omitempty"`
}

// List says which list the groups of a window come from.
type List struct {
	// Stream is the stream whose list it is; "" for the entry's own.
	Stream string `json:"stream,omitempty"`
	// Of is the end of the last discovery before the window was decided; nil if there was none.
	Of    *record.Second `json:"of,omitempty"`
	Rules Rules          `json:"rules"`
	// Left are the groups of the stream's previous window that are no longer on the list. Tombstones names the figures
	// of each. Both are empty unless the list is another stream's and series end in the output.
	Left       []string `json:"left,omitempty"`
	Tombstones []string `json:"tombstones,omitempty"`
}

// Finding is what a discovery found about a name.
type Finding struct {
	Name string `json:"name"`
	// Value is the noisy number of users who counted for the name.
	Value int64 `json:"value"`
}

// may reports whether a name can be found.
func (r Rules) may(name string, match *regexp.Regexp) bool {
	_, always := slices.BinarySearch(r.Always, name)
	_, except := slices.BinarySearch(r.Except, name)
	return !always && !except && name != r.Other && (match == nil || match.MatchString(name))
}

// checkDiscovery returns an error for an entry of a discovery that Louver never writes.
func (e Entry) checkDiscovery() error {
	d := e.Discovery
	switch {
	case e.Lane == "" || len(e.Releases) != 1 || len(e.Price) != 1 || len(e.Groups) > 0 || e.List != nil:
		return fmt.Errorf("a discovery with row %q, %d releases, %d items in the price and %d groups; want a row, one "+
			"release, one item and no groups", e.Lane, len(e.Releases), len(e.Price), len(e.Groups))
	case len(e.Continual)+len(e.Ended)+len(e.Rollups)+len(e.Periods)+len(e.Objectives) > 0 || e.Prior != nil ||
		e.Together != nil:
		return errors.New("a discovery with continual figures, roll-ups or a prior; want none")
	case e.Releases[0].Statistic != record.StatisticGroups || e.Releases[0].Name != e.Lane:
		return fmt.Errorf("a discovery that releases %q with statistic %q; want its own name, with statistic %q",
			e.Releases[0].Name, e.Releases[0].Statistic, record.StatisticGroups)
	case e.Price[0].Times != d.MaxGroups || !e.Price[0].Epsilon.Equal(e.Releases[0].Epsilon) ||
		!e.Price[0].Delta.Equal(e.Releases[0].Delta):
		return fmt.Errorf("a discovery whose price is not max_groups, %d, times that of one draw", d.MaxGroups)
	case d.Threshold < 1 || d.MaxGroups < 1 || d.Error95 < 0 || d.Listed < 0:
		return fmt.Errorf("a discovery with threshold %d and max_groups %d; want at least 1", d.Threshold, d.MaxGroups)
	case len(d.Tombstones) > 0 && (len(d.Left) == 0 || !soundSeries(d.Tombstones)):
		return errLeft(d.Left, d.Tombstones)
	case (e.Reason == "") != (d.Found != nil):
		return fmt.Errorf("a discovery with reason %q that has found %d names", e.Reason, len(d.Found))
	}
	if err := d.Rules.check(); err != nil {
		return err
	}
	for i, f := range d.Found {
		switch {
		case f.Name == "" || i > 0 && f.Name <= d.Found[i-1].Name:
			return errors.New("the found names are not in the order of their bytes, or one is empty")
		case f.Value < d.Threshold:
			return fmt.Errorf("a name with a count of %d; want at least the threshold, %d", f.Value, d.Threshold)
		}
	}
	return nil
}

// soundSeries reports whether names of figures can be the series of one group: none twice, none empty, none with a
// slash.
func soundSeries(names []string) bool {
	seen := map[string]bool{"": true}
	for _, name := range names {
		if seen[name] || strings.Contains(name, "/") {
			return false
		}
		seen[name] = true
	}
	return true
}

func errLeft(groups, series []string) error {
	return fmt.Errorf("%d series end of %d groups that left; want some of each, each once", len(series), len(groups))
}

// checkLeft checks the series that end with a window because their groups have left the list of another stream.
func (e Entry) checkLeft() error {
	l := e.List
	if len(l.Left)+len(l.Tombstones) == 0 {
		return nil
	}
	if l.Stream == "" || len(l.Left) == 0 || len(l.Tombstones) == 0 || !soundSeries(l.Tombstones) {
		return errLeft(l.Left, l.Tombstones)
	}
	here := map[string]bool{"": true}
	for _, g := range e.Groups {
		here[g.Name] = true
	}
	for i, name := range l.Left {
		if here[name] || i > 0 && name <= l.Left[i-1] {
			return errors.New("the groups that left are not in the order of their bytes, or one is still here")
		}
	}
	return nil
}

func (r Rules) check() error {
	if r.Source == "" || r.Keep < 1 || r.Max < 1 || r.Keep > mostHold || !slices.IsSorted(r.Always) ||
		!slices.IsSorted(r.Except) {
		return fmt.Errorf("a list of source %q that keeps up to %d names for %d s; want a source, at least one name "+
			"and second, and names in the order of their bytes", r.Source, r.Max, r.Keep)
	}
	return nil
}

// unlisted reports whether the entry is a window whose list is empty.
func (e Entry) unlisted() bool { return e.List != nil && len(e.Groups) == 0 }

// checkList returns an error for a window whose groups cannot be those of its list.
func (e Entry) checkList() error {
	if e.List == nil {
		return nil
	}
	if err := e.List.Rules.check(); err != nil {
		return err
	}
	if e.List.Stream == e.Stream {
		return fmt.Errorf("the list names stream %q as the one that finds the groups, which is the stream itself; "+
			"want another one, or none", e.Stream)
	}
	if err := e.checkLeft(); err != nil {
		return err
	}
	groups := e.Groups
	if n := len(groups); e.List.Rules.Other != "" {
		if n == 0 || groups[n-1].Name != e.List.Rules.Other {
			return fmt.Errorf("the last group is not %q, which is for everybody else", e.List.Rules.Other)
		}
		groups = groups[:n-1]
	}
	if !slices.IsSortedFunc(groups, func(x, y Group) int { return strings.Compare(x.Name, y.Name) }) {
		return errors.New("the groups are not in the order of their bytes")
	}
	return nil
}

// discoveryRecords are those of a discovery: one about all names, and then one for each name that it found.
func (e Entry) discoveryRecords() ([]record.Record, error) {
	d, of := e.Discovery, e.Releases[0]
	figure := func(name string) record.Value {
		f := e.blank(Group{Name: name}, of)
		f.Threshold = d.Threshold
		return f
	}
	all := figure("")
	all.Unit = "groups"
	all.Joined, all.Left = new(int64(len(d.Joined))), new(int64(len(d.Left)))
	if e.Reason != "" {
		withhold(&all, e.Reason)
	} else {
		all.Value = new(wholeNumber(d.Listed))
	}
	figures := []record.Value{all}
	unlisted := map[string]bool{}
	for _, name := range d.Unlisted {
		unlisted[name] = true
	}
	for _, x := range d.Found {
		f := figure(x.Name)
		f.Value, f.Error95 = new(wholeNumber(x.Value)), new(wholeNumber(d.Error95))
		v := Value{Value: new(decimal.NewFromInt(x.Value)), Error95: new(decimal.NewFromInt(d.Error95))}
		f.BandFields = NewBand(v, false, fromZero).Fields()
		if !unlisted[x.Name] {
			f.ListedUntil = new(e.WindowEnd.Add(time.Duration(d.Rules.Keep) * time.Second))
		}
		figures = append(figures, f)
	}
	out := make([]record.Record, len(figures))
	for i, f := range figures {
		var err error
		if out[i], err = e.record(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ending returns the groups whose series end with the entry, and which of their series do.
func (e Entry) ending() (groups, series []string) {
	switch {
	case e.Discovery != nil && len(e.Discovery.Tombstones) > 0:
		return e.Discovery.Left, e.Discovery.Tombstones
	case e.List != nil:
		return e.List.Left, e.List.Tombstones
	}
	return nil, nil
}

// tombstones are the records that end series.
func (e Entry) tombstones() (all []record.Record) {
	groups, series := e.ending()
	for _, group := range groups {
		for _, name := range series {
			all = append(all, record.Left{Stream: e.Stream, Group: group, Release: name, Discovery: e.Lane,
				End: e.WindowEnd, Due: e.DueAt}.Tombstone(e.destination()))
		}
	}
	return all
}
