package ledger

import (
	"fmt"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/record"
)

// Together is one more group of a window: all its groups added up. It has values of histograms, and of the figures from
// them. It costs nothing, because it follows from what was drawn for each group. Its noise is that of all these draws.
type Together struct {
	// Name is the name of the group in records.
	Name string `json:"name"`
	// Counts is [record.UserGroups] if one user may be in several groups of a window, and else "".
	Counts string `json:"counts,omitempty"`
	// Reason is TooFewUsers if a figure has no value, because the histogram shows nobody.
	Reason string `json:"reason,omitempty"`
	// Values holds one value for each release of the entry, which is empty unless it is one of a histogram. There is
	// none if the window is withheld.
	Values []Value `json:"values,omitempty"`
}

// has reports whether there is a value of a release for all groups together.
func (t *Together) has(r record.Series) bool { return t != nil && (r.Buckets != nil || r.From != "") }

// facts are what the definition says.
func (t *Together) facts() *Together {
	if t == nil {
		return nil
	}
	return &Together{Name: t.Name, Counts: t.Counts}
}

// sumOfGroups adds up what the i-th release, a histogram, drew for all groups.
func (e Entry) sumOfGroups(i int) *Numbers {
	var all tally
	for _, g := range e.Groups {
		all.add(tally{Numbers: g.Values[i].Numbers}, histogram.MostUsers)
	}
	return all.Numbers
}

// compute fills in the values of all groups together. The histograms are those of the entry.
func (t *Together) compute(e *Entry, histograms []*Histogram) (err error) {
	if t == nil || e.Reason != "" {
		return nil
	}
	t.Reason, t.Values = "", make([]Value, len(e.Releases))
	for i, h := range histograms {
		if h == nil {
			continue
		}
		var withheld bool
		if t.Values[i], withheld, err = h.sum(e.sumOfGroups(i), int64(len(e.Groups)), t.Values); err != nil {
			return err
		}
		if withheld {
			t.Reason = record.TooFewUsers
		}
	}
	return nil
}

// togetherValues are what the records of all groups together say.
func (e Entry) togetherValues(histograms []*Histogram) (all []record.Value, err error) {
	t := e.Together
	if t == nil {
		return nil, nil
	}
	g := Group{Name: t.Name, Reason: t.Reason, Values: t.Values}
	for i, r := range e.Releases {
		if !t.has(r) {
			continue
		}
		f := e.value(g, i)
		e.together(&f, t.Counts)
		if h := histograms[i]; h != nil && f.Value != nil {
			f.Buckets = h.distribution(r.Buckets.Ends, *g.Values[i].Numbers, int64(len(e.Groups)))
		}
		all = append(all, f)
	}
	for _, up := range e.Rollups {
		of := RollupGroup{Windows: &record.Windows{Of: up.Windows.Of}} // none has been added up
		if up.Together != nil {
			of = *up.Together
		}
		values, err := e.rollupValues(up, t.Name, of)
		if err != nil {
			return nil, err
		}
		for i := range values {
			counts := record.UserWindows
			if t.Counts != "" {
				counts = record.UserWindowGroups
			}
			e.together(&values[i], counts)
		}
		all = append(all, values...)
	}
	return all, nil
}

// together says that a record is of all groups together. It costs nothing beside the groups.
func (e Entry) together(f *record.Value, counts string) {
	f.Together, f.Counts, f.Epsilon, f.Delta = true, counts, "0", "0"
	f.Charge = record.Charged(nil)
}

// checkTogether checks that all groups together have the values of histograms, and of the figures from them.
func (e Entry) checkTogether() error {
	t := e.Together
	switch {
	case t == nil:
		return nil
	case t.Name == "" || e.group(t.Name) >= 0:
		return fmt.Errorf("all groups together are called %q; want a name that no group has", t.Name)
	case t.Counts != "" && t.Counts != record.UserGroups:
		return fmt.Errorf("all groups together count %q; want nothing, or %q", t.Counts, record.UserGroups)
	case e.Reason != "" && len(t.Values) > 0 || e.Reason == "" && len(t.Values) != len(e.Releases):
		return fmt.Errorf("all groups together have %d values of %d releases in a window with reason %q", len(t.Values),
			len(e.Releases), e.Reason)
	}
	all, err := e.histograms()
	if err != nil {
		return err
	}
	for i, v := range t.Values {
		r := e.Releases[i]
		if all[i] != nil {
			if err := all[i].fits(v.Numbers); err != nil {
				return fmt.Errorf("%q of all groups together: %w", r.Name, err)
			}
		}
		if v.Value == nil && t.has(r) && t.Reason == "" || v.Value != nil && !t.has(r) {
			return fmt.Errorf("%q of all groups together has a value, or none: %v", r.Name, v.Value)
		}
		if err := v.check(); err != nil {
			return fmt.Errorf("%q of all groups together: %w", r.Name, err)
		}
	}
	return nil
}
