package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// check returns an error for an entry that contradicts itself, or that Louver never writes.
func (e Entry) check() error {
	if err := e.checkWindow(); err != nil {
		return err
	}
	fail := e.fail
	if e.Discovery != nil {
		if err := e.checkDiscovery(); err != nil {
			return fail("%w", err)
		}
		return nil
	}
	if e.Lane != "" {
		return fail("row %q, which is no discovery: it was written by a later release of louver", e.Lane)
	}
	if err := e.checkList(); err != nil {
		return fail("%w", err)
	}
	if e.unlisted() {
		if len(e.Price)+len(e.Releases)+len(e.Continual) > 0 || e.Reason != "" {
			return fail("%d items in the price, %d releases and reason %q, but no groups; want none of "+
				"these without groups", len(e.Price), len(e.Releases), e.Reason)
		}
		return nil
	}
	if (len(e.Price) == 0) != (len(e.Releases) == 0) || len(e.Price) == 0 && !e.Publishes() || len(e.Groups) == 0 {
		return fail("%d items in the price, %d releases and %d groups; want at least one each, or a release on change "+
			"or a total", len(e.Price), len(e.Releases), len(e.Groups))
	}
	if err := errors.Join(e.checkSteps(), e.checkHistograms(), e.checkPeriods(), e.checkRollups(),
		e.checkTogether(), e.checkObjectives()); err != nil {
		return fail("%w", err)
	}
	for _, g := range e.Groups {
		if want := len(e.Releases); e.Reason == "" && len(g.Values) != want || e.Reason != "" && len(g.Values) != 0 {
			return fail("group %q has %d values of %d releases in a window with reason %q",
				g.Name, len(g.Values), want, e.Reason)
		}
		if g.Reason != "" && (g.Reason != record.TooFewUsers || e.Reason != "") {
			return fail("group %q has the reason %q in a window with reason %q", g.Name, g.Reason, e.Reason)
		}
		for i, v := range g.Values {
			if v.Value == nil && g.Reason == "" {
				return fail("group %q has no value of %q, and no reason", g.Name, e.Releases[i].Name)
			}
			if err := v.check(); err != nil {
				return fail("%q of group %q: %w", e.Releases[i].Name, g.Name, err)
			}
		}
	}
	return nil
}

// checkPeriods checks the local days of roll-ups.
func (e Entry) checkPeriods() error {
	for _, p := range e.Periods {
		if err := p.check(e.Releases, e.WindowStart, e.WindowEnd, e.Every); err != nil {
			return err
		}
	}
	return nil
}

// checkWindow checks an entry apart from its groups and continual figures: as the books keep the last one of each
// stream.
func (e Entry) checkWindow() error {
	fail := e.fail
	switch {
	case e.Stream == "" || e.Budget == "" || e.Output == "":
		return fail("budget %q and output topic %q; want a stream, a budget and a topic", e.Budget, e.Output)
	case e.OutputFormat != "" && e.OutputFormat != record.FormatAvro:
		return fail("output records as %q; want avro, or nothing for JSON: it was written by a later release of louver",
			e.OutputFormat)
	case e.WindowStart.Nanosecond() != 0 || e.WindowEnd.Nanosecond() != 0:
		return fail("the window has fractions of a second; want whole seconds")
	case e.WindowEnd.Year() > 2200 || e.WindowStart.Year() < 1900:
		return fail("window end %s; want one between 1900 and 2200", record.Whole(e.WindowEnd))
	case !e.WindowEnd.After(e.WindowStart):
		return fail("window end %s; want one after the start", record.Whole(e.WindowEnd))
	case e.Every <= 0:
		return fail("every %s; want a positive duration", e.Every)
	case e.Reason != "" && e.Reason != record.BudgetExhausted:
		return fail("reason %q; want none or %q", e.Reason, record.BudgetExhausted)
	}
	if err := errors.Join(e.Limit.Check(), e.checkCap()); err != nil {
		return fail("%w", err)
	}
	for _, r := range e.Releases {
		if r.Name == "" || r.Epsilon.Sign() <= 0 && r.From == "" || r.From != "" && !r.Epsilon.IsZero() {
			return fail("release %q has epsilon %s; want a name and more than 0, or 0 if it is computed from "+
				"another one", r.Name, r.Epsilon)
		}
	}
	return nil
}

func (e Entry) fail(format string, args ...any) error {
	return fmt.Errorf(e.Name()+": "+format, args...)
}

// checkCap returns an error for a cap that the entry cannot have.
func (e Entry) checkCap() error {
	if err := e.Cap.Check(); err != nil {
		return err
	}
	if e.Cap != (budget.Cap{}) && e.Cap.Lane != e.Lane {
		return fmt.Errorf("cap of row %q; want that of the entry's own row, %q", e.Cap.Lane, e.Lane)
	}
	if e.Cap.Era > e.WindowStart.Unix() {
		return fmt.Errorf("cap of an era that begins at %s, after the window",
			time.Unix(e.Cap.Era, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

func (e Entry) checkSteps() error {
	names := map[string]bool{}
	for _, s := range e.Continual {
		if names[s.Name] {
			return fmt.Errorf("%q is listed twice", s.Name)
		}
		names[s.Name] = true
		if err := s.check(e); err != nil {
			return fmt.Errorf("%q: %w", s.Name, err)
		}
	}
	for _, i := range e.Ended {
		if i.Stream == "" || i.Name == "" || i.Number < 1 {
			return fmt.Errorf("instance %q ends; want a stream, a figure and a number from 1 on", i)
		}
	}
	return nil
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
