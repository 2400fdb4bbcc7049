package decide

import (
	"fmt"
	"slices"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// Measures recomputes the measures that adaptive draws learnt, from the definitions of the streams and the published
// values. An audit uses it as its Learner. It is fastest if each stream's windows come in order. It is not safe for
// concurrent use.
type Measures struct{ priors map[string]*prior } // by the key of the edition

// NewMeasures returns the measures of the streams of some editions.
func NewMeasures(editions []config.Edition) *Measures {
	m := &Measures{map[string]*prior{}}
	for _, e := range editions {
		m.priors[config.EditionKey(e.Stream.Name, e.Number)] = newPrior(newProgram(e))
	}
	return m
}

// Prior implements the Learner of package audit.
func (m *Measures) Prior(e ledger.Entry, past []ledger.Past) (*ledger.Prior, error) {
	p := m.priors[config.EditionKey(e.Stream, e.Epoch)]
	if p == nil {
		return nil, nil
	}
	return p.upTo(windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()}, e.GroupNames(), past)
}

// Unlike implements the Learner of package audit.
func (m *Measures) Unlike(e ledger.Entry) string {
	p := m.priors[config.EditionKey(e.Stream, e.Epoch)]
	if p == nil {
		return ""
	}
	again := e
	again.Groups = slices.Clone(e.Groups)
	for g := range again.Groups {
		values := slices.Clone(e.Groups[g].Values)
		for _, d := range p.program.draws {
			for i := range values[min(d.first, len(values)):min(d.first+d.values(), len(values))] {
				v := &values[d.first+i]
				v.Smoothed, v.Band = nil, ledger.NewBand(*v, false, d.limits)
			}
		}
		again.Groups[g].Values = values
	}
	if e.Reason == "" && e.Prior != nil {
		p.smooth(&again)
	}
	for g, group := range e.Groups {
		for i, v := range group.Values {
			want := again.Groups[g].Values[i]
			if !v.Band.Equal(want.Band) || !v.Smoothed.Equal(want.Smoothed) {
				return fmt.Sprintf("%q of group %q has another band than the figures before it and its own error give",
					e.Releases[i].Name, group.Name)
			}
		}
	}
	return ""
}
