package release

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// A running total has an instance for each period. Every window of the period goes through it, in order, even one that
// the budget withholds: the period is paid already. What it draws at the end of a leaf is in the entry, and all totals
// follow from that. Two things are as personal as parts, and stay secret: who has counted, and the exact sums of
// stretches that are not finished.
//
// A total goes on under a new definition of its stream as long as its own definition is the same. If it is lost, its
// instance ends, and the next window arms another one, which is charged if the budget allows.

// total returns a total of the program's stream.
func (p *program) total(name string) *config.Total {
	t, _ := config.Of[*config.Total](p.stream, name)
	return t
}

// totalState is the walk of a total through the windows of its stream.
type totalState struct {
	course
	ws       *walks
	programs []int // the editions of the stream that have this total, in order
	stream   *config.Stream
	of       *config.Total

	// number is the number of the open instance; 0 if none is open. The rest is about that instance.
	number       int64
	since, until int64
	allowance    *windows.Allowance
	amounts      []int64        // what the window that has begun adds to each group
	leaf         int64          // the number of the leaf that is not finished
	open         []running.Open // of each group: stretches that are not finished
	pending      bool           // the leaf ends with the last window, and is not closed
	window       int64          // the end of the window that has begun
}

// totalKey is the key of the snapshots of a total.
func totalKey(s *config.Stream, of *config.Total) string {
	return fmt.Sprintf("total/%s/%s/%s", s.Name, of.Name, of.Definition)
}

// addTotals adds the totals of a program. Where an earlier program has the same total, it adds the program to that.
func (ws *walks) addTotals(program int) {
	p := ws.programs[program]
	for _, of := range config.All[*config.Total](p.stream) {
		key := totalKey(p.stream, of)
		at := slices.IndexFunc(ws.totals, func(t *totalState) bool { return t.key == key })
		if at >= 0 {
			ws.totals[at].programs = append(ws.totals[at].programs, program)
			continue
		}
		t := &totalState{ws: ws, programs: []int{program}, stream: p.stream, of: of, course: course{key: key}}
		if o, ok := t.booked(); ok {
			t.resume(o.Number, o.Since, o.Until)
			t.anew(o.From - int64(p.schedule.Every))
		}
		ws.totals = append(ws.totals, t)
	}
}

// booked returns the open instance in the books.
func (t *totalState) booked() (ledger.OpenTotal, bool) {
	return t.ws.charges.own.fold.Books.OpenTotal(t.stream.Budget.Name, t.stream.Name, t.of.Name, t.of.Definition)
}

// resume makes an instance the open one. Nothing is known about its users yet.
func (t *totalState) resume(number, since, until int64) {
	t.number, t.since, t.until, t.leaf, t.pending = number, since, until, 1, false
	t.allowance = windows.NewAllowance(t.of.Allowance())
	t.amounts = make([]int64, len(t.stream.Groups))
	t.open = make([]running.Open, len(t.stream.Groups))
}

// forget drops what is known of an instance that has ended.
func (t *totalState) forget() {
	t.number, t.allowance, t.amounts, t.open, t.needed, t.pending = 0, nil, nil, nil, nil, false
}

// relies reports whether the instance is open.
func (t *totalState) relies() (known int64, ok bool) {
	if o, open := t.booked(); t.number != 0 && (!open || o.Number != t.number) {
		t.forget()
	}
	return t.saved, t.number != 0
}

// target returns the end of the last window of a program that the total should have been through: the last that its
// instance has looked at, or the last decided one if that is earlier.
func (t *totalState) target(program int) int64 {
	o, ok := t.booked()
	if !ok || o.Number != t.number {
		return t.at
	}
	return min(o.Looked, t.ws.charges.decided(t.ws.programs[program]))
}

// finishes reports whether a leaf ends with a window. It agrees with [ledger.Total.Finishes], except in a stream's last
// window.
func (t *totalState) finishes(end int64) bool {
	return (end-t.since)%int64(t.of.Update) == 0 || end >= t.until
}

// close closes the leaf that ended with the last window, if one did and everything is drawn.
func (t *totalState) close() {
	if !t.pending {
		return
	}
	for _, open := range t.open {
		t.of.Mechanism.Close(open, t.leaf)
	}
	t.leaf, t.pending = t.leaf+1, false
}

func (t *totalState) begin(w windows.Window) error {
	t.close()
	clear(t.amounts)
	t.window = w.End
	return nil
}

// join lets everybody count, even users who no longer count under max_windows.
func (t *totalState) join(m *windows.Merger) {
	m.Visit(func(u windows.UserHash, seen []windows.Contribution) { t.allowance.Visit(u, seen, t.amounts) })
}

func (t *totalState) end() {
	for g, amount := range t.amounts {
		if amount != 0 {
			t.open[g] = t.of.Mechanism.Add(t.open[g], t.leaf, amount)
		}
	}
	t.pending = t.finishes(t.window)
}

