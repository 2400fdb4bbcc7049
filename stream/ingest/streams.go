package ingest

import (
	"math"
	"slices"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// streamInput is one stream's share of one input partition: its decoding, its unwritten bags and its cuts. Only the
// partition's goroutine uses it. It knows nothing of Kafka except records and offsets.
type streamInput struct {
	stream   *config.Stream
	edition  uint32
	schedule windows.Schedule
	hasher   *windows.Hasher
	decoding *decoding // other streams of the partition may share it

	// Streams that would have the same bags have them once: see follow.
	follows   *streamInput   // the stream whose bags this one shares; nil if it has its own
	followers []*streamInput // the streams that share the bags of this one

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

// sayAgain is how often an idle stream repeats its mark, in case the log has lost it.
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

func newStreamInput(e config.Edition, h *windows.Hasher, schemas codec.Schemas) (*streamInput, error) {
	spec := e.Stream.Codec()
	spec.Registry = schemas
	decoding, err := newDecoding(spec, h)
	if err != nil {
		return nil, err
	}
	return &streamInput{stream: e.Stream, edition: e.Number, schedule: e.Schedule, hasher: h, decoding: decoding,
		bags:    map[int64]*slot{},
		horizon: math.MaxInt64, came: math.MaxInt64, undecided: math.MaxInt64,
		through: e.Schedule.First().End - int64(e.Schedule.Every)}, nil
}

// finished reports whether every window of the edition is cut.
func (in *streamInput) finished() bool { return in.schedule.End != 0 && in.through >= in.schedule.End }

// resume continues where an earlier worker stopped.
func (in *streamInput) resume(p progress.Stream) {
	in.from, in.through = p.From, max(in.through, p.Through)
	if p.Marked != 0 {
		in.marked = time.Unix(0, p.Marked)
	}
}

// add decodes a record, if no other stream has, and puts it into the bag of its slice. Every cut at or below its offset
// has been flushed.
func (in *streamInput) add(offset int64, rec *fetch.Record) verdict {
	if offset < in.from {
		return verdict{when: seenBefore}
	}
	if v := in.decoding.decode(offset, rec); v.rejected != codec.OK {
		return v
	}
	return in.put(offset, &in.decoding.one, in.decoding.name, rec)
}

// put puts an event of the record at an offset into the bag of its slice. names has the name of its group, if groups
// are found.
func (in *streamInput) put(offset int64, e *item, names []byte, rec *fetch.Record) (v verdict) {
	if e.time > in.horizon {
		return verdict{rejected: codec.Future}
	}
	// What adds up is clipped when the window is merged: release counts that.
	if (e.value < 0 || e.value > in.stream.Grid.Last()) && !in.stream.Contribution.Adds() {
		v.clamped = true
	}
	s := in.last
	if s == nil || e.time < s.slice.Start || e.time >= s.slice.End {
		if s = in.slot(e.time); s == nil {
			return verdict{when: in.missed(offset, e.time, rec.Time*int64(time.Millisecond))}
		}
		in.last = s
	}
	if in.stream.Found != nil {
		s.bag.PutName(e.user, names[e.name.from:e.name.to], e.time, e.value)
	} else {
		s.bag.Put(e.user, int(e.group), e.time, e.value)
	}
	return v
}

// missed says why no window takes an event, by its time and that of its record. Before the first window begins, what
// happens is history. What happened long before it was written never has a window, and that is worth a line. So is a
// record that comes now with an old timestamp.
func (in *streamInput) missed(offset, at, written int64) when {
	const long, stale = int64(24 * time.Hour), int64(10 * time.Minute)
	fits := offset < in.came || written > in.opened-stale
	switch {
	case at < in.schedule.Start && written < in.schedule.Start && at > written-long && fits:
		return history
	case at < in.schedule.Start, in.schedule.End != 0 && at >= in.schedule.End:
		return outside
	}
	return tooLate
}

// slot returns the slot for an event of that time, or nil if the event has no window that is not cut yet.
func (in *streamInput) slot(t int64) *slot {
	if s := in.bags[floor(t, int64(in.schedule.Every))]; s != nil {
		return s
	}
	slice, ok := in.open(t)
	if !ok {
		return nil
	}
	s := &slot{slice: slice, bag: windows.NewBag(in.bagSpec(slice))}
	if slice.Start >= in.newest { // earlier slices get only a few late events
		in.newest = slice.Start
		s.bag.Expect(in.usual)
	}
	in.bags[slice.Start] = s
	return s
}

// open returns the slice that holds a moment. ok is false if no window holds it, or if all that do are cut.
func (in *streamInput) open(t int64) (slice windows.Window, ok bool) {
	start := floor(t, int64(in.schedule.Every))
	last := start + int64(in.schedule.Size) // the end of the last window that holds the slice
	if in.schedule.End != 0 {
		last = min(last, in.schedule.End)
	}
	end := start + int64(in.schedule.Every)
	if start < in.schedule.Start || in.schedule.End != 0 && end > in.schedule.End || last <= in.through {
		return windows.Window{}, false
	}
	return windows.Window{Start: start, End: end}, true
}

// bagSpec makes the spec for a slice's bag. The merge of a window's parts chooses which of a user's groups count, so a
// slice of several windows keeps all groups. A slice of a stream whose groups are found keeps all names too: only the
// merge knows the list.
func (in *streamInput) bagSpec(slice windows.Window) windows.BagSpec {
	spec := windows.BagSpec{Groups: in.stream.Groups, MaxGroups: in.stream.MaxGroups, Policy: in.stream.Contribution,
		Window: slice, Hasher: in.hasher, Open: in.stream.Found != nil}
	if in.schedule.Every < in.schedule.Size {
		spec.MaxGroups = len(spec.Groups)
	}
	return spec
}

// due returns the end of the last window that is due at now and not cut yet. ok is false if there is none.
func (in *streamInput) due(now int64) (through int64, ok bool) {
	through = floor(now-int64(in.schedule.Grace), int64(in.schedule.Every))
	if in.schedule.End != 0 {
		through = min(through, in.schedule.End)
	}
	return through, through > in.cutThrough()
}

// nextDue returns when the first window without a cut is due, in Unix nanoseconds. After the last window that is never.
func (in *streamInput) nextDue() int64 {
	w, ok := in.schedule.After(in.cutThrough())
	if !ok {
		return math.MaxInt64
	}
	return in.schedule.Due(w)
}

// cutThrough returns the end of the last window that has a cut.
func (in *streamInput) cutThrough() int64 {
	if n := len(in.cuts); n > 0 {
		return in.cuts[n-1].through
	}
	return in.through
}

// cutAt cuts all windows with End ≤ through that are not cut yet.
func (in *streamInput) cutAt(through, offset int64, partitions int) {
	in.cuts = append(in.cuts, cut{through, offset, partitions})
}

// reached reports whether everything below the next cut has been read at this position.
func (in *streamInput) reached(position int64) bool {
	return len(in.cuts) > 0 && position >= in.cuts[0].offset
}

// flush empties the bags into parts, in the order of their slices, and passes each part to write. The parts hold the
// records below to. flush returns the mark that follows them. If to is the next cut, the mark cuts its windows.
func (in *streamInput) flush(to int64, origin windows.Origin, partitions int,
	write func(windows.Part) error) (mark windows.Mark, err error) {
	now := time.Now()
	origin.From, origin.To = in.from, max(in.from, to)
	mark = windows.Mark{Origin: origin, Partitions: partitions, Lost: in.lost, After: in.through, Through: in.through}
	if !in.marked.IsZero() {
		mark.Since = in.marked.UnixNano()
	}
	if in.reached(to) {
		mark.Through, mark.Partitions = in.cuts[0].through, in.cuts[0].partitions
		in.cuts = in.cuts[1:]
	}
	for _, s := range in.bags {
		mark.Slices = append(mark.Slices, s.slice.Start)
	}
	slices.Sort(mark.Slices)
	in.usual = 0
	for _, start := range mark.Slices {
		s := in.bags[start]
		in.usual = max(in.usual, s.bag.Users())
		part := windows.Part{Origin: origin, Slice: s.slice, Payload: s.bag.Seal()}
		in.counts.superseded += s.bag.Superseded()
		delete(in.bags, start) // as early as possible: a backlog's bags are large
		if err := write(part); err != nil {
			return mark, err
		}
	}
	in.last = nil
	from := origin.To
	if !in.stream.Contribution.Adds() { // whose parts end below the records that wait
		from = min(from, in.undecided)
	}
	for _, f := range in.all() {
		f.from, f.through, f.lost, f.marked = from, mark.Through, 0, now
	}
	return mark, nil
}

// quiet reports whether a mark would say nothing new.
func (in *streamInput) quiet(position int64, now time.Time) bool {
	return (position <= in.from || in.finished()) && in.lost == 0 && now.Sub(in.marked) < sayAgain
}

// counted returns what has happened since the last call.
func (in *streamInput) counted() counts {
	for _, s := range in.bags {
		in.counts.superseded += s.bag.Superseded()
	}
	c := in.counts
	in.counts = counts{}
	return c
}

// lose counts records that were deleted before they were read.
func (in *streamInput) lose(n int64) { in.lost += n }

func (in *streamInput) bytes() (total int64) {
	for _, s := range in.bags {
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
// offsets. So a stream may follow another one. The leader takes the events, and has the bags and the cuts. Whatever it
// writes is written for each follower too, as parts and marks of the follower's stream. So nobody who reads the parts
// sees a difference. Streams that share bags may have their parts in different partitions of the partials, and may stop
// sharing when a worker begins anew.
//
// A follower agrees with its leader in everything that decides what is in a bag and when it is written: how records are
// decoded, windows with their grace, policy and max_groups, and the position. As long as the worker lives, nothing
// changes one of them and not the other. Each stream has its own counts, copies, progress and outages.

// all returns the stream and its followers.
func (in *streamInput) all() []*streamInput { return append([]*streamInput{in}, in.followers...) }

// leader returns the stream that has the bags.
func (in *streamInput) leader() *streamInput {
	if in.follows != nil {
		return in.follows
	}
	return in
}

// alike reports whether two streams that hold nothing will gather the same bags.
func (in *streamInput) alike(o *streamInput) bool {
	return in.decoding == o.decoding && in.schedule == o.schedule && in.stream.Contribution == o.stream.Contribution &&
		in.stream.MaxGroups == o.stream.MaxGroups && in.from == o.from && in.through == o.through && in.lost == o.lost &&
		len(in.bags)+len(o.bags)+len(in.cuts)+len(o.cuts) == 0
}

// follow lets streams follow others that are alike. A stream that takes events under two definitions follows none, and
// neither does a stream that takes none any more.
func follow(all []lane) {
	var leaders []*streamInput
	for _, l := range all {
		in := l[0]
		if len(l) > 1 || in.finished() {
			continue
		}
		if i := slices.IndexFunc(leaders, in.alike); i >= 0 {
			in.follows = leaders[i]
			leaders[i].followers = append(leaders[i].followers, in)
		} else {
			leaders = append(leaders, in)
		}
	}
}

// leading are the lanes to which events are offered.
func leading(all []lane) []lane {
	return slices.DeleteFunc(slices.Clone(all), func(l lane) bool { return l[0].follows != nil })
}
