package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// The model of line.go: workers of one partition, of which any may be a zombie or stop at any step. Batches reach the
// log late, in part, or twice. Progress is stale or gone. Cuts come between, events come early, records are deleted
// before they are read, messages are deleted from the log, and the topic may lose its newest records. The readers are
// real gatherings: eager, late, or one that begins anew where the log is still needed.

const (
	modelStep  = int64(time.Minute) // of slices
	modelAhead = time.Minute        // events are so far ahead at most
)

// history is one of all that may happen. choose decides what: it returns a number from 0 to n−1.
type history struct {
	choose    func(n int) int
	wrong     string // what workers do wrong
	schedule  Schedule
	silent    bool // nobody is told that messages are gone
	truncates bool // the topic may lose its newest records

	now      int64
	records  []int64            // the slice of each
	deleted  []bool             // before anybody else reads them
	input    []int              // the records of the topic, in the order of its offsets
	cutOff   []int              // how long the topic was after each time that it lost its newest records
	gone     map[int]bool       // records that it has lost
	missed   bool               // somebody does not read records that took the place of others
	below    map[[16]byte][]int // the records of the topic below the cut of a mark
	log      []logged
	late     [][]logged // batches that come again
	workers  []*modelWorker
	saved    []modelPosition
	attempts uint64
	jumps    int64
	lossy    bool
	before   bool // a worker would have to begin before the first record
	readers  []*modelReader
	told     []string
}

type logged struct {
	data    []byte
	written int64
	gone    bool
}

// modelPosition is what a worker knows when it begins. Its numbers of records are offsets of the topic, and base more.
type modelPosition struct {
	to, through, marked int64
	base                int64
	cutOff              int // of how many it knows
}

type modelWorker struct {
	modelPosition         // of the last mark
	read          int64   // records below are read
	bag           [][]int // records, by slice
	cuts          []modelCut
	lost          int64
	batch         []logged // not acknowledged
	sent          int
}

type modelCut struct {
	through, offset int64
	below           []int // the records of the topic when it was taken
}

// first is the end before that of the first window.
func (h *history) first() int64 { return h.schedule.First().End - int64(h.schedule.Every) }

func (h *history) say(format string, args ...any) {
	h.told = append(h.told, fmt.Sprintf(format, args...))
}

// start begins a worker where progress says, or at the first record if there is none.
func (h *history) start() {
	at := modelPosition{through: h.first()}
	if n := len(h.saved); n > 0 {
		if k := h.choose(n + 2); k < n {
			at = h.saved[k]
		} else if k == n {
			at = h.saved[n-1]
		}
	}
	if at.to < at.base {
		h.before = true
		return
	}
	w := &modelWorker{modelPosition: at, read: at.to}
	h.workers = append(h.workers, w)
	h.say("worker %d begins at %v", len(h.workers)-1, at)
	h.flush(w)
}

// take has a worker read a record. Before one that lies at a cut or beyond it, it has to flush.
func (h *history) take(w *modelWorker) {
	if w.batch != nil || len(w.cuts) > 0 && w.cuts[0].offset <= w.read && h.wrong != "a part goes beyond the cut" {
		return
	}
	h.notice(w)
	at := int(w.read - w.base)
	if w.batch != nil || at == len(h.input) {
		return
	}
	id := h.input[at]
	slice := h.records[id]
	switch {
	case h.deleted[id]:
		w.lost++
		h.lossy = true
	case slice+int64(h.schedule.Size) <= w.through: // late
	case h.wrong == "a record is skipped" && h.choose(4) == 0:
	default:
		k := int(slice / modelStep)
		for len(w.bag) <= k {
			w.bag = append(w.bag, nil)
		}
		w.bag[k] = append(w.bag[k], id)
		if h.wrong == "a record is read again" && h.choose(4) == 0 {
			w.bag[k] = append(w.bag[k], id)
		}
	}
	w.read++
}