// lose ends the instance with the next entry.
func (t *totalState) lose() {
	name := ledger.Instance{Stream: t.stream.Name, Name: t.of.Name, Number: t.number}
	if t.ws.lost == nil {
		t.ws.lost = map[ledger.Instance]bool{}
	}
	t.ws.lost[name] = true
	t.forget()
	t.ws.Metrics.TotalRestarts.WithLabelValues(t.stream.Name).Inc()
	t.ws.Log.Error("it is no longer known who has counted in a running total, because parts or snapshots of earlier "+
		"windows are lost: the total begins anew with the next window, and is charged again, or withheld if the "+
		"budget cannot pay", zap.String("stream", t.stream.Name), zap.String("release", t.of.Name),
		zap.Time("since", time.Unix(0, t.since).UTC()))
}

func (t *totalState) bytes() int64 {
	if t.allowance == nil {
		return 0
	}
	return t.allowance.Bytes()
}

func (t *totalState) due() bool {
	o, ok := t.booked()
	return ok && t.at == o.Looked && t.at-t.saved >= min(int64(snapshotEvery), int64(t.of.Calendar.Unit.Nominal())/8)
}

// snapshot writes the end of the last window, the number of the instance, the number of the leaf, the open stretches of
// each group, and then the snapshot of the allowance. The numbers are varints, except the end.
func (t *totalState) snapshot() []byte {
	t.close()
	text := binary.BigEndian.AppendUint64(nil, uint64(t.at))
	text = binary.AppendUvarint(text, uint64(t.number))
	text = binary.AppendUvarint(text, uint64(t.leaf))
	for _, open := range t.open {
		text = binary.AppendUvarint(text, uint64(len(open)))
		for _, x := range open {
			text = binary.AppendVarint(text, x)
		}
	}
	return append(text, t.allowance.Snapshot()...)
}

// restore takes a snapshot of the open instance.
func (t *totalState) restore(text []byte) error {
	o, ok := t.booked()
	if !ok || len(text) < snapshotHead {
		return nil // of an instance that is over
	}
	end := int64(binary.BigEndian.Uint64(text))
	in := bytes.NewReader(text[snapshotHead:])
	number, err := binary.ReadUvarint(in)
	if err != nil || int64(number) != o.Number || end <= t.at {
		return err
	}
	if end > o.Looked || (end-t.at)%int64(t.stream.Window.Every) != 0 {
		return fmt.Errorf("it is of the window that ends %s; the last one of the total ends %s",
			time.Unix(0, end).UTC(), time.Unix(0, o.Looked).UTC())
	}
	leaf, err := binary.ReadUvarint(in)
	if most := uint64(o.Leaf) + 1; err != nil || leaf < 1 || leaf > most {
		return fmt.Errorf("it is of leaf %d; want at most %d (%v)", leaf, most, err)
	}
	open := make([]running.Open, len(t.stream.Groups))
	for g := range open {
		n, err := binary.ReadUvarint(in)
		if err != nil || n > uint64(in.Len()) {
			return fmt.Errorf("%d stretches of group %d (%v)", n, g, err)
		}
		for range n {
			x, err := binary.ReadVarint(in)
			if err != nil {
				return err
			}
			open[g] = append(open[g], x)
		}
	}
	rest := text[len(text)-in.Len():]
	allowance, err := windows.RestoreAllowance(t.of.Allowance(), len(t.stream.Groups), rest)
	if err != nil {
		return err
	}
	t.allowance, t.open, t.leaf, t.pending = allowance, open, int64(leaf), false
	t.at, t.saved = end, end
	return nil
}

// looking is a total that looks at a window, and its step.
type looking struct {
	*totalState
	step *ledger.Continual
}

// totalsOf lists the totals that look at the window of a settled entry, after it has armed new ones.
func (ws *walks) totalsOf(e *ledger.Entry, program int) (all []looking, err error) {
	p := ws.programs[program]
	for i := range e.Continual {
		s := &e.Continual[i]
		if s.Total == nil || !s.Looks() {
			continue
		}
		key := totalKey(p.stream, p.total(s.Name))
		t := ws.totals[slices.IndexFunc(ws.totals, func(t *totalState) bool { return t.key == key })]
		if s.Arms {
			t.resume(s.Instance, s.Total.Since.UnixNano(), s.Total.Until.UnixNano())
			t.anew(e.WindowStart.UnixNano())
		}
		if t.number != s.Instance {
			return nil, fmt.Errorf("total %s of stream %s: instance %d is to look, but instance %d is open", s.Name,
				e.Stream, s.Instance, t.number)
		}
		all = append(all, looking{t, s})
	}
	return all, nil
}

// publish draws what ends with the window of a settled entry.
func (t *totalState) publish(e *ledger.Entry, s *ledger.Continual, random io.Reader) error {
	if s.Total.Incomplete = s.Total.Incomplete || e.Incomplete; !s.Total.Finishes(*s, *e) {
		return nil
	}
	if s.Total.Leaf != t.leaf {
		return fmt.Errorf("total %s of stream %s: leaf %d is to end, but leaf %d is open", s.Name, e.Stream,
			s.Total.Leaf, t.leaf)
	}
	draws := make([][]*big.Int, len(t.open))
	for g, open := range t.open {
		began := time.Now()
		var err error
		if draws[g], err = t.of.Mechanism.Draw(open, t.leaf, random); err != nil {
			return err
		}
		t.ws.Metrics.DrawDuration.WithLabelValues(string(t.of.Query.Statistic)).Observe(time.Since(began).Seconds())
	}
	return s.Total.Publish(draws, func(value, error95 float64) string {
		return string(mechanisms.JudgeTotal(value, error95))
	})
}
