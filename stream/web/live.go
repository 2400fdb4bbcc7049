package web

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

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

// live answers with records as they come.
type live struct {
	source
	clients atomic.Int64 // now
}

// answer sends records as they come, as server-sent events.
func (l *live) answer(w http.ResponseWriter, r *http.Request) error {
	p := query(r, "stream", "group", "release", "last_event_id")
	want := p.selection()
	if err := l.check(p, want); err != nil {
		return err
	}
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = p.values.Get("last_event_id")
	}
	var from position
	strange := false // the id is not one of ours, so the client must ask for everything again
	if id != "" {
		var err error
		from, err = parsePosition(id)
		strange = err != nil
	}
	if l.clients.Add(1) > mostLive {
		l.clients.Add(-1)
		w.Header().Set("Retry-After", "30")
		return &problem{status: http.StatusServiceUnavailable,
			detail: fmt.Sprintf("%d clients listen already; try again later, or ask for the releases from time to time",
				mostLive)}
	}
	defer l.clients.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx waits for more
	s := &session{to: w, control: http.NewResponseController(w), reader: l.store.read(want, from)}
	if s.begin(strange) != nil {
		return nil // the client is gone
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		points, more, lost := s.reader.next()
		if s.send(points, lost, l.store.Reading()) != nil {
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

// gather waits a moment. The records of a window come one by one, and clients need not wake up for each.
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

// lost tells the client that records may have been missed, so that it asks for the releases again.
func (s *session) lost() error {
	_, err := fmt.Fprintf(s.to,
		"event: reset\nid: %s\ndata: {\"reason\":\"records may have been missed; ask for the releases again\"}\n\n",
		s.reader.at)
	return err
}

// send writes what is new: records, and whether Kafka is read.
func (s *session) send(points []*point, lost bool, reading Reading) error {
	if len(points) == 0 && !lost && s.reading.same(reading) {
		return nil
	}
	return s.write(func() error {
		if lost {
			if err := s.lost(); err != nil {
				return err
			}
		}
		for i, f := range points {
			s.reader.pass(f)
			if id := s.reader.at.String(); len(id) <= mostID || i == len(points)-1 {
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
