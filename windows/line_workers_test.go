package windows

import (
	"encoding/binary"
	"fmt"
	"slices"
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
	coarse    bool // batches that are written in the same minute have the same time

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
	quiet    bool // nothing is told
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
	if !h.quiet {
		h.told = append(h.told, fmt.Sprintf(format, args...))
	}
}

// start begins a worker where progress says, any that was written, or at the first record if there is none.
func (h *history) start() {
	at := modelPosition{through: h.first()}
	if n := len(h.saved); n > 0 {
		if k := h.choose(n + 2); k < n {
			at = h.saved[k]
		} else if k == n {
			at = h.saved[n-1]
		}
	}
	if w := h.begin(at); w != nil {
		h.flush(w)
	}
}

// begin begins a worker at a position. It returns nil if that lies before the first record of the topic.
func (h *history) begin(at modelPosition) *modelWorker {
	if at.to < at.base {
		h.before = true
		return nil
	}
	w := &modelWorker{modelPosition: at, read: at.to}
	h.workers = append(h.workers, w)
	h.say("worker %d begins at %v", len(h.workers)-1, at)
	h.deceived(w)
	return w
}

// deceived notes whether records have taken the place of those that a worker knows, and it has not noticed that these
// are gone. The brokers answer it as if nothing had happened, so windows may lack the new records.
func (h *history) deceived(w *modelWorker) {
	if w.cutOff == len(h.cutOff) {
		return
	}
	ends := []int64{w.read}
	if w.batch != nil {
		ends = append(ends, w.to)
	}
	for _, c := range w.cuts {
		ends = append(ends, c.offset)
	}
	least := slices.Min(h.cutOff[w.cutOff:])
	for _, end := range ends {
		if n := int(end - w.base); least < n && n <= len(h.input) {
			h.missed, h.lossy = true, true
		}
	}
}

// save notes progress that somebody has written.
func (h *history) save(at modelPosition) {
	if !slices.Contains(h.saved, at) {
		h.saved = append(h.saved, at)
	}
}

// keep has a worker write its progress because another stream of the topic has written something.
func (h *history) keep(w *modelWorker) {
	if w.batch == nil {
		h.save(w.modelPosition)
	}
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

// notice has a worker notice that the topic ends before the offset from which it reads. It writes what it has, goes on
// at the end with higher numbers than before, and says that records are lost. It notices nothing if there are new
// records at that offset.
func (h *history) notice(w *modelWorker) {
	if int(w.read-w.base) <= len(h.input) {
		w.cutOff = len(h.cutOff)
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

// jump is by how much a worker's numbers grow when the topic has lost its newest records. It is random, and so large
// that no two workers have the same numbers for different records.
func (h *history) jump() int64 {
	if h.wrong == numbersMeet {
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
	for _, w := range h.workers {
		h.deceived(w)
	}
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
	written := h.now
	if !h.coarse {
		written += int64(h.attempts) * int64(time.Millisecond)
	}
	add := func(data []byte) { w.batch = append(w.batch, logged{data: data, written: written}) }
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
	w.modelPosition = modelPosition{o.To, m.Through, written, w.base, w.cutOff}
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
