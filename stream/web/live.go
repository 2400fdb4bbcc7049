package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// reader reads the records of a Store as they come. It has no queue: it remembers how far it has read, and asks the
// Store for newer records. So a slow client costs no memory. It is not safe for concurrent use.
type reader struct {
	store *Store
	want  selection
	at    position
	// fresh says that the reader wants only new records: in a partition without a position it skips those that were
	// there before.
	fresh bool
	// claimed are the partitions in a client's position that has not been compared with the Store yet.
	claimed map[partition]bool
	// sequence counts the Store's records that the reader has passed. −1 means that all have to be searched.
	sequence int64
	life     int
}

// read makes a reader that continues from a position. If from is nil, it begins with the next record.
func (s *Store) read(want selection, from position) *reader {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := &reader{store: s, want: want, at: from, life: s.life, claimed: map[partition]bool{}, sequence: -1}
	if from == nil {
		r.jump()
		return r
	}
	for at := range from {
		r.claimed[at] = true
	}
	return r
}

// jump passes everything that is there. The lock is held.
func (r *reader) jump() {
	r.at, r.fresh, r.claimed, r.life = position{}, true, map[partition]bool{}, r.store.life
	for _, e := range r.store.series {
		if n := len(e.figures); n > 0 && r.want.wants(e) {
			at := e.figures[n-1].at
			if log := r.store.logs[at]; log != nil && log.next > 0 {
				r.at.reach(at, max(log.next, log.end)-1)
			}
		}
	}
	r.sequence = r.store.end()
}

// end counts all records that ever came. The lock is held.
func (s *Store) end() int64 { return s.first + int64(len(s.recent)) }

// next returns the new records, in order within each partition, and a channel that is closed when there may be more.
// The caller calls pass for each record when done with it. lost says that records may have been missed. Then the caller
// has to look them up, and the reader goes on with the next record.
func (r *reader) next() (found []*figure, more <-chan struct{}, lost bool) {
	s := r.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	behind := r.sequence < s.first
	if r.life != s.life || r.broken() || behind && r.sequence >= 0 && r.dropped() {
		r.jump()
		return nil, s.changed, true
	}
	var news []*figure
	if behind {
		for _, e := range s.series {
			if r.want.wants(e) {
				news = append(news, e.figures...)
			}
		}
		slices.SortFunc(news, func(a, b *figure) int { return cmp.Or(a.at.compare(b.at), cmp.Compare(a.offset, b.offset)) })
	} else {
		news = s.recent[r.sequence-s.first:]
	}
	for _, f := range news {
		if f.offset > r.last(f.at) && r.want.wants(f.series) {
			found = append(found, f)
		}
	}
	r.sequence = s.end()
	return found, s.changed, false
}

// last returns the offset up to which the reader is done with a partition. The lock is held.
func (r *reader) last(at partition) int64 {
	if last, ok := r.at[at]; ok {
		return last
	}
	if log := r.store.logs[at]; log != nil && r.fresh {
		return log.end - 1
	}
	return -1
}

// pass records that the caller is done with a record.
func (r *reader) pass(f *figure) { r.at.reach(f.at, f.offset) }

// broken compares a client's position with what the Store has read. The position does not fit if later records have
// been dropped or were never read, or if it is beyond the end of the partition, as after a topic was recreated.
func (r *reader) broken() bool {
	for at := range r.claimed {
		log, last := r.store.logs[at], r.at[at]
		if log == nil {
			continue // reading may begin later
		}
		delete(r.claimed, at)
		if last < log.gone || last+1 < log.begin || last >= max(log.end, log.next) {
			return true
		}
	}
	return false
}

// dropped reports whether records after the position have been dropped.
func (r *reader) dropped() bool {
	for at, last := range r.at {
		if log := r.store.logs[at]; log != nil && last < log.gone {
			return true
		}
	}
	return false
}

