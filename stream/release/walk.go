package release

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// A walk remembers users while it goes through the windows of a stream, one after another. The caps of max_windows are
// walks, and so are the running totals. Who counts in a window depends on the windows before.
//
// A session learns who has counted before from the last snapshot (see snapshot.go) and from the parts of the windows
// since, which it takes through the walk once more. So these parts are not deleted. If some of that is lost, nobody
// knows who has counted, and guessing could let somebody count too often. Then the walk is lost, and what begins in its
// place is charged separately.
type walk interface {
	// way is how far it has come.
	way() *course
	// begin goes on to a window. join has a merger pass the window's users to the walk. end follows after all of them.
	begin(w windows.Window) error
	join(m *windows.Merger)
	end()
	// due says that it is time for a snapshot.
	due() bool
	// snapshot writes down who has counted. restore goes on after the window of a snapshot, if it says more than is
	// known.
	snapshot() []byte
	restore(text []byte) error
	// relies reports whether the walk goes on, so that later sessions need what it knows. They need no parts of windows
	// that end at or before known.
	relies() (known int64, ok bool)
	// lose begins anew, because nobody knows any more who has counted.
	lose()
	bytes() int64
}

// snapshotEvery is how much time of windows passes between two snapshots. Where users are remembered for less than 80
// minutes, it is an eighth of that.
const snapshotEvery = 10 * time.Minute

// snapshotHead is the length of what precedes a snapshot: the end of the window up to which it tells who has counted,
// in Unix nanoseconds, big-endian.
const snapshotHead = 8

// course is how far a walk has come.
type course struct {
	key string // of its snapshots
	// at is the end of the last window that it has been through.
	at int64
	// needed are the offsets of the log from which later sessions have to read the last windows. A window is left out
	// if a later one needs as low an offset.
	needed []needed
	// saved is the end of the window up to which later sessions need no parts: the window of the last committed
	// snapshot, or the one after which the walk began. pieces is how many records hold that snapshot.
	saved  int64
	pieces int
}

type needed struct {
	end    int64 // of the window
	offset int64
}

func (c *course) way() *course { return c }

// need adds what later sessions need of a window.
func (c *course) need(n needed) {
	for len(c.needed) > 0 && c.needed[len(c.needed)-1].offset >= n.offset {
		c.needed = c.needed[:len(c.needed)-1]
	}
	c.needed = append(c.needed, n)
}

// anew begins after a window.
func (c *course) anew(end int64) { c.at, c.saved, c.needed = end, end, nil }

// needs returns the lowest offset that a later session needs of windows after known.
func (c *course) needs(known int64) int64 {
	for len(c.needed) > 0 && c.needed[0].end <= known {
		c.needed = c.needed[1:]
	}
	if len(c.needed) == 0 {
		return math.MaxInt64
	}
	return c.needed[0].offset
}

// walks are the walks of a worker's programs.
type walks struct {
	*worker
	charges *charges
	parts   *parts
	caps    []*capState   // of the windows of each program; nil where everybody counts
	rows    [][]*capState // of the discoveries of each program; nil where everybody counts
	totals  []*totalState
	// lost are instances of totals that are lost, and have to end.
	lost map[ledger.Instance]bool
	// passed are the ends of the windows up to which nothing needs the parts of each program.
	passed []int64
}

// all lists the walks.
func (ws *walks) all() (all []walk) {
	for _, t := range ws.caps {
		if t != nil {
			all = append(all, t)
		}
	}
	for _, t := range slices.Concat(ws.rows...) {
		if t != nil {
			all = append(all, t)
		}
	}
	for _, t := range ws.totals {
		all = append(all, t)
	}
	return all
}

// lagging lists the walks that have not been through all windows of a program up to their target.
func (ws *walks) lagging(program int) (all []walk) {
	if t := ws.caps[program]; t != nil && t.lags() {
		all = append(all, t)
	}
	for _, t := range ws.totals {
		if slices.Contains(t.programs, program) && t.at < t.target(program) {
			all = append(all, t)
		}
	}
	return all
}

// follows returns the end of the window after which the session collects a program's parts.
func (ws *walks) follows(program int) int64 {
	end := ws.charges.decided(ws.programs[program])
	for _, t := range ws.lagging(program) {
		end = min(end, t.way().at)
	}
	return end
}

