package release

import (
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// Measures recomputes the measures that adaptive draws learnt, from the definitions of the streams and the published
// values. An audit uses it as its Learner. It is fastest if each stream's windows come in order. It is not safe for
// concurrent use.
type Measures struct{ priors map[definition]*prior }

type definition struct {
	stream string
	epoch  uint32
}

// NewMeasures returns the measures of the streams of some editions.
func NewMeasures(editions []control.Edition) *Measures {
	m := &Measures{map[definition]*prior{}}
	for _, e := range editions {
		m.priors[definition{e.Stream.Name, e.Number}] = newPrior(newProgram(e))
	}
	return m
}

// Prior implements the Learner of package audit.
func (m *Measures) Prior(e ledger.Entry, past []ledger.Past) (*ledger.Prior, error) {
	p := m.priors[definition{e.Stream, e.Epoch}]
	if p == nil {
		return nil, nil
	}
	return p.before(windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()}, e.GroupNames(), past)
}
