package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/louver/louver/stream/record"
)

// checkDiscovery returns an error for an entry of a discovery that Louver never writes.
func (e Entry) checkDiscovery() error {
	d := e.Discovery
	switch {
	case e.Row == "" || len(e.Releases) != 1 || len(e.Price) != 1 || len(e.Groups) > 0 || e.List != nil:
		return fmt.Errorf("a discovery with row %q, %d releases, %d items in the price and %d groups; want a row, one "+
			"release, one item and no groups", e.Row, len(e.Releases), len(e.Price), len(e.Groups))
	case len(e.Steps)+len(e.Ended)+len(e.Rollups)+len(e.Periods) > 0 || e.Prior != nil:
		return errors.New("a discovery with steps, roll-ups or a prior; want none")
	case e.Releases[0].Statistic != record.StatisticGroups || e.Releases[0].Name != e.Row:
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
