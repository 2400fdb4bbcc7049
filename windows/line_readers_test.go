package windows

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// modelReader is a gathering that reads the log.
type modelReader struct {
	g       *Gathering
	next    int
	decided int64
	anew    bool
}

func (h *history) reader(decided int64) *modelReader {
	r := &modelReader{g: NewGathering(1 << 20), decided: decided}
	r.g.Follow("s", 0, h.schedule, modelAhead, decided)
	r.g.Adds("s", 0)
	return r
}

// read reads the next messages. It is told of those that are gone, unless they are lost silently.
func (h *history) read(r *modelReader, n int) error {
	for ; n > 0 && r.next < len(h.log); n-- {
		switch m := h.log[r.next]; {
		case m.gone && h.silent:
		case m.gone:
			r.g.Lose(int64(r.next), time.Unix(0, h.now))
		default:
			if err := r.g.Add(m.data, int64(r.next), time.Unix(0, m.written)); err != nil {
				return err
			}
		}
		r.next++
	}
	return nil
}

// again is a reader that begins where another one still needs the log. It knows of what the other one misses.
func (h *history) again(r *modelReader) (*modelReader, error) {
	o := h.reader(r.decided)
	o.next, o.anew = int(r.g.Needs(int64(r.next))), true
	if err := h.read(o, r.next-o.next); err != nil {
		return nil, err
	}
	w, ok := h.schedule.After(r.decided)
	for ; ok && r.g.State("s", 0, w).Ready; w, ok = h.schedule.Next(w) {
		before, now := r.g.State("s", 0, w), o.g.State("s", 0, w)
		if len(before.Incomplete) == 0 || !now.Ready || len(now.Incomplete) > 0 {
			continue
		}
		// If a batch that came again has picked another line, that is whole.
		if err := h.exact(o, w); err != nil {
			return nil, fmt.Errorf("window %d to %d was incomplete, and is complete for a new reader: %w",
				w.Start/modelStep, w.End/modelStep, err)
		}
	}
	return o, nil
}

// check compares what a reader finds of the next windows with what there is.
func (h *history) check(r *modelReader) error {
	w, ok := h.schedule.After(r.decided)
	for n := 0; n < 3 && ok; n++ {
		if err := h.checkWindow(r, w); err != nil {
			return fmt.Errorf("window %d to %d: %w", w.Start/modelStep, w.End/modelStep, err)
		}
		w, ok = h.schedule.Next(w)
	}
	return nil
}

func (h *history) checkWindow(r *modelReader, w Window) error {
	state := r.g.State("s", 0, w)
	if !state.Ready {
		return nil
	}
	got := r.counted(w)
	if len(slices.Compact(slices.Clone(got))) < len(got) {
		return fmt.Errorf("records %d count: one of them twice", got)
	}
	if len(state.Incomplete) > 0 || h.silent && r.anew { // a new reader does not know of what was lost silently before
		if !h.lossy && !r.anew {
			return errIncomplete
		}
		return nil
	}
	return h.exact(r, w)
}

// counted are the records that count in a window.
func (r *modelReader) counted(w Window) (records []int) {
	for _, p := range r.g.Parts("s", 0, w) {
		for _, b := range p.Payload {
			records = append(records, int(b))
		}
	}
	slices.Sort(records)
	return records
}

// exact compares the records that count in a window with those below its cut.
func (h *history) exact(r *modelReader, w Window) error {
	got, want := r.counted(w), []int(nil)
	_, cut, err := decode(h.log[r.g.streams[edition{"s", 0}].source(0).cut(w).at].data)
	if err != nil {
		return err
	}
	for _, id := range h.below[cut.Attempt] {
		if slice := h.records[id]; slice >= w.Start && slice < w.End && !h.gone[id] {
			want = append(want, id)
		}
	}
	if h.missed {
		return nil
	}
	if len(h.cutOff) > 0 { // records that the topic has no more may count, and those that took their place below a cut
		got = slices.DeleteFunc(got, func(id int) bool { return !slices.Contains(want, id) })
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("records %d count, want %d", got, want)
	}
	return nil
}

var errIncomplete = errors.New("incomplete, and nothing was lost")

// decide decides windows that are ready, as far as a reader wants to.
func (h *history) decide(r *modelReader) {
	for w, ok := h.schedule.After(r.decided); ok && r.g.State("s", 0, w).Ready && h.choose(2) == 0; {
		r.g.Decide("s", 0, w)
		r.decided = w.End
		w, ok = h.schedule.Next(w)
	}
}