// notice has a worker notice that the topic ends before the offset from which it reads. It writes what it has, goes on at
// the end with higher numbers than before, and says that records are lost. It notices nothing if there are new records at
// that offset.
func (h *history) notice(w *modelWorker) {
	at := int(w.read - w.base)
	gone := slices.ContainsFunc(h.cutOff[w.cutOff:], func(length int) bool { return length < at })
	if at <= len(h.input) {
		w.cutOff = len(h.cutOff)
		if gone {
			h.missed, h.lossy = true, true
		}
		return
	}
	var batch []logged
	if h.wrong != "numbers change while bags are full" {
		h.flush(w)
		batch, w.batch = w.batch, nil
	}
	w.cutOff = len(h.cutOff)
	w.base = w.read + h.jump() - int64(len(h.input))
	w.read = w.base + int64(len(h.input))
	for i := range w.cuts {
		w.cuts[i].offset = w.read
	}
	w.lost++
	h.lossy = true
	h.say("worker notices that the topic ends at %d, and goes on at %d", len(h.input), w.read)
	if h.wrong != "numbers change while bags are full" {
		h.flush(w)
		w.batch = append(batch, w.batch...)
	}
}

// jump is by how much a worker's numbers grow when the topic has lost its newest records. It is random, and so large that
// no two workers have the same numbers for different records.
func (h *history) jump() int64 {
	if h.wrong == "numbers of two workers meet" {
		return 1
	}
	h.jumps++
	return 1000 * h.jumps
}

// truncate takes the newest records from the topic.
func (h *history) truncate() {
	if n := len(h.input); n > 0 {
		n = h.choose(n)
		for _, id := range h.input[n:] {
			h.gone[id] = true
		}
		h.input = slices.Clip(h.input[:n])
		h.cutOff = append(h.cutOff, len(h.input))
		h.say("the topic has %d records left", len(h.input))
	}
}

// add adds a record to the topic.
func (h *history) add(slice int64) {
	h.input = append(h.input, len(h.records))
	h.records, h.deleted = append(h.records, slice), append(h.deleted, false)
}

// cut takes the end of the partition as the cut of the windows that are due. A worker has just asked for more records.
func (h *history) cut(w *modelWorker) {
	if h.truncates {
		if w.batch != nil || len(w.cuts) > 0 && w.cuts[0].offset <= w.read {
			return // it writes first
		}
		if h.notice(w); w.batch != nil {
			return
		}
	}
	through, last := h.now/modelStep*modelStep, w.through
	if n := len(w.cuts); n > 0 {
		last = w.cuts[n-1].through
	}
	if through > last {
		w.cuts = append(w.cuts, modelCut{through, max(w.to, w.base+int64(len(h.input))), slices.Clone(h.input)})
	}
}

// flush makes the batch of what a worker has read.
func (h *history) flush(w *modelWorker) {
	if w.batch != nil {
		return
	}
	h.attempts++
	o := Origin{Stream: "s", From: w.to, To: w.read}
	binary.BigEndian.PutUint64(o.Attempt[:], h.attempts)
	m := Mark{Origin: o, Partitions: 1, Lost: w.lost, Since: w.marked, After: w.through, Through: w.through}
	if len(w.cuts) > 0 && w.cuts[0].offset <= w.read {
		h.below[o.Attempt] = w.cuts[0].below
		o.To, m.Through, w.cuts = max(w.to, w.cuts[0].offset), w.cuts[0].through, w.cuts[1:]
		m.Origin = o
	}
	add := func(data []byte) { w.batch = append(w.batch, logged{data: data, written: h.now}) }
	for k, records := range w.bag {
		if len(records) == 0 {
			continue
		}
		start := int64(k) * modelStep
		var payload []byte
		for _, r := range records {
			payload = append(payload, byte(r))
		}
		part := Part{Origin: o, Slice: Window{start, start + modelStep}, Payload: payload}
		for _, data := range part.Messages(o.partOverhead() + 2) {
			add(data)
		}
		m.Slices = append(m.Slices, start)
	}
	if add(m.Message()); h.wrong == "the mark comes before the parts" {
		w.batch = append(w.batch[len(w.batch)-1:], w.batch[:len(w.batch)-1]...)
	}
	w.modelPosition = modelPosition{o.To, m.Through, h.now, w.base, w.cutOff}
	w.bag, w.lost, w.sent = nil, 0, 0
	if h.wrong == "progress before the acknowledgement" {
		h.saved = append(h.saved, w.modelPosition)
	}
	h.say("worker has %v: From %d To %d After %d Through %d Slices %d Lost %d", h.attempts, m.From, m.To,
		m.After/modelStep, m.Through/modelStep, m.Slices, m.Lost)
}