const (
	// mostLive is how many live clients are served at once.
	mostLive = 1000
	// beat is the time between two signs of life, which tell clients and proxies that a connection works.
	beat = 5 * time.Second
	// retry is when a client that lost its connection comes back.
	retry = 2 * time.Second
	// pause is how long records gather before they are sent.
	pause = 50 * time.Millisecond
	// blocked is how long a client may take nothing before its connection is closed.
	blocked = 30 * time.Second
	// mostID is how long an id may be to be sent with every event. A longer one is sent only with the last of several
	// events: a client that loses its connection before gets some events again, but misses none.
	mostID = 512
)

// live sends records as they come, as server-sent events.
func (h *handler) live(w http.ResponseWriter, r *http.Request) error {
	p := parameters{values: r.URL.Query()}
	p.allowed("stream", "group", "release", "last_event_id")
	want := p.selection()
	if p.err != nil {
		return invalid(p.err)
	}
	if err := h.known(want); err != nil {
		return err
	}
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = p.values.Get("last_event_id")
	}
	var from position
	strange := false // the id is not ours, so the client has to look again, whatever it has
	if id != "" {
		var err error
		from, err = parsePosition(id)
		strange = err != nil
	}
	if h.clients.Add(1) > mostLive {
		h.clients.Add(-1)
		w.Header().Set("Retry-After", "30")
		return &problem{status: http.StatusServiceUnavailable, detail: fmt.Sprintf("%d clients listen already; try again later, or ask for the releases from time to time", mostLive)}
	}
	defer h.clients.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx waits for more
	s := &session{to: w, control: http.NewResponseController(w), reader: h.Store.read(want, from)}
	if s.begin(strange) != nil {
		return nil // the client is gone
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		figures, more, lost := s.reader.next()
		if s.send(figures, lost, h.Store.Reading()) != nil {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-more:
			gather(r.Context())
		case <-tick.C:
			if s.comment() != nil {
				return nil
			}
		}
	}
}

// gather waits a moment, because the records of a window come one by one and clients need not wake up for each.
func gather(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// session is one live client.
type session struct {
	to      http.ResponseWriter
	control *http.ResponseController
	reader  *reader
	reading Reading // the last state that the client was told
}

func (s *session) begin(strange bool) error {
	return s.write(func() error {
		_, err := fmt.Fprintf(s.to, "retry: %d\n", retry.Milliseconds())
		if err == nil && len(s.reader.at) > 0 {
			_, err = fmt.Fprintf(s.to, "id: %s\n", s.reader.at)
		}
		if err == nil {
			_, err = fmt.Fprint(s.to, "\n")
		}
		if err == nil && strange {
			err = s.lost()
		}
		return err
	})
}

// lost tells the client to look up what it may have missed.
func (s *session) lost() error {
	_, err := fmt.Fprintf(s.to, "event: reset\nid: %s\ndata: {\"reason\":\"records may have been missed; ask for the releases again\"}\n\n", s.reader.at)
	return err
}

// send writes what is new: records, and whether Kafka is read.
func (s *session) send(figures []*figure, lost bool, reading Reading) error {
	if len(figures) == 0 && !lost && s.reading.same(reading) {
		return nil
	}
	return s.write(func() error {
		if lost {
			if err := s.lost(); err != nil {
				return err
			}
		}
		for i, f := range figures {
			s.reader.pass(f)
			if id := s.reader.at.String(); len(id) <= mostID || i == len(figures)-1 {
				if _, err := fmt.Fprintf(s.to, "id: %s\n", id); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintf(s.to, "event: release\ndata: %s\n\n", f.value); err != nil {
				return err
			}
		}
		if !s.reading.same(reading) {
			s.reading = reading
			if _, err := fmt.Fprintf(s.to, "event: reading\ndata: %s\n\n", reading.json()); err != nil {
				return err
			}
		}
		return nil
	})
}

// comment is a sign of life.
func (s *session) comment() error {
	return s.write(func() error {
		_, err := fmt.Fprint(s.to, ": still here\n\n")
		return err
	})
}

// write sends immediately, and fails if the client takes nothing for too long.
func (s *session) write(f func() error) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(blocked)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return s.control.Flush()
}