// rebuild takes decided windows through the walks of their programs, as far as their parts have been read.
func (ws *walks) rebuild(ctx context.Context) error {
	for i := range ws.programs {
		for more := true; more; {
			var err error
			if more, err = ws.rebuildNext(ctx, i); err != nil {
				return err
			}
		}
		ws.pass(i)
		if err := ws.rebuildRows(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// rebuildNext takes the next decided window of a program through the walks that lag behind, and reports whether it
// could.
func (ws *walks) rebuildNext(ctx context.Context, program int) (more bool, err error) {
	lagging := ws.lagging(program)
	if len(lagging) == 0 || ctx.Err() != nil {
		return false, ctx.Err()
	}
	p, end := ws.programs[program], int64(math.MaxInt64)
	for _, t := range lagging {
		if t, ok := t.(*totalState); ok && ws.behind(t, program) {
			return false, nil
		}
		end = min(end, t.way().at)
	}
	w, _ := p.schedule.After(end)
	lagging = slices.DeleteFunc(lagging, func(t walk) bool { return t.way().at >= w.End })
	state := ws.parts.gather.State(p.stream.Name, p.epoch, w)
	if !state.Ready {
		return false, nil
	}
	lost := state.Gone // not where records of the input were lost: then all parts that there ever were are here
	if !lost {
		// Under max_windows, who counts does not depend on groups that are found.
		if _, lost, err = ws.merge(ctx, program, w, p.stream.Groups, lagging); err != nil {
			return false, err
		}
	}
	ws.decided(program, w)
	for _, t := range lagging {
		if t.way().at = w.End; lost {
			t.lose()
		}
	}
	return true, nil
}

// behind reports whether a total has not been through all windows of an earlier definition of its stream.
func (ws *walks) behind(t *totalState, program int) bool {
	return slices.ContainsFunc(t.programs, func(i int) bool { return i < program && t.at < t.target(i) })
}

// decided says that nothing needs the parts of a window any more.
func (ws *walks) decided(program int, w windows.Window) {
	p := ws.programs[program]
	ws.parts.gather.Decide(p.stream.Name, p.epoch, w)
	ws.passed[program] = w.End
}

// pass gives up the parts of decided windows that no walk of a program needs any more.
func (ws *walks) pass(program int) {
	p, decided := ws.programs[program], ws.charges.decided(ws.programs[program])
	if ws.passed[program] >= decided || len(ws.lagging(program)) > 0 {
		return
	}
	for w, ok := p.schedule.After(ws.passed[program]); ok && w.End <= decided; w, ok = p.schedule.Next(w) {
		ws.decided(program, w)
	}
}

// merge merges a window's parts, in these groups, for the users who count in it, and takes the window through some
// walks. See [parts.merge].
func (ws *walks) merge(ctx context.Context, program int, w windows.Window, groups []string,
	through []walk) (*windows.Merger, bool, error) {
	p := ws.programs[program]
	for _, t := range through {
		if err := t.begin(w); err != nil {
			return nil, false, err
		}
	}
	var join func(*windows.Merger)
	if len(through) > 0 {
		join = func(m *windows.Merger) {
			for _, t := range through {
				t.join(m)
			}
		}
	}
	merged, lost, err := ws.parts.merge(ctx, p, w, groups, join)
	if err != nil || len(through) == 0 {
		return merged, lost, err
	}
	offset := ws.parts.gather.NeedsOf(p.stream.Name, p.epoch, w)
	for _, t := range through {
		t.end()
		t.way().need(needed{w.End, offset})
		t.way().at = w.End
	}
	return merged, lost, nil
}

// caught makes sure that the walks of a program have been through all windows before the next one, which is ready. If
// an earlier window is not ready by now, part of it is lost: the marks of a partition that the input no longer has.
func (ws *walks) caught(program int) {
	for _, t := range ws.lagging(program) {
		t.lose()
	}
	ws.pass(program)
}

// bytes is how much memory the walks take. The limits of bags and parts do not include it, since nobody may be
// forgotten.
func (ws *walks) bytes() (sum int64) {
	for _, t := range ws.all() {
		sum += t.bytes()
	}
	return sum
}

// gauge says how many users have counted in totals.
func (ws *walks) gauge() {
	for _, t := range ws.totals {
		users := 0
		if t.allowance != nil {
			users = t.allowance.Users()
		}
		ws.Metrics.TotalUsers.WithLabelValues(t.stream.Name, t.of.Name).Set(float64(users))
	}
}

// forget drops the totals when the session ends: their users are no longer remembered here.
func (ws *walks) forget() {
	ws.totals = nil
	for _, p := range ws.programs {
		for _, t := range config.All[*config.Total](p.stream) {
			ws.Metrics.TotalUsers.DeleteLabelValues(p.stream.Name, t.Name)
		}
	}
}

// needs returns the lowest offset that the walks of the next session need.
func (ws *walks) needs() int64 {
	least := int64(math.MaxInt64)
	for _, t := range ws.all() {
		if known, ok := t.relies(); ok {
			least = min(least, t.way().needs(known))
		}
	}
	return least
}
