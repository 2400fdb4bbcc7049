package release

import (
	"context"
	"math"

	"github.com/louver/louver/windows"
)

// A discovery with max_windows has a cap of its own, as the windows of a stream have. Its periods go through the cap in
// order, even those that are withheld. Everybody with any record in a period takes a turn in it. Parts hold good names
// only, and it makes no difference which of them are listed. So a session that goes through earlier periods again needs
// no list.

// caughtRow returns the cap of a discovery, which has been through all periods before the next one; nil if it has none.
// See [walks.caught].
func (ws *walks) caughtRow(program, row int) *capState {
	if t := ws.rows[program][row]; t != nil && t.lags() {
		t.lose()
	}
	return ws.rows[program][row]
}

// counts reports whether a user counts in the period that a discovery with max_windows is in.
func (ws *walks) counts(program, row int, u windows.UserHash) bool {
	return ws.rows[program][row].cap.Counts(u)
}

// through records that a period has been through the cap of a discovery.
func (t *capState) through(period windows.Window) {
	p := t.ws.programs[t.program]
	t.need(needed{period.End, t.ws.parts.gather.NeedsOf(p.stream.Name, p.epoch, period)})
	t.at = period.End
}

// call has everybody who is in a period take a turn, and counts no names. lost says that some of its parts are lost.
func (ws *walks) call(ctx context.Context, t *capState, period windows.Window) (lost bool, err error) {
	if err := t.begin(period); err != nil {
		return false, err
	}
	p := ws.programs[t.program]
	held := ws.parts.gather.Parts(p.stream.Name, p.epoch, period)
	roll := newTallying(period, windows.TallySpec{Hasher: ws.Hasher, Counts: t.cap.Counts,
		May: func(string) bool { return false }}, ws.MergeBytes, ws.MergeBytes)
	if _, lost, err = ws.parts.each(ctx, p, period, held, roll); err == nil {
		t.through(period)
	}
	return lost, err
}

// rebuildRows takes decided periods through the caps of a program's discoveries, as far as their parts have been read.
func (ws *walks) rebuildRows(ctx context.Context, program int) error {
	p := ws.programs[program]
	for row, t := range ws.rows[program] {
		for t != nil && t.lags() && ctx.Err() == nil {
			w := p.period(row, t.at)
			state := ws.parts.gather.State(p.stream.Name, p.epoch, w)
			if !state.Ready {
				break
			}
			lost := state.Gone // see [walks.rebuildNext]
			if !lost {
				var err error
				if lost, err = ws.call(ctx, t, w); err != nil {
					return err
				}
			}
			if t.at = w.End; lost {
				t.lose()
				t = ws.rows[program][row]
			}
			ws.keep(program)
		}
	}
	return ctx.Err()
}

// keep keeps the parts of a program's undecided periods, and of periods that have not been through their cap.
func (ws *walks) keep(program int) {
	p := ws.programs[program]
	if len(p.discoveries) == 0 {
		return
	}
	from := int64(math.MaxInt64)
	for row, t := range ws.rows[program] {
		if w, ok := ws.charges.period(p, row); ok {
			from = min(from, w.Start)
		}
		if t != nil && t.lags() {
			from = min(from, p.period(row, t.at).Start)
		}
	}
	ws.parts.gather.Keep(p.stream.Name, p.epoch, from)
}
