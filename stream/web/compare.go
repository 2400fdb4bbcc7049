package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/groupname"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/web/compare"
)

// comparisons answers whether records differ by more than noise explains.
type comparisons struct{ store *Store }

// answer says whether two figures, or two ranges of windows, differ by more than noise explains.
func (c comparisons) answer(w http.ResponseWriter, r *http.Request) error {
	p := query(r, "a", "b")
	a, b := p.id("a"), p.id("b")
	if err := p.mistake(); err != nil {
		return err
	}
	for _, id := range []*identity{&a, &b} {
		id.group = c.store.groupOf(id.stream, id.group)
	}
	if a.release != b.release || (a.end == 0) != (b.end == 0) {
		return invalid(fmt.Errorf("%s and %s; want two figures of one release, or two ranges of windows", a, b))
	}
	if a.end != 0 {
		return c.ranges(w, r, a, b)
	}
	var found [2]*point
	var records [2]outputs.Record
	for i, id := range []identity{a, b} {
		f := c.store.record(id.stream, id.group, id.release, id.start)
		if f == nil {
			return &problem{http.StatusNotFound,
				fmt.Sprintf("%s is not in memory; api/v1/streams says how far back each stream goes", id)}
		}
		found[i] = f
		var err error
		if records[i], err = f.decode(); err != nil {
			return err
		}
	}
	x, y := records[0], records[1]
	if x.Unit != y.Unit || x.Statistic != y.Statistic {
		return invalid(fmt.Errorf("%s is a %s in %q and %s a %s in %q; want two figures of one release", a, x.Statistic,
			x.Unit, b, y.Statistic, y.Unit))
	}
	result := compare.Figures(x, y)
	result.A, result.B = found[0].value, found[1].value
	return answerJSON(w, r, result)
}

// groupOf returns the group that an id names. If the groups of a stream are found, ids have them escaped.
func (s *Store) groupOf(stream, written string) string {
	name, err := groupname.Unescape(written)
	if err != nil || name == written {
		return written
	}
	s.each(func(e *series) {
		if e.stream == stream && e.group == written {
			name = written
		}
	})
	return name
}

// ranges says whether two ranges of windows differ by more than noise explains.
func (c comparisons) ranges(w http.ResponseWriter, r *http.Request, a, b identity) error {
	var means [2]compare.Average
	for i, id := range []identity{a, b} {
		var err error
		if means[i], err = c.average(id); err != nil {
			return err
		}
	}
	if means[0].Shares(means[1]) {
		return invalid(fmt.Errorf("%s and %s have windows in common; want ranges without any", a, b))
	}
	result := compare.Ranges(means[0], means[1])
	for i, to := range []*json.RawMessage{&result.A, &result.B} {
		text, err := json.Marshal(means[i])
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		*to = text
	}
	return answerJSON(w, r, result)
}

func (c comparisons) average(id identity) (compare.Average, error) {
	want := selection{streams: []string{id.stream}, groups: []string{id.group}, releases: []string{id.release},
		from: id.start, to: id.end}
	found, _, _ := c.store.find(want, nil, mostWindows)
	if len(found) == 0 {
		return compare.Average{}, &problem{http.StatusNotFound,
			fmt.Sprintf("no window of %s is in memory; api/v1/streams says how far back each stream goes", id)}
	}
	records := make([]outputs.Record, len(found))
	for i, f := range found {
		var err error
		if records[i], err = f.decode(); err != nil {
			return compare.Average{}, err
		}
	}
	return compare.AverageOf(records), nil
}

// identity is a record's id, stream/group/window start/release, or names all windows in a range of time:
// stream/group/from..to/release.
type identity struct {
	stream, group, release string
	start, end             int64 // end is 0 for one record
}

func (i identity) String() string {
	at := clock(time.Unix(i.start, 0))
	if i.end != 0 {
		at += ".." + clock(time.Unix(i.end, 0))
	}
	return named(i.stream, i.group, at, i.release)
}

// named joins the names of a figure for people. A stream without groups has one without a name: it is left out.
func named(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), "/")
}

func (p *parameters) id(name string) (id identity) {
	parts := strings.Split(p.values.Get(name), "/")
	if len(parts) == 4 {
		from, to, isRange := strings.Cut(parts[2], "..")
		start, err := time.Parse(time.RFC3339, from)
		id = identity{stream: parts[0], group: parts[1], release: parts[3], start: start.Unix()}
		if err == nil && !isRange {
			return id
		}
		if end, err2 := time.Parse(time.RFC3339, to); err == nil && err2 == nil && end.After(start) {
			id.end = end.Unix()
			return id
		}
	}
	p.refuse("%s=%q; want the id of a record, such as checkout-latency/eu/2026-11-20T08:00:00Z/p50, or a range of "+
		"windows, such as checkout-latency/eu/2026-11-20T08:00:00Z..2026-11-20T12:00:00Z/p50", name, p.values.Get(name))
	return id
}

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

// course says of a series whether the newest wanted point is compared with those before. Only if it is, a series
// without a signal has not changed by more than is explained. The JSON names are public.
type course struct {
	Stream   string `json:"stream"`
	Group    string `json:"group"`
	Release  string `json:"release"`
	Compared bool   `json:"compared"`
}

// answer answers with the signals among the wanted points, by the ends of their windows.
func (s signals) answer(w http.ResponseWriter, r *http.Request) error {
	p := query(r, "stream", "group", "release", "from", "to", "last")
	want := p.stretch()
	if err := s.check(p, want); err != nil {
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
	every := h.points[0].end - h.points[0].start
	if of := s.definition(h.of.stream); of != nil {
		every = int64(of.Window.Every / time.Second)
	}
	return compare.FalseMarksPerDay * min(1, float64(every)/day)
}

// history is the wanted points of a series, after those that they are compared with.
type history struct {
	of     *series
	points []*point
	wanted int // how many of them, at the end, are wanted
}

// histories returns those of the wanted series, except series that are not of figures. What is said of a figure depends
// on some before it, on those that they are compared with, and on what these are compared with in turn.
func (s *Store) histories(want selection) (all []history) {
	s.each(func(e *series) {
		wanted := want.of(e)
		if e.watch || e.discovery || len(wanted) == 0 {
			return
		}
		last := slices.Index(e.points, wanted[len(wanted)-1])
		first := last + 1 - len(wanted)
		before := e.points[max(0, first-compare.Pause)]
		from := before.start - 2*compare.Span(before.end-before.start)
		begin, _ := slices.BinarySearchFunc(e.points[:first], from,
			func(f *point, from int64) int { return cmp.Compare(f.start, from) })
		all = append(all, history{of: e, points: slices.Clone(e.points[begin : last+1]), wanted: len(wanted)})
	})
	return all
}

// signals says which of the wanted points begin a stretch that differs from those before it, and whether the newest is
// compared with any.
func (h history) signals(alpha float64) (found []signal, compared bool, err error) {
	points := make([]*compare.Point, len(h.points))
	for i, f := range h.points {
		r, err := f.decode()
		if err != nil {
			return nil, false, err
		}
		points[i] = compare.PointOf(r)
	}
	course := compare.NewCourse(points)
	for i := len(points) - h.wanted; i < len(points); i++ {
		if one := course.Signal(i, alpha); one != nil {
			found = append(found, signal{h.of.stream, h.of.group, h.of.release, time.Unix(h.points[i].end, 0).UTC(),
				*one})
		}
	}
	return found, course.Compared(len(points) - 1), nil
}
