package decide

import (
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// Rehearsal draws what a stream would publish in some windows, without Kafka. It uses the same mechanisms, learns from
// its own earlier figures as the service does, and judges by the same rules. Its noise is from crypto/rand.
//
// Privacy: every window costs a user what the stream's price says, and a rehearsal keeps no account of it. So show its
// figures only to somebody who may see the data. Watches, totals and figures on change are left out, and so is
// max_windows.
//
// It is not safe for concurrent use.
type Rehearsal struct {
	program *program
	learned *prior
	past    []ledger.Past
}

// NewRehearsal returns one of a stream with a list of groups, which has published nothing so far. first is the start of
// its first window, in Unix nanoseconds.
func NewRehearsal(s *config.Stream, first int64) *Rehearsal {
	p := newProgram(config.Edition{Stream: s, Number: 1, Schedule: s.Window.Schedule(first)})
	return &Rehearsal{program: p, learned: newPrior(p)}
}

// Window draws a window that is later than all before. The figures are in the order of the groups and of the releases.
func (r *Rehearsal) Window(w windows.Window, users *windows.Bag) ([]record.Value, error) {
	e := r.program.entry("rehearsal", w)
	if _, err := r.learned.upTo(w, e.GroupNames(), r.past); err != nil {
		return nil, err
	}
	if _, err := r.program.draw(&e, users, r.learned, untimed); err != nil {
		return nil, err
	}
	r.learned.smooth(&e)
	if err := e.Compute(); err != nil {
		return nil, err
	}
	r.past = append(r.past, ledger.NewPast(e))
	return e.Values(), nil
}
