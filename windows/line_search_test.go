package windows

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// search goes through all histories of two workers and a few records to the end: which of them reads, cuts, flushes,
// dies between its parts and its mark, or is replaced by one that begins at any progress so far or at none. It is small
// enough for a test because a worker's batch arrives at once, and because nothing is done that changes nothing.
type search struct {
	schedule Schedule
	records  []int64 // the slice of each
	minutes  int64   // how far the clock goes
	workers  int     // how many there are in all

	seen    map[string]bool
	windows int
}

// replay makes the history of some choices, and returns how many choices there are at its end.
func (s *search) replay(choices []int) (h *history, next int) {
	n := 0
	h = &history{schedule: s.schedule, now: modelStep / 2, below: map[[16]byte][]int{}}
	for _, slice := range s.records {
		h.add(slice)
	}
	h.choose = func(of int) int {
		if n == len(choices) {
			panic(of)
		}
		n++
		return choices[n-1]
	}
	defer func() {
		if of, ok := recover().(int); ok {
			next = of
		}
	}()
	for started := 0; ; {
		switch kind := h.choose(8); {
		case kind == 0 && h.now < s.minutes*modelStep:
			h.now += modelStep
		case kind == 1 && started < s.workers:
			if started++; len(h.workers) == 2 {
				i := h.choose(2)
				h.workers = slices.Delete(h.workers, i, i+1)
			}
			at := modelPosition{through: h.first()}
			if k := h.choose(len(h.saved) + 1); k > 0 {
				at = h.saved[k-1]
			}
			w := &modelWorker{modelPosition: at, read: at.to}
			h.workers = append(h.workers, w)
			h.arrive(w, false)
		case kind >= 2 && (kind-2)/3 < len(h.workers):
			w := h.workers[(kind-2)/3]
			switch (kind - 2) % 3 {
			case 0:
				h.take(w)
			case 1:
				h.cut(w)
			case 2:
				h.arrive(w, h.choose(2) == 1)
			}
		}
	}
}

// arrive has a worker write what it has: all of it, or only the parts, and then it dies.
func (h *history) arrive(w *modelWorker, dies bool) {
	idle := w.read == w.to && len(h.log) > 0 && w.marked > 0 && (len(w.cuts) == 0 || w.cuts[0].offset > w.read)
	if idle {
		return
	}
	h.flush(w)
	if dies {
		h.log = append(h.log, w.batch[:len(w.batch)-1]...)
		i := slices.Index(h.workers, w)
		h.workers = slices.Delete(h.workers, i, i+1)
		return
	}
	h.log, w.batch = append(h.log, w.batch...), nil
	if at := w.modelPosition; !slices.Contains(h.saved, at) {
		h.saved = append(h.saved, at)
	}
}

// state tells histories apart that go on differently, or whose readers find something else.
func (h *history) state() string {
	text := fmt.Sprint(h.now, h.saved)
	for _, w := range h.workers {
		text += fmt.Sprint(*w)
	}
	names := map[[16]byte]int{}
	for _, m := range h.log {
		c, mark, err := decode(m.data)
		if err != nil {
			panic(err)
		}
		var o Origin
		if mark != nil {
			o = mark.Origin
			text += fmt.Sprint("\n", mark.After, mark.Through, mark.Since)
		} else {
			o = c.Origin
			text += fmt.Sprint("\n", c.Slice.Start, c.Payload)
		}
		if _, known := names[o.Attempt]; !known {
			names[o.Attempt] = len(names)
		}
		text += fmt.Sprint(names[o.Attempt], o.From, o.To, m.written)
	}
	return text
}

// judge has the log read by one that reads all of it, and by those that begin anew after any of its messages.
func (s *search) judge(h *history) error {
	for at := range len(h.log) + 1 {
		r := h.reader(h.first())
		if err := h.read(r, at); err != nil {
			return err
		}
		w, ok := h.schedule.After(r.decided)
		for ; at < len(h.log) && ok && r.g.State("s", 0, w).Ready; w, ok = h.schedule.Next(w) {
			r.g.Decide("s", 0, w)
			r.decided = w.End
		}
		if at < len(h.log) {
			var err error
			if r, err = h.again(r); err != nil {
				return err
			}
			if err := h.read(r, len(h.log)); err != nil {
				return err
			}
		}
		if err := h.check(r); err != nil {
			return fmt.Errorf("a reader that begins anew at %d of %d: %w", at, len(h.log), err)
		}
		if at == len(h.log) && r.g.State("s", 0, h.schedule.First()).Ready {
			s.windows++
		}
	}
	return nil
}

func (s *search) run(choices []int) error {
	h, next := s.replay(choices)
	if next == 8 { // nothing is half done
		state := h.state()
		if s.seen[state] {
			return nil
		}
		s.seen[state] = true
		if err := s.judge(h); err != nil {
			return fmt.Errorf("%w\n%v", err, h.told)
		}
	}
	for k := range next {
		if err := s.run(append(slices.Clip(choices), k)); err != nil {
			return err
		}
	}
	return nil
}

func TestLinesInAllSmallHistories(t *testing.T) {
	t.Parallel()
	for _, s := range []*search{
		{schedule: Schedule{Size: time.Minute, Every: time.Minute}, records: []int64{0, 0}, minutes: 1, workers: 2},
		{schedule: Schedule{Size: 2 * time.Minute, Every: time.Minute}, records: []int64{0, modelStep}, minutes: 2,
			workers: 2},
	} {
		s.seen = map[string]bool{}
		if err := s.run(nil); err != nil {
			t.Error(err)
		}
		t.Logf("%d states, a window is ready in %d", len(s.seen), s.windows)
		if s.windows < 1000 {
			t.Error("hardly any history cuts a window")
		}
	}
}
