package ledger

import (
	"fmt"

	"github.com/louver/louver/stream/record"
)

// Size is how many records the entry has.
func (e Entry) Size() int {
	groups, ending := e.ending()
	if e.Discovery != nil {
		return 1 + len(e.Discovery.Found) + len(groups)*len(ending)
	}
	series, some := len(e.Releases), 0
	for _, s := range e.Steps {
		if !s.Publishes(e) {
			continue
		}
		for _, g := range e.Groups {
			if s.about(e, g.Name) {
				some++
			}
		}
	}
	for _, up := range e.Rollups {
		series += len(e.rollupSeries(up))
	}
	return len(e.Groups)*series + some + len(groups)*len(ending)
}

// Records expands the entry into its output records, group by group, in the order of the releases, the roll-ups and the
// steps. Records without a value, which end a series, come last. The same entry gives the same bytes. Values are JSON:
// whoever writes an entry of [record.FormatAvro] converts them with [record.EncodeAvro]. The entry must be one that
// [Entry.Encode] accepts.
func (e Entry) Records() ([]record.Record, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	records := e.windowRecords
	if e.Discovery != nil {
		records = e.discoveryRecords
	}
	out, err := records()
	if err != nil {
		return nil, err
	}
	return append(out, e.tombstones()...), nil
}

// windowRecords are those of a window.
func (e Entry) windowRecords() ([]record.Record, error) {
	histograms, err := e.histograms()
	if err != nil {
		return nil, err
	}
	out := make([]record.Record, 0, e.Size())
	for at, g := range e.Groups {
		for i := range e.Releases {
			f := e.figure(g, i)
			if h := histograms[i]; h != nil && f.Value != nil {
				f.Buckets = h.distribution(e.Releases[i].Buckets.Ends, *g.Values[i].Numbers)
			}
			r, err := e.record(f)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		for _, up := range e.Rollups {
			figures, err := e.rollupFigures(up, at)
			if err != nil {
				return nil, err
			}
			for _, f := range figures {
				r, err := e.record(f)
				if err != nil {
					return nil, err
				}
				out = append(out, r)
			}
		}
		for _, s := range e.Steps {
			if !s.Publishes(e) || !s.about(e, g.Name) {
				continue
			}
			r, err := e.record(e.stepFigure(s, g))
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func (e Entry) destination() record.Destination {
	return record.Destination{App: e.App, Topic: e.Output, Format: e.OutputFormat}
}

func (e Entry) record(f record.Figure) (record.Record, error) {
	r, err := record.New(f, e.destination())
	if err != nil {
		return record.Record{}, fmt.Errorf("%s: %w", e.Name(), err)
	}
	return r, nil
}

// figure returns the figure of the i-th release of a group.
func (e Entry) figure(g Group, i int) record.Figure {
	r := e.Releases[i]
	f := e.blank(g, r)
	switch {
	case e.Reason != "":
		f.Status, f.Reason = record.Withheld, &e.Reason
		f.Epsilon, f.Delta = "0", "0"
	case g.Values[i].Value == nil:
		f.Status, f.Reason = record.Withheld, &g.Reason
	default:
		fill(&f, g.Values[i])
	}
	return f
}

// stepFigure returns the figure of a step about a group. A step looks at everybody, so the figure has no cap, and
// nothing in it was drawn for the window itself.
func (e Entry) stepFigure(s Step, g Group) record.Figure {
	cost, _ := e.costs(s) // Records has checked the entry
	of := s.kind().series(s)
	of.Epsilon, of.Delta = cost.Epsilon, cost.Delta
	f := e.blank(Group{Name: g.Name}, of)
	f.MaxWindows, f.Instance = nil, s.Instance
	if charge(&f, nil); s.Looks() {
		charge(&f, cost.Items)
	}
	s.kind().figure(&f, s, e, g)
	return f
}
