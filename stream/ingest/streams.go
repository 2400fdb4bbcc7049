package ingest

import (
	"math"
	"slices"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// route is one stream's share of one input partition: its decoding, its unwritten bags and its cuts. Only the
// partition's goroutine uses it. It knows nothing of Kafka except records and offsets.
type route struct {
	stream   *config.Stream
	edition  uint32
	schedule windows.Schedule
	hasher   *windows.Hasher
	decoding *decoding // other routes of the partition may share it

	// Routes that would have the same bags have them once: see follow.
	follows   *route   // the route whose bags this one shares; nil if it has its own
	followers []*route // the routes that share the bags of this one

	bags   map[int64]*slot // by the start of their slice
	last   *slot           // the slot of the previous event: most events need no look-up
	newest int64           // the start of the latest slice that had a bag
	usual  int             // how many rows the fullest bag of the last flush had

	// Events after the horizon are rejected: some brokers accept any timestamp, and no window should wait for 2099.
	horizon int64
	// Records from the offset came on came while they were read, from the moment opened on. Their timestamps should be
	// of that time.
	came    int64
	opened  int64 // in Unix nanoseconds
	from    int64 // records below this offset are in parts, or need not be
	through int64 // every window with End ≤ through is cut, and everything below its cut is in parts
	cuts    []cut // taken and not reached yet, in order
	lost    int64 // records at or above from that were deleted before they were read
	// undecided is the lowest offset of a record whose schema is not known yet; the greatest number if there is none.
	// The position from stays at or below it.
	undecided int64
	marked    time.Time // when the last mark was made, by this worker or the one before; zero: never

	counts   counts
	counters *counters // nil before the first page
	traffic  *traffic
	fresh    tally // of this page, for traffic
	page     page  // what this page has brought, for followers too
}

// sayAgain is how often an idle route repeats its mark, in case the log has lost it.
const sayAgain = 10 * time.Minute

// slot is the bag of one slice. Slices are as long as the step from one window to the next, so every window consists of
// whole slices.
type slot struct {
	slice windows.Window
	bag   *windows.Bag
}

// cut says that records below offset count in the windows with End ≤ through that no earlier cut covers.
type cut struct {
	through    int64
	offset     int64
	partitions int // how many partitions of the input these windows take
}

func newRoute(e control.Edition, h *windows.Hasher, schemas codec.Schemas) (*route, error) {
	spec := e.Stream.Codec()
	spec.Registry = schemas
	decoding, err := newDecoding(spec, h)
	if err != nil {
		return nil, err
	}
	return &route{stream: e.Stream, edition: e.Number, schedule: e.Schedule, hasher: h, decoding: decoding,
		bags:    map[int64]*slot{},
		horizon: math.MaxInt64, came: math.MaxInt64, undecided: math.MaxInt64,
		through: e.Schedule.First().End - int64(e.Schedule.Every)}, nil
}

// finished reports whether every window of the edition is cut.
func (r *route) finished() bool { return r.schedule.End != 0 && r.through >= r.schedule.End }

// resume continues where an earlier worker stopped.
func (r *route) resume(p progress.Stream) {
	r.from, r.through = p.From, max(r.through, p.Through)
	if p.Marked != 0 {
		r.marked = time.Unix(0, p.Marked)
	}
}

// add decodes a record, if no other route has, and puts it into the bag of its slice. Every cut at or below its offset
// has been flushed.
func (r *route) add(offset int64, rec *fetch.Record) verdict {
	if offset < r.from {
		return verdict{when: seenBefore}
	}
	v := r.decoding.decode(offset, rec)
	if v.rejected != codec.OK {
		return v
	}
	event := &r.decoding.event
	if event.Time > r.horizon {
		return verdict{rejected: codec.Future}
	}
	if i := event.Value; i < 0 || i > r.stream.Grid.Last() {
		v.clamped = true
	}
	s := r.last
	if s == nil || event.Time < s.slice.Start || event.Time >= s.slice.End {
		if s = r.slot(event.Time); s == nil {
			return verdict{when: r.missed(offset, event.Time, rec.Time*int64(time.Millisecond))}
		}
		r.last = s
	}
	if r.stream.Found != nil {
		s.bag.PutName(r.decoding.user, r.decoding.name, event.Time, event.Value)
	} else {
		s.bag.Put(r.decoding.user, event.Group, event.Time, event.Value)
	}
	return v
}

// missed says why no window takes an event, by its time and that of its record. Before the first window begins, what
// happens is history. What happened long before it was written never has a window, and that is worth a line. So is a
// record that comes now with an old timestamp.
func (r *route) missed(offset, at, written int64) when {
	const long, stale = int64(24 * time.Hour), int64(10 * time.Minute)
	fits := offset < r.came || written > r.opened-stale
	switch {
	case at < r.schedule.Start && written < r.schedule.Start && at > written-long && fits:
		return history
	case at < r.schedule.Start, r.schedule.End != 0 && at >= r.schedule.End:
		return outside
	}
	return tooLate
}

// slot returns the slot for an event of that time, or nil if the event has no window that is not cut yet.
func (r *route) slot(t int64) *slot {
	if s := r.bags[floor(t, int64(r.schedule.Every))]; s != nil {
		return s
	}
	slice, ok := r.open(t)
	if !ok {
		return nil
	}
	s := &slot{slice: slice, bag: windows.NewBag(r.bagSpec(slice))}
	if slice.Start >= r.newest { // earlier slices get only a few late events
		r.newest = slice.Start
		s.bag.Expect(r.usual)
	}
	r.bags[slice.Start] = s
	return s
}

// open returns the slice that holds a moment. ok is false if no window holds it, or if all that do are cut.
func (r *route) open(t int64) (slice windows.Window, ok bool) {
	start := floor(t, int64(r.schedule.Every))
	last := start + int64(r.schedule.Size) // the end of the last window that holds the slice
	if r.schedule.End != 0 {
		last = min(last, r.schedule.End)
	}
	end := start + int64(r.schedule.Every)
	if start < r.schedule.Start || r.schedule.End != 0 && end > r.schedule.End || last <= r.through {
		return windows.Window{}, false
	}
	return windows.Window{Start: start, End: end}, true
}

// bagSpec makes the spec for a slice's bag. The merge of a window's parts chooses which of a user's groups count, so a
// slice of several windows keeps all groups. A slice of a stream whose groups are found keeps all names too: only the
// merge knows the list.
func (r *route) bagSpec(slice windows.Window) windows.BagSpec {
	spec := windows.BagSpec{Groups: r.stream.Groups, MaxGroups: r.stream.MaxGroups, Policy: r.stream.Contribution,
		Window: slice, Hasher: r.hasher, Open: r.stream.Found != nil}
	if r.schedule.Every < r.schedule.Size {
		spec.MaxGroups = len(spec.Groups)
	}
	return spec
}

// due returns the end of the last window that is due at now and not cut yet. ok is false if there is none.
func (r *route) due(now int64) (through int64, ok bool) {
	through = floor(now-int64(r.schedule.Grace), int64(r.schedule.Every))
	if r.schedule.End != 0 {
		through = min(through, r.schedule.End)
	}
	return through, through > r.cutThrough()
}

// nextDue returns when the first window without a cut is due, in Unix nanoseconds. After the last window that is never.
func (r *route) nextDue() int64 {
	w, ok := r.schedule.After(r.cutThrough())
	if !ok {
		return math.MaxInt64
	}
	return r.schedule.Due(w)
}

// cutThrough returns the end of the last window that has a cut.
func (r *route) cutThrough() int64 {
	if n := len(r.cuts); n > 0 {
		return r.cuts[n-1].through
	}
	return r.through
}

// cutAt cuts all windows with End ≤ through that are not cut yet.
func (r *route) cutAt(through, offset int64, partitions int) {
	r.cuts = append(r.cuts, cut{through, offset, partitions})
}

// reached reports whether everything below the next cut has been read at this position.
func (r *route) reached(position int64) bool { return len(r.cuts) > 0 && position >= r.cuts[0].offset }

// flush empties the bags into parts, in the order of their slices, and passes each part to write. The parts hold the
// records below to. flush returns the mark that follows them. If to is the next cut, the mark cuts its windows.
func (r *route) flush(to int64, origin windows.Origin, partitions int,
	write func(windows.Part) error) (mark windows.Mark, err error) {
	now := time.Now()
	origin.From, origin.To = r.from, max(r.from, to)
	mark = windows.Mark{Origin: origin, Partitions: partitions, Lost: r.lost, After: r.through, Through: r.through}
	if !r.marked.IsZero() {
		mark.Since = r.marked.UnixNano()
	}
	if r.reached(to) {
		mark.Through, mark.Partitions = r.cuts[0].through, r.cuts[0].partitions
		r.cuts = r.cuts[1:]
	}
	for _, s := range r.bags {
		mark.Slices = append(mark.Slices, s.slice.Start)
	}
	slices.Sort(mark.Slices)
	r.usual = 0
	for _, start := range mark.Slices {
		s := r.bags[start]
		r.usual = max(r.usual, s.bag.Users())
		part := windows.Part{Origin: origin, Slice: s.slice, Payload: s.bag.Seal()}
		r.counts.superseded += s.bag.Superseded()
		delete(r.bags, start) // as early as possible: a backlog's bags are large
		if err := write(part); err != nil {
			return mark, err
		}
	}
	r.last = nil
	for _, f := range r.all() {
		f.from, f.through, f.lost, f.marked = min(origin.To, r.undecided), mark.Through, 0, now
	}
	return mark, nil
}

// quiet reports whether a mark would say nothing new.
func (r *route) quiet(position int64, now time.Time) bool {
	return (position <= r.from || r.finished()) && r.lost == 0 && now.Sub(r.marked) < sayAgain
}

// counted returns what has happened since the last call.
func (r *route) counted() counts {
	for _, s := range r.bags {
		r.counts.superseded += s.bag.Superseded()
	}
	c := r.counts
	r.counts = counts{}
	return c
}

// lose counts records that were deleted before they were read.
func (r *route) lose(n int64) { r.lost += n }

func (r *route) bytes() (total int64) {
	for _, s := range r.bags {
		total += s.bag.Bytes()
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

// Many streams of one topic differ only in their releases: they would gather the same bags and write them at the same
// offsets. So a route may follow another one. The leader takes the events, and has the bags and the cuts. Whatever it
// writes is written for each follower too, as parts and marks of the follower's stream. So nobody who reads the parts
// sees a difference. Streams that share bags may have their parts in different partitions of the partials, and may stop
// sharing when a worker begins anew.
//
// A follower agrees with its leader in everything that decides what is in a bag and when it is written: how records are
// decoded, windows with their grace, policy and max_groups, and the position. As long as the worker lives, nothing
// changes one of them and not the other. Each stream has its own counts, copies, progress and outages.

// all returns the route and its followers.
func (r *route) all() []*route { return append([]*route{r}, r.followers...) }

// leader returns the route that has the bags.
func (r *route) leader() *route {
	if r.follows != nil {
		return r.follows
	}
	return r
}

// alike reports whether two routes that hold nothing will gather the same bags.
func (r *route) alike(o *route) bool {
	return r.decoding == o.decoding && r.schedule == o.schedule && r.stream.Contribution == o.stream.Contribution &&
		r.stream.MaxGroups == o.stream.MaxGroups && r.from == o.from && r.through == o.through && r.lost == o.lost &&
		len(r.bags)+len(o.bags)+len(r.cuts)+len(o.cuts) == 0
}

// follow lets routes follow others that are alike. A stream that takes events under two definitions follows none, and
// neither does a route that takes none any more.
func follow(all []lane) {
	var leaders []*route
	for _, l := range all {
		r := l[0]
		if len(l) > 1 || r.finished() {
			continue
		}
		if i := slices.IndexFunc(leaders, r.alike); i >= 0 {
			r.follows = leaders[i]
			leaders[i].followers = append(leaders[i].followers, r)
		} else {
			leaders = append(leaders, r)
		}
	}
}

// leading are the lanes to which events are offered.
func leading(all []lane) []lane {
	return slices.DeleteFunc(slices.Clone(all), func(l lane) bool { return l[0].follows != nil })
}
