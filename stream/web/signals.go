package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/louver/louver/stream/web/compare"
)

// signals answers which figures differ from those before them by more than noise explains.
type signals struct{ source }

// signal is one of them. Its JSON names are public.
type signal struct {
	Stream  string    `json:"stream"`
	Group   string    `json:"group"`
	Release string    `json:"release"`
	End     time.Time `json:"window_end"`
	compare.Signal
}

// leastHistory is how many windows a figure is compared with if an hour has fewer.
const leastHistory = 6

// answer answers with the signals among the wanted figures, by the ends of their windows.
func (s signals) answer(w http.ResponseWriter, r *http.Request) error {
	p := parameters{values: r.URL.Query()}
	p.allowed("stream", "group", "release", "from", "to", "last")
	want := p.stretch()
	if p.err != nil {
		return invalid(p.err)
	}
	if err := s.known(want); err != nil {
		return err
	}
	found := []signal{}
	for _, h := range s.store.histories(want) {
		some, err := h.signals(s.alpha(h))
		if err != nil {
			return err
		}
		found = append(found, some...)
	}
	slices.SortFunc(found, func(a, b signal) int { return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.ID, b.ID)) })
	return answerJSON(w, r, struct {
		Signals []signal `json:"signals"`
	}{found})
}

// alpha divides the false marks of a day among its windows and those that its first window is compared with: see
// [history.signals].
func (s signals) alpha(h history) float64 {
	every := h.figures[0].end - h.figures[0].start
	for _, of := range s.streams {
		if of.Name == h.of.stream {
			every = int64(of.Window.Every / time.Second)
		}
	}
	return compare.FalseMarksPerDay * float64(every) / float64(24*60*60+span(h.figures[0]))
}

// history is the wanted figures of a series, after those that they are compared with.
type history struct {
	of      *series
	figures []*figure
	wanted  int // how many of them, at the end, are wanted
}

// histories returns those of the wanted series, except series that are not of figures.
func (s *Store) histories(want selection) (all []history) {
	s.each(func(e *series) {
		wanted := want.of(e)
		if e.watch || e.discovery || len(wanted) == 0 {
			return
		}
		last := slices.Index(e.figures, wanted[len(wanted)-1])
		first := last + 1 - len(wanted)
		from := wanted[0].start - 2*span(wanted[0])
		begin, _ := slices.BinarySearchFunc(e.figures[:first], from,
			func(f *figure, from int64) int { return cmp.Compare(f.start, from) })
		all = append(all, history{of: e, figures: slices.Clone(e.figures[begin : last+1]), wanted: len(wanted)})
	})
	return all
}

// span is how far back a figure is compared with others, in seconds.
func span(f *figure) int64 { return max(60*60, leastHistory*(f.end-f.start)) }

// signals compares each wanted figure with those before it. A figure that is itself a signal, compared with everything
// before it, is left out when later ones are compared. Otherwise a return to normal after an incident would be a signal
// too.
//
// This keeps the bound on false marks. Without a change, a figure is marked only if it differs from all before it, or
// if one of those differs from all before it. So a false mark in a day needs such a figure in the day, or in the
// stretch before it.
func (h history) signals(alpha float64) (found []signal, err error) {
	points := make([]*compare.Point, len(h.figures))
	for i, f := range h.figures {
		r, err := f.decode()
		if err != nil {
			return nil, err
		}
		points[i] = compare.PointOf(r)
	}
	left := make([]bool, len(points)) // out
	signalOf := func(i int) *compare.Signal {
		f := h.figures[i]
		var before []*compare.Point
		for j := i - 1; j >= 0 && h.figures[j].start >= f.start-span(f); j-- {
			if points[j] != nil && !left[j] && h.figures[j].end <= f.start {
				before = append(before, points[j])
			}
		}
		if points[i] == nil {
			return nil
		}
		return points[i].Signal(before, alpha)
	}
	out := make([]bool, len(points))
	for i := range points {
		out[i] = signalOf(i) != nil
	}
	left = out
	for i := len(points) - h.wanted; i < len(points); i++ {
		if one := signalOf(i); one != nil {
			found = append(found, signal{h.of.stream, h.of.group, h.of.release, time.Unix(h.figures[i].end, 0).UTC(),
				*one})
		}
	}
	return found, nil
}