// send brings some messages of a worker's batch to the log. When all are there, the progress may be written.
func (h *history) send(w *modelWorker) {
	if w.batch == nil {
		return
	}
	n := len(w.batch) - w.sent
	if k := h.choose(2 * n); k < n {
		n = k + 1
	}
	h.log = append(h.log, w.batch[w.sent:w.sent+n]...)
	h.say("log has %d", len(h.log))
	if w.sent += n; w.sent < len(w.batch) {
		if h.choose(4) == 0 {
			w.sent = 0 // sent again from its beginning
		}
		return
	}
	if h.choose(4) == 0 {
		h.late = append(h.late, w.batch)
	}
	w.batch = nil
	if h.choose(2) == 0 {
		h.saved = append(h.saved, w.modelPosition)
	}
}

// step does one thing.
func (h *history) step() {
	likely := []int{0, 1, 2, 3, 4, 5, 0, 0, 0, 1, 2, 2, 2, 3, 5, 5, 6, 7}
	if h.truncates {
		likely = append(likely, 8, 9)
	}
	kind := likely[h.choose(len(likely))]
	if (kind < 4 || kind == 9) && len(h.workers) == 0 {
		h.start()
		return
	}
	some := func() *modelWorker { return h.workers[h.choose(len(h.workers))] }
	switch kind {
	case 0:
		h.take(some())
	case 1:
		h.flush(some())
	case 2:
		h.send(some())
	case 3:
		w := some()
		if h.cut(w); h.wrong == "cuts are forgotten" && w.through > h.first() {
			w.through -= modelStep
		}
	case 4:
		if len(h.workers) < 3 {
			h.start()
		} else {
			i := h.choose(len(h.workers))
			h.workers = slices.Delete(h.workers, i, i+1)
			h.say("worker %d stops", i)
		}
	case 5:
		if h.choose(4) == 0 {
			h.now += modelStep
			h.say("minute %d", h.now/modelStep)
			break
		}
		// an event of the last slice, of this one or of the next one
		slice := max(0, h.now/modelStep+int64(h.choose(3))-1)
		h.add(slice * modelStep)
		h.say("record %d in %d", len(h.records)-1, slice)
	case 6:
		if len(h.late) > 0 {
			h.log = append(h.log, h.late[h.choose(len(h.late))]...)
			h.say("log has %d, repeated", len(h.log))
		}
	case 7:
		h.lose()
	case 8:
		h.truncate()
	case 9: // another stream of the topic writes, and so the progress of all
		if w := some(); w.batch == nil {
			at := w.modelPosition
			at.base = w.base
			h.saved = append(h.saved, at)
		}
	}
}

