package config

import (
	"cmp"

	"github.com/louver/louver/stream/record"
)

// Series describes the values that each window has of a group: those that are drawn, and then those that are computed
// from them, both in the order of the file.
func (s *Stream) Series() []record.Series {
	return s.series(func(k Kind) bool { return k == Drawn || k == Derived })
}

// LastingSeries describes the records of the figures that have instances, each with the ε of an instance.
func (s *Stream) LastingSeries() []record.Series {
	return s.series(func(k Kind) bool { return Kinds[k].Lasts })
}

func (s *Stream) series(of func(Kind) bool) (all []record.Series) {
	for _, f := range s.Figures {
		if of(f.Kind()) {
			all = append(all, f.Series()...)
		}
	}
	return all
}

// SeriesNames returns the names of everything that the stream publishes, including roll-ups and discoveries.
func (s *Stream) SeriesNames() (all []string) {
	periods := map[string][]string{} // of the roll-ups of each histogram
	for _, x := range s.series(func(Kind) bool { return true }) {
		all = append(all, x.Name)
		periods[x.Name] = x.Rollups
		for _, period := range periods[cmp.Or(x.From, x.Name)] {
			all = append(all, x.Name+"."+period)
		}
	}
	return all
}
