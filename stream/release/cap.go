package release

import (
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// A stream with max_windows has a [windows.Cap], which every window of it goes through, in order: also a window that is
// withheld, because its users have used a turn like those of any other. So who counts depends on the parts and on the
// schedule, and not on what was charged.
//
// Without a snapshot a session needs the parts of as many windows as [windows.CapRule.Reach] says. If the cap is lost,
// it begins anew with the next window. From there on the windows are charged under a new era of the cap, and what they
// cost adds to what those of the old one did.

// capState is the cap of one program's windows.
type capState struct {
	course
	ws      *walks
	program int
	rule    windows.CapRule
	size    time.Duration // of a window
	cap     *windows.Cap
	// of is what windows are charged under. Its era is the start of the first window that cap has been through or will go
	// through, in Unix seconds.
	of budget.Cap
}

// newCapState returns the cap of a program before it has been through the windows in its reach. It is nil for programs
// without a cap, and for those that have decided their last window.
func (ws *walks) newCapState(program int) *capState {
	p := ws.programs[program]
	decided := ws.charges.decided(p)
	next, more := p.schedule.After(decided)
	if p.stream.MaxWindows == nil || !more {
		return nil
	}
	rule := p.stream.MaxWindows.By
	t := &capState{ws: ws, program: program, rule: rule, size: p.schedule.Size, cap: windows.NewCap(rule),
		of: ws.charges.own.fold.Books.Cap(p.stream.Name, p.epoch), course: course{key: snapshotKey(p)}}
	t.anew(decided)
	if t.of != p.stream.Cap(t.of.Era) { // none of its windows is decided
		t.of = p.stream.Cap(ws.charges.own.fold.Books.Era(p.stream.Name, next.Start, p.stream.Cap))
		return t
	}
	every := int64(p.schedule.Every)
	before := t.of.Era*int64(time.Second) + int64(p.schedule.Size) - every // the end of the window before the era
	t.anew(max(before, decided-t.rule.Reach()*every))
	return t
}

// era names the choice of users that begins with a window.
func era(w windows.Window) int64 { return w.Start / int64(time.Second) }

// target is the last decided window.
func (t *capState) target(int) int64 { return t.ws.charges.decided(t.ws.programs[t.program]) }

func (t *capState) begin(w windows.Window) error { return t.cap.Begin(w) }
func (t *capState) join(m *windows.Merger)       { m.Restrict(t.cap.Counts) }
func (t *capState) end()                         {}
func (t *capState) bytes() int64                 { return t.cap.Bytes() }

// relies on windows in reach.
func (t *capState) relies() (known int64, ok bool) {
	decided := t.target(t.program)
	_, more := t.ws.programs[t.program].schedule.After(decided)
	return max(t.saved, decided-t.rule.Reach()*int64(t.rule.Every())), more
}

// lose begins a new era with the program's next window.
func (t *capState) lose() {
	p, decided := t.ws.programs[t.program], t.target(t.program)
	next, more := p.schedule.After(decided)
	if !more {
		t.ws.caps[t.program] = nil
		return
	}
	t.cap = windows.NewCap(t.rule)
	t.anew(decided)
	t.of.Era = era(next)
	t.ws.Metrics.Recounts.WithLabelValues(p.stream.Name).Inc()
	t.ws.Log.Error("nobody knows any more how often users have counted, because parts or snapshots of earlier windows "+
		"are lost: max_windows begins anew with the next window, and what it costs adds to what earlier windows did",
		zap.String("stream", p.stream.Name), zap.Time("window_start", time.Unix(0, next.Start).UTC()))
}

// snapshotKey is the key of the snapshots of a program's cap.
func snapshotKey(p *program) string { return progress.StreamKey(p.stream.Name, p.epoch) }