// lose deletes records of the input, or messages of the log.
func (h *history) lose() {
	switch h.choose(5) {
	case 0:
		for i := range h.records {
			h.deleted[i] = true
		}
		h.say("%d records are deleted", len(h.records))
	case 1:
		least := 1
		if h.silent { // what the second reader has read, the next one finds too
			least = max(1, h.readers[1].next)
		}
		if n := len(h.log); n > least {
			from := least + h.choose(n-least)
			for i := from; i < min(n, from+1+h.choose(4)); i++ {
				h.log[i].gone = true
			}
			h.lossy = true
			h.say("messages from %d on are deleted", from)
		}
	}
}

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
		if err := h.exact(o, w); err != nil { // otherwise a batch that came again has picked another line, which is whole
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
	if len(h.cutOff) > 0 { // records that the topic has no more may count, if somebody read them before
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

// random makes a history of so many steps and checks what its readers find.
func (h *history) random(steps int) error {
	h.now, h.below, h.gone = modelStep/2, map[[16]byte][]int{}, map[int]bool{}
	h.readers = []*modelReader{h.reader(h.first()), h.reader(h.first()), h.reader(h.first())}
	for i := range steps {
		if h.step(); h.before {
			return errors.New("a worker begins before the first record of its topic")
		}
		for k, r := range h.readers {
			if k == 2 && i < steps-1 {
				break // reads all at the end
			}
			if err := h.read(r, h.choose(3)*(1+h.choose(1+8*k))/2); err != nil {
				return err
			}
			if err := h.check(r); err != nil {
				return fmt.Errorf("reader %d: %w", k, err)
			}
			h.decide(r)
			if k == 1 && h.choose(8) == 0 {
				var err error
				h.say("reader %d begins anew at %d, and has read to %d", k, r.g.Needs(int64(r.next)), r.next)
				if h.readers[k], err = h.again(r); err != nil {
					return err
				}
			}
		}
	}
	for k, r := range h.readers {
		err := h.read(r, len(h.log))
		if err == nil {
			err = h.check(r)
		}
		if err != nil {
			return fmt.Errorf("reader %d at the end: %w", k, err)
		}
	}
	return nil
}

func randomHistory(seed uint64, wrong string, truncates bool) (*history, error) {
	random := rand.New(rand.NewPCG(seed, 1))
	h := &history{choose: random.IntN, wrong: wrong,
		schedule: Schedule{Size: time.Duration(1+seed%3) * time.Minute, Every: time.Minute}, silent: seed%2 == 0,
		truncates: truncates}
	return h, h.random(20 + random.IntN(120))
}

// Each record of a complete window counts once, and none of an incomplete one twice, whatever workers and readers do.
func TestLinesCountEachRecordOnce(t *testing.T) {
	t.Parallel()
	histories := uint64(10_000)
	if testing.Short() {
		histories = 3_000
	}
	for seed := range histories {
		for _, truncates := range []bool{false, true} {
			if h, err := randomHistory(seed, "", truncates); err != nil {
				t.Fatalf("history %d: %v\n%s", seed, err, strings.Join(h.told, "\n"))
			}
		}
	}
}

// Each of these faults of a worker is found: the rule of line.go relies on what workers do right.
func TestLinesNeedWhatWorkersDo(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"progress before the acknowledgement", "a part goes beyond the cut", "a record is skipped",
		"a record is read again", "numbers of two workers meet", "numbers change while bags are full"} {
		t.Run(wrong, func(t *testing.T) {
			for seed := range uint64(20_000) {
				if _, err := randomHistory(seed, wrong, strings.HasPrefix(wrong, "numbers")); err != nil && !errors.Is(err, errIncomplete) {
					t.Logf("history %d: %v", seed, err)
					return
				}
			}
			t.Error("no history shows it")
		})
	}
	for _, wrong := range []string{"the mark comes before the parts", "cuts are forgotten"} {
		t.Run(wrong, func(t *testing.T) { // windows are incomplete, and never wrong
			found := false
			for seed := range uint64(3_000) {
				_, err := randomHistory(seed, wrong, false)
				if found = found || errors.Is(err, errIncomplete); err != nil && !errors.Is(err, errIncomplete) {
					t.Fatalf("history %d: %v", seed, err)
				}
			}
			if !found {
				t.Error("no history shows it")
			}
		})
	}
}
