package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/louver/louver/stream/web/compare"
)

// signals answers where figures begin to differ from those before them by more than noise and the usual variation
// explain.
type signals struct{ source }

// signal is one of them. Its JSON names are public.
type signal struct {
	Stream  string    `json:"stream"`
	Group   string    `json:"group"`
	Release string    `json:"release"`
	End     time.Time `json:"window_end"`
	compare.Signal
}

// course says of a series whether its newest wanted figure is compared with those before it. Only then the lack of a
// signal means that nothing has changed by more than is explained. Its JSON names are public.
type course struct {
	Stream   string `json:"stream"`
	Group    string `json:"group"`
	Release  string `json:"release"`
	Compared bool   `json:"compared"`
}

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
	found, series := []signal{}, []course{}
	for _, h := range s.store.histories(want) {
		some, compared, err := h.signals(s.alpha(h))
		if err != nil {
			return err
		}
		found = append(found, some...)
		series = append(series, course{h.of.stream, h.of.group, h.of.release, compared})
	}
	slices.SortFunc(found, func(a, b signal) int { return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.ID, b.ID)) })
	return answerJSON(w, r, struct {
		Signals []signal `json:"signals"`
		Series  []course `json:"series"`
	}{found, series})
}

// alpha divides the false marks of a day among its windows. Of windows of a day or more, each has all of them.
func (s signals) alpha(h history) float64 {
	every := h.figures[0].end - h.figures[0].start
	for _, of := range s.streams {
		if of.Name == h.of.stream {
			every = int64(of.Window.Every / time.Second)
		}
	}
	const day = 24 * 60 * 60
	return compare.FalseMarksPerDay * min(1, float64(every)/day)
}

// history is the wanted figures of a series, after those that they are compared with.
type history struct {
	of      *series
	figures []*figure
	wanted  int // how many of them, at the end, are wanted
}

// histories returns those of the wanted series, except series that are not of figures. What is said of a figure depends
// on some before it, on those that they are compared with, and on what these are compared with in turn.
func (s *Store) histories(want selection) (all []history) {
	s.each(func(e *series) {
		wanted := want.of(e)
		if e.watch || e.discovery || len(wanted) == 0 {
			return
		}
		last := slices.Index(e.figures, wanted[len(wanted)-1])
		first := last + 1 - len(wanted)
		before := e.figures[max(0, first-compare.Pause)]
		from := before.start - 2*compare.Span(before.end-before.start)
		begin, _ := slices.BinarySearchFunc(e.figures[:first], from,
			func(f *figure, from int64) int { return cmp.Compare(f.start, from) })
		all = append(all, history{of: e, figures: slices.Clone(e.figures[begin : last+1]), wanted: len(wanted)})
	})
	return all
}

// signals says which of the wanted figures begin a stretch that differs from those before it, and whether the newest is
// compared with any.
func (h history) signals(alpha float64) (found []signal, compared bool, err error) {
	points := make([]*compare.Point, len(h.figures))
	for i, f := range h.figures {
		r, err := f.decode()
		if err != nil {
			return nil, false, err
		}
		points[i] = compare.PointOf(r)
	}
	course := compare.NewCourse(points)
	for i := len(points) - h.wanted; i < len(points); i++ {
		if one := course.Signal(i, alpha); one != nil {
			found = append(found, signal{h.of.stream, h.of.group, h.of.release, time.Unix(h.figures[i].end, 0).UTC(),
				*one})
		}
	}
	return found, course.Compared(len(points) - 1), nil
}
