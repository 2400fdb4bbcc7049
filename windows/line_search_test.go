package windows

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// search goes through all histories of a few workers and a few records to the end: which of the workers reads, cuts,
// flushes, dies while its batch arrives, or is replaced by one that begins at any progress so far or at none, and when
// the topic loses its newest records, gets others, or a batch comes again. Two workers are alive at a time. It is small
// enough for a test because nothing is done that changes nothing, and because a log is judged once.
type search struct {
	schedule    Schedule
	records     []int64 // the slice of each, in the order in which they come
	later       int     // how many of them come while workers read
	now         int64   // the minute in which it begins
	minutes     int64   // how far the clock goes
	alive       int     // how many workers there are when it begins
	workers     int     // how many there are in all
	truncations int     // how often the topic loses its newest records
	die         bool    // while a batch arrives
	repeats     int     // how many batches come again
	depth       int     // how many steps a history has at most; 0: any number
	wrong       string  // what workers do wrong

	seen    map[string]bool
	judged  map[string]bool // logs
	windows int
}

// moment is a history, and what else is left to happen in it.
type moment struct {
	*history
	choices          int  // how many there are
	whole            bool // nothing is half done
	steps            int
	started, repeats int // how many workers have begun, and how many batches have come again
}

// replay makes the history of some choices.
func (s *search) replay(choices []int, quiet bool) (m moment) {
	n := 0
	h := &history{quiet: quiet, schedule: s.schedule, now: s.now*modelStep + modelStep/2,
		below: map[[16]byte][]int{}, gone: map[int]bool{},
		truncates: s.truncations > 0, wrong: s.wrong, coarse: s.wrong == numbersMeet}
	m.history = h
	there := len(s.records) - s.later
	for _, slice := range s.records[:there] {
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
			m.choices = of
		}
	}()
	for range s.alive {
		m.started++
		w := h.begin(modelPosition{through: h.first()})
		h.arrive(w, false)
	}
	for ; ; m.steps++ {
		able := s.able(m)
		m.whole = true
		if len(able) == 0 {
			return m
		}
		kind := able[h.choose(len(able))]
		m.whole = false
		switch kind {
		case 0:
			h.now += modelStep
		case 1:
			if m.started++; len(h.workers) == 2 {
				i := h.choose(2)
				h.workers = slices.Delete(h.workers, i, i+1)
			}
			at := modelPosition{through: h.first()}
			if k := h.choose(len(h.saved) + 1); k > 0 {
				at = h.saved[k-1]
			}
			if w := h.begin(at); w != nil {
				h.arrive(w, s.die)
			}
		case 2:
			h.add(s.records[len(h.records)])
		case 3:
			h.truncate()
		case 4:
			m.repeats++
			h.log = append(h.log, h.late[h.choose(len(h.late))]...)
		default:
			w := h.workers[kind%2]
			switch kind / 2 {
			case 3:
				h.take(w)
			case 4:
				h.cut(w)
			case 5:
				h.arrive(w, s.die)
			case 6:
				h.keep(w)
			}
		}
	}
}

// able lists what can happen next. From 6 on, it is what the first or the second worker does.
func (s *search) able(m moment) (kinds []int) {
	for kind, able := range []bool{m.now < s.minutes*modelStep, m.started < s.workers, len(m.records) < len(s.records),
		len(m.cutOff) < s.truncations && len(m.input) > 0, m.repeats < s.repeats && len(m.late) > 0} {
		if able {
			kinds = append(kinds, kind)
		}
	}
	for i, w := range m.workers {
		kinds = append(kinds, 10+i)
		if w.batch == nil {
			kinds = append(kinds, 6+i, 8+i)
		}
		if w.batch == nil && !slices.Contains(m.saved, w.modelPosition) {
			kinds = append(kinds, 12+i)
		}
	}
	return kinds
}

// arrive has a worker write what it has: all of it, or less, and then it dies.
func (h *history) arrive(w *modelWorker, die bool) {
	idle := w.batch == nil && w.read == w.to && len(h.log) > 0 && w.marked > 0 &&
		(len(w.cuts) == 0 || w.cuts[0].offset > w.read)
	if idle {
		return
	}
	h.flush(w)
	if lacks := 0; die {
		if lacks = h.choose(len(w.batch)); lacks > 0 {
			h.log = append(h.log, w.batch[:len(w.batch)-lacks]...)
			i := slices.Index(h.workers, w)
			h.workers = slices.Delete(h.workers, i, i+1)
			return
		}
	}
	h.log, h.late = append(h.log, w.batch...), append(h.late, w.batch)
	w.batch = nil
	h.save(w.modelPosition)
}

// state tells histories apart that go on differently, or whose readers find something else.
func (s *search) state(m moment, log string, names map[int64]int) string {
	var saved, workers []string
	if m.started < s.workers { // otherwise nobody begins any more
		for _, at := range m.saved {
			saved = append(saved, at.named(names))
		}
	}
	for _, w := range m.workers {
		workers = append(workers, fmt.Sprint(w.named(names), w.read, w.bag, w.cuts, w.lost, len(w.batch)))
	}
	slices.Sort(saved)
	slices.Sort(workers)
	return fmt.Sprint(m.now, m.jumps, m.started, m.repeats, saved, workers, log)
}

