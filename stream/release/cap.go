package release

import (
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// A stream with max_windows has a [windows.Cap]. Every window of the stream goes through it, in order. A withheld
// window does too: its users have used a turn like those of any other. So who counts depends on the parts and on the
// schedule, and not on what was charged.
//
// Without a snapshot a session needs the parts of as many windows as [windows.CapRule.Reach] says. If the cap is lost,
// it begins anew with the next window. From there on windows are charged under a new era of the cap, and their cost
// adds to that of the old era.

// capState is the cap of one program's windows, or of the periods of one of its discoveries (cap_row.go). Whatever is
// said about windows here is true of periods too.
type capState struct {
	course
	ws      *walks
	program int
	row     int // the place of the discovery; −1 for windows
	rule    windows.CapRule
	size    time.Duration // of a window
	cap     *windows.Cap
	// of is what windows are charged under. Its era is the start of the first window that cap has been through or will
	// go through, in Unix seconds.
	of budget.Cap
}

// newCapState returns the cap of a program's windows, for row −1, or of a discovery, before it has been through the
// windows in its reach. It is nil where there is no cap, and where the last window is decided.
func (ws *walks) newCapState(program, row int) *capState {
	p := ws.programs[program]
	t := &capState{ws: ws, program: program, row: row, size: p.schedule.Size}
	of, under, name := p.stream.MaxWindows, p.stream.Cap, ""
	if row >= 0 {
		d := p.discoveries[row]
		of, under, name, t.size = d.MaxWindows, d.Cap, d.Name, d.Every
	}
	if of == nil {
		return nil
	}
	t.rule, t.cap, t.key = of.By, windows.NewCap(of.By), snapshotKey(p, row)
	next, more := t.next()
	if !more {
		return nil
	}
	books := ws.charges.own.fold.Books
	t.of = books.Cap(p.stream.Name, p.epoch, name)
	t.anew(t.decided())
	if t.of != under(t.of.Era) { // none of its windows is decided
		t.of = under(books.Era(p.stream.Name, next.Start, under))
		return t
	}
	every := int64(t.rule.Every())
	before := t.of.Era*int64(time.Second) + int64(t.size) - every // the end of the window before the era
	t.anew(max(before, t.decided()-t.rule.Reach()*every))
	return t
}

// era names the choice of users that begins with a window.
func era(w windows.Window) int64 { return w.Start / int64(time.Second) }

// decided returns the end of the last decided window.
func (t *capState) decided() int64 {
	if p := t.ws.programs[t.program]; t.row >= 0 {
		return t.ws.charges.discovered(p, t.row)
	}
	return t.ws.charges.decided(t.ws.programs[t.program])
}

// next returns the next window to decide, or false if there is none.
func (t *capState) next() (windows.Window, bool) {
	p := t.ws.programs[t.program]
	if t.row >= 0 {
		return t.ws.charges.period(p, t.row)
	}
	return p.schedule.After(t.decided())
}

// lags reports whether some decided windows have not been through the cap.
func (t *capState) lags() bool { return t.at < t.decided() }

func (t *capState) begin(w windows.Window) error { return t.cap.Begin(w) }
func (t *capState) join(m *windows.Merger)       { m.Restrict(t.cap.Counts) }
func (t *capState) end()                         {}
func (t *capState) bytes() int64                 { return t.cap.Bytes() }

// relies says that windows within reach are needed, unless a snapshot replaces them.
func (t *capState) relies() (known int64, ok bool) {
	_, more := t.next()
	return max(t.saved, t.decided()-t.rule.Reach()*int64(t.rule.Every())), more
}

// lose begins a new era with the next window.
func (t *capState) lose() {
	stream := t.ws.programs[t.program].stream
	next, more := t.next()
	if !more {
		*t.ws.place(t.program, t.row) = nil
		return
	}
	t.cap = windows.NewCap(t.rule)
	t.anew(t.decided())
	t.of.Era = era(next)
	t.ws.Metrics.Recounts.WithLabelValues(stream.Name).Inc()
	fields := []zap.Field{zap.String("stream", stream.Name), zap.Time("window_start", time.Unix(0, next.Start).UTC())}
	if t.row >= 0 {
		fields = append(fields, zap.String("discovery", t.of.Lane))
	}
	t.ws.Log.Error("it is no longer known how often users have counted, because parts or snapshots of earlier windows "+
		"are lost: max_windows begins anew with the next window, and what it costs adds to the cost of earlier windows",
		fields...)
}

// place is where the cap of a program's windows, or of one of its discoveries, is kept.
func (ws *walks) place(program, row int) **capState {
	if row >= 0 {
		return &ws.rows[program][row]
	}
	return &ws.caps[program]
}

// snapshotKey is the key of the snapshots of a cap of a program.
func snapshotKey(p *program, row int) string {
	key := progress.StreamKey(p.stream.Name, p.epoch)
	if row >= 0 {
		key = "row/" + p.discoveries[row].Name + "/" + key
	}
	return key
}
