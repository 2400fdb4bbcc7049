package ingest

import (
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// route is one stream's share of one input partition: its decoder, its open bags and its cuts. It is used by the
// partition's own goroutine alone and knows nothing of Kafka but offsets.
type route struct {
	stream   *config.Stream
	schedule windows.Schedule
	hasher   *windows.Hasher
	decoder  codec.Decoder
	event    codec.Event
	panes    map[int64]*pane // by window end
	last     *pane           // the pane of the event before: most events need no look-up
	overlaps bool            // windows overlap: an event may lie in several

	sealed int64 // every window with End ≤ sealed is sealed
	cuts   []cut // windows that are cut and not sealed yet, in order

	counts counts
}

// pane is an open window of one partition.
type pane struct {
	window windows.Window
	bag    *windows.Bag
	first  int64 // the lowest offset that contributed
}

// cut says that of all windows with End ≤ through (and beyond the cut before) the records below offset count.
type cut struct {
	through int64
	offset  int64
}

// counts are what has happened since the metrics were last brought up to date.
type counts struct {
	events, late, superseded, clamped int
	rejected                          [codec.NumReasons]int
}

// verdict is what became of a record in one stream.
type verdict struct {
	rejected codec.Reason // 0: not rejected
	late     bool
}

func newRoute(s *config.Stream, start int64, sealed int64, known bool, h *windows.Hasher) (*route, error) {
	decoder, err := codec.New(codecSpec(s))
	if err != nil {
		return nil, err
	}
	schedule := stage.Schedule(s, start)
	r := &route{stream: s, schedule: schedule, hasher: h, decoder: decoder, panes: map[int64]*pane{},
		overlaps: schedule.Every < schedule.Size, sealed: schedule.First().End - int64(schedule.Every)}
	if known {
		r.sealed = max(r.sealed, sealed)
	}
	return r, nil
}

// add decodes a record and puts it into the bags of its windows. offset is the record's, time its timestamp in Unix
// nanoseconds.
func (r *route) add(offset, time int64, key, value []byte) verdict {
	r.counts.events++
	if reason := r.decoder.Decode(key, value, time, &r.event); reason != codec.OK {
		r.counts.rejected[reason]++
		return verdict{rejected: reason}
	}
	if i := r.event.Value; i < 0 || i > r.stream.Grid.Last() {
		r.counts.clamped++
	}
	if p := r.last; p != nil && !r.overlaps && r.event.Time >= p.window.Start && r.event.Time < p.window.End && len(r.cuts) == 0 {
		r.put(p)
		return verdict{}
	}
	user, hashed := windows.UserHash{}, false
	counted, superseded := false, false
	for w := range r.schedule.Containing(r.event.Time) {
		if !r.accepts(w, offset) {
			continue
		}
		if !hashed {
			user, hashed = r.hasher.User(r.event.User), true
		}
		p := r.pane(w, offset)
		counted = true
		superseded = p.bag.Add(user, r.event.Group, r.event.Time, r.event.Value) || superseded
	}
	if superseded {
		r.counts.superseded++
	}
	if !counted {
		r.counts.late++
		return verdict{late: true}
	}
	return verdict{}
}

// put adds the current event to the one bag that takes it.
func (r *route) put(p *pane) {
	if p.bag.Add(r.hasher.User(r.event.User), r.event.Group, r.event.Time, r.event.Value) {
		r.counts.superseded++
	}
}

// accepts says whether a record at this offset counts in w: it does below w's cut, and as long as w has none.
func (r *route) accepts(w windows.Window, offset int64) bool {
	if w.End <= r.sealed {
		return false
	}
	for _, c := range r.cuts {
		if w.End <= c.through {
			return offset < c.offset
		}
	}
	return true
}

func (r *route) pane(w windows.Window, offset int64) *pane {
	p := r.panes[w.End]
	if p == nil {
		p = &pane{window: w, bag: windows.NewBag(r.bagSpec(w)), first: offset}
		r.panes[w.End] = p
	}
	r.last = p
	return p
}

func (r *route) bagSpec(w windows.Window) windows.BagSpec {
	return windows.BagSpec{Groups: r.stream.Groups, MaxGroups: r.stream.MaxGroups, Policy: r.stream.Contribution, Window: w, Hasher: r.hasher}
}

// cutThrough is the end of the last window that is cut or sealed.
func (r *route) cutThrough() int64 {
	if n := len(r.cuts); n > 0 {
		return r.cuts[n-1].through
	}
	return r.sealed
}

// due gives the end of the last window that is due at now and not cut yet; ok is false if there is none.
func (r *route) due(now int64) (through int64, ok bool) {
	every := int64(r.schedule.Every)
	through = floor(now-int64(r.schedule.Grace), every)
	if r.schedule.End != 0 {
		through = min(through, r.schedule.End)
	}
	return through, through > r.cutThrough()
}

// cutAt cuts all windows with End ≤ through that are not cut yet.
func (r *route) cutAt(through, offset int64) { r.cuts = append(r.cuts, cut{through, offset}) }

// ready seals every window whose cut has been reached, in order: f gets its bag (nil: nothing arrived) and its cut.
func (r *route) ready(position int64, f func(w windows.Window, b *windows.Bag, cut int64) error) error {
	for len(r.cuts) > 0 && position >= r.cuts[0].offset {
		c := r.cuts[0]
		for w, ok := r.schedule.After(r.sealed); ok && w.End <= c.through; w, ok = r.schedule.After(r.sealed) {
			var bag *windows.Bag
			if p := r.panes[w.End]; p != nil {
				bag = p.bag
			}
			if err := f(w, bag, c.offset); err != nil {
				return err
			}
			r.seal(w)
		}
		r.sealed = max(r.sealed, c.through)
		r.cuts = r.cuts[1:]
	}
	return nil
}

func (r *route) seal(w windows.Window) {
	if r.last != nil && r.last.window == w {
		r.last = nil
	}
	delete(r.panes, w.End)
	r.sealed = w.End
}

// needs is the lowest offset that an open window needs, or the position if there is none.
func (r *route) needs(position int64) int64 {
	for _, p := range r.panes {
		position = min(position, p.first)
	}
	return position
}

// truncate follows a log that now ends at end: no cut and no need lies beyond.
func (r *route) truncate(end int64) {
	for i := range r.cuts {
		r.cuts[i].offset = min(r.cuts[i].offset, end)
	}
	for _, p := range r.panes {
		p.first = min(p.first, end)
	}
}

func (r *route) bytes() (total int64) {
	for _, p := range r.panes {
		total += p.bag.Bytes()
	}
	return total
}

func floor(x, step int64) int64 {
	q := x / step
	if x%step < 0 {
		q--
	}
	return q * step
}

func codecSpec(s *config.Stream) codec.Spec {
	in := s.Input
	return codec.Spec{Format: in.Format, User: in.User, Value: in.Value, Time: in.Time, Group: in.Group, Columns: in.Columns,
		Delimiter: in.Delimiter, Groups: s.Groups, MaxFuture: in.MaxFuture, Grid: s.Grid}
}