// named says what a worker knows. Its mark has the number that it has in the log.
func (p modelPosition) named(names map[int64]int) string {
	name, known := names[p.marked]
	return fmt.Sprint(p.to, p.through, name, known, p.base, p.cutOff)
}

// found tells logs apart in which readers find something else. Batches have numbers in the order of the log, by when
// they were written: no two have the same time.
func (h *history) found() (log string, names map[int64]int) {
	text := strings.Builder{}
	fmt.Fprint(&text, h.input, len(h.records), h.cutOff, h.missed, h.lossy)
	names = map[int64]int{}
	for _, m := range h.log {
		c, mark, err := decode(m.data)
		if err != nil {
			panic(err)
		}
		if _, known := names[m.written]; !known {
			names[m.written] = len(names)
		}
		var o Origin
		if mark != nil {
			o = mark.Origin
			since, known := names[mark.Since]
			fmt.Fprint(&text, "\n", mark.After, mark.Through, since, known, mark.Lost, h.below[o.Attempt])
		} else {
			o = c.Origin
			fmt.Fprint(&text, "\n", c.Slice.Start, string(c.Payload))
		}
		fmt.Fprint(&text, " ", names[m.written], o.From, o.To, m.written/modelStep)
	}
	return text.String(), names
}

// judge has the log read by one that reads all of it, and by those that begin anew after any of its messages.
func (s *search) judge(h *history) error {
	if h.before {
		return errors.New("a worker begins before the first record of its topic")
	}
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

// run goes through all histories, those of few steps first.
func (s *search) run() error {
	for next := [][]int{nil}; len(next) > 0; {
		var after [][]int
		for _, choices := range next {
			m := s.replay(choices, true)
			if m.whole {
				log, names := m.found()
				state := s.state(m, log, names)
				if s.seen[state] {
					continue
				}
				s.seen[state] = true
				if m.before || !s.judged[log] {
					s.judged[log] = true
					if err := s.judge(m.history); err != nil {
						return fmt.Errorf("%w\n%v", err, strings.Join(s.replay(choices, false).told, "\n"))
					}
				}
				if m.steps == s.depth && s.depth > 0 {
					continue
				}
			}
			for k := range m.choices {
				after = append(after, append(slices.Clip(choices), k))
			}
		}
		next = after
	}
	return nil
}

// all goes through all histories.
func (s search) all(t *testing.T) error {
	s.seen, s.judged = map[string]bool{}, map[string]bool{}
	begun := time.Now()
	err := s.run()
	t.Logf("%d states, %d logs, a window is ready in %d (%v)", len(s.seen), len(s.judged), s.windows, time.Since(begun))
	if err == nil && s.windows < 400 {
		t.Error("hardly any history cuts a window")
	}
	return err
}

func TestLinesInAllSmallHistories(t *testing.T) {
	t.Parallel()
	for _, s := range []search{
		{schedule: Schedule{Size: time.Minute, Every: time.Minute}, records: []int64{0, 0}, minutes: 1, workers: 2,
			die: true},
		{schedule: Schedule{Size: 2 * time.Minute, Every: time.Minute}, records: []int64{0, modelStep}, minutes: 2,
			workers: 2, die: true},
	} {
		if err := s.all(t); err != nil {
			t.Error(err)
		}
	}
}

// truncated are searches in which the topic loses its newest records and gets others while two workers read. In the
// second, another worker takes the place of one of them. In the third, a batch comes again.
func truncated(t *testing.T) []search {
	minute := Schedule{Size: time.Minute, Every: time.Minute}
	all := []search{
		{records: []int64{0, 0}, later: 1, alive: 2, workers: 2, depth: 11},
		{records: []int64{0, 0}, later: 1, alive: 2, workers: 3, depth: 7},
		{records: []int64{0, 0}, later: 1, alive: 2, workers: 2, repeats: 1, depth: 8},
		{records: []int64{0, 0, 0}, later: 2, alive: 2, workers: 2, depth: 8},
	}
	more := 0
	if text := os.Getenv("LOUVER_TEST_LINES"); text != "" {
		var err error
		if more, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		s := &all[i]
		s.schedule, s.now, s.truncations, s.depth = minute, 1, 1, s.depth+more
	}
	return all
}

// LOUVER_TEST_LINES says by how many steps the histories are longer, such as 3.
func TestLinesOfTruncatedTopicsInAllSmallHistories(t *testing.T) {
	t.Parallel()
	for _, s := range truncated(t) {
		if err := s.all(t); err != nil {
			t.Error(err)
		}
	}
}

// Each of these faults is found. Numbers that meet do harm only if the times of marks do not tell them apart, and
// numbers that change too early if a worker begins anew.
func TestLinesOfTruncatedTopicsNeedWhatWorkersDo(t *testing.T) {
	t.Parallel()
	for i, wrong := range []string{numbersMeet, "numbers change while bags are full"} {
		s := truncated(t)[i]
		s.wrong = wrong
		if err := s.all(t); err == nil || errors.Is(err, errIncomplete) {
			t.Errorf("%s: no history shows it: %v", wrong, err)
		} else {
			t.Logf("%s: %v", wrong, err)
		}
	}
}
