package attendance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// Total remembers who has counted in the open instance of a running total, and what they add up to. An instance is for
// one period. Every window of the period goes through it, in order, even one that the budget withholds: the period is
// paid already.
//
// What is drawn at the end of a leaf is in the entry, and all totals follow from that. Two things are as personal as
// parts, and stay secret: who has counted, and the exact sums of stretches that are not finished.
//
// A total goes on under a new definition of its stream as long as its own definition is the same. If it is lost, its
// instance ends, and the next window arms another one, which is charged if the budget allows.
type Total struct {
	of     *config.Total
	stream *config.Stream
	books  *ledger.Books
	lost   map[ledger.Instance]bool // instances that have to end

	// number is the number of the open instance; 0 if none is open. The rest is about that instance.
	number       int64
	since, until int64
	allowance    *windows.Allowance
	amounts      []int64        // what the window that has begun adds in each place of each group
	leaf         int64          // the number of the leaf that is not finished
	open         []running.Open // of each number of each group: stretches that are not finished
	pending      bool           // the leaf ends with the last window, and is not closed
	window       int64          // the end of the window that has begun
}

// newTotal returns a total. If an instance is open, it also returns the end of the window before its first one.
func newTotal(l *Lane, of *config.Total, lost map[ledger.Instance]bool) (t *Total, after int64) {
	t = &Total{of: of, stream: l.Stream, books: l.books, lost: lost}
	if o, ok := t.booked(); ok {
		t.resume(o.Number, o.Since, o.Until)
		after = o.From - int64(l.Schedule.Every)
	}
	return t, after
}

// totalKey is the key of the snapshots of a total.
func totalKey(s *config.Stream, of *config.Total) string {
	return fmt.Sprintf("total/%s/%s/%s", s.Name, of.Name, of.Definition)
}

// Of is the figure.
func (t *Total) Of() *config.Total { return t.of }

// Leaf returns the number of the leaf that is not finished.
func (t *Total) Leaf() int64 { return t.leaf }

// Open returns the stretches that are not finished, of each number of each group. They are secret: only noisy sums of
// them may be published.
func (t *Total) Open() []running.Open { return t.open }

// booked returns the open instance in the books.
func (t *Total) booked() (ledger.OpenTotal, bool) {
	return t.books.OpenTotal(t.stream.Budget.Name, t.stream.Name, t.of.Name, t.of.Definition)
}

// resume makes an instance the open one. Nothing is known about its users yet.
func (t *Total) resume(number, since, until int64) {
	t.number, t.since, t.until, t.leaf, t.pending = number, since, until, 1, false
	t.allowance = windows.NewAllowance(t.of.Allowance())
	t.amounts = make([]int64, len(t.stream.Groups)*t.of.Mechanism.Places())
	t.open = t.nothing()
}

// nothing has empty stretches for each number of each group.
func (t *Total) nothing() []running.Open {
	return make([]running.Open, len(t.stream.Groups)*t.of.Mechanism.Numbers())
}

// forget drops what is known of an instance that has ended.
func (t *Total) forget() {
	t.number, t.allowance, t.amounts, t.open, t.pending = 0, nil, nil, nil, false
}

func (t *Total) name() string    { return t.of.Name }
func (t *Total) instance() int64 { return t.number }

func (t *Total) arm(s *ledger.Continual) {
	of := s.Sums()
	t.resume(s.Instance, of.Since.UnixNano(), of.Until.UnixNano())
}

func (t *Total) key() string { return totalKey(t.stream, t.of) }

// goes reports whether the instance is open. It forgets one that has ended.
func (t *Total) goes() (known int64, ok bool) {
	if o, open := t.booked(); t.number != 0 && (!open || o.Number != t.number) {
		t.forget()
	}
	return math.MinInt64, t.number != 0
}

// target is the last window that the instance has looked at, or the last decided one of the lane if that is earlier.
func (t *Total) target(l *Lane) int64 {
	o, ok := t.booked()
	if !ok || o.Number != t.number {
		return math.MinInt64
	}
	return min(o.Looked, l.Decided())
}

// finishes reports whether a leaf ends with a window. It agrees with [ledger.Total.Finishes], except in a stream's last
// window.
func (t *Total) finishes(end int64) bool {
	return (end-t.since)%int64(t.of.Update) == 0 || end >= t.until
}

// close closes the leaf that ended with the last window, if one did and everything is drawn.
func (t *Total) close() {
	if !t.pending {
		return
	}
	for _, open := range t.open {
		t.of.Mechanism.Close(open, t.leaf)
	}
	t.leaf, t.pending = t.leaf+1, false
}

func (t *Total) begin(w windows.Window) error {
	t.close()
	clear(t.amounts)
	t.window = w.End
	return nil
}

// join lets everybody count, even users who no longer count under max_windows.
func (t *Total) join(m *windows.Merger) {
	m.Visit(func(u windows.UserHash, seen []windows.Contribution) { t.allowance.Visit(u, seen, t.amounts) })
}

func (t *Total) end() {
	m := t.of.Mechanism
	numbers, places := m.Numbers(), m.Places()
	for g := range t.stream.Groups {
		m.Enter(t.open[g*numbers:(g+1)*numbers], t.leaf, t.amounts[g*places:(g+1)*places])
	}
	t.pending = t.finishes(t.window)
}

// reset ends the instance with the next entry.
func (t *Total) reset() Loss {
	t.lost[ledger.Instance{Stream: t.stream.Name, Name: t.of.Name, Number: t.number}] = true
	t.forget()
	return Loss{Stream: t.stream.Name, Total: t.of.Name, At: time.Unix(0, t.since).UTC()}
}

func (t *Total) bytes() int64 {
	if t.allowance == nil {
		return 0
	}
	sum := t.allowance.Bytes()
	for _, open := range t.open {
		sum += 8 * int64(cap(open))
	}
	return sum
}

// users is how many users have counted in a group, over all groups.
func (t *Total) users() int {
	if t.allowance == nil {
		return 0
	}
	return t.allowance.Users()
}

func (t *Total) remembers() time.Duration { return t.of.Calendar.Unit.Nominal() }

// snapshot writes the number of the instance, the number of the leaf, the open stretches of each number of each group,
// and then the snapshot of the allowance. The numbers are varints.
func (t *Total) snapshot() []byte {
	t.close()
	text := binary.AppendUvarint(nil, uint64(t.number))
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
func (t *Total) restore(end int64, text []byte) (fits bool, err error) {
	o, _ := t.booked()
	in := bytes.NewReader(text)
	number, err := binary.ReadUvarint(in)
	if err != nil || int64(number) != o.Number {
		return false, err
	}
	if (end-o.Looked)%int64(t.stream.Window.Every) != 0 {
		return false, fmt.Errorf("it ends %s, which is no end of a window", time.Unix(0, end).UTC())
	}
	leaf, err := binary.ReadUvarint(in)
	if err != nil {
		return false, err
	}
	if most := uint64(o.Leaf) + 1; leaf < 1 || leaf > most {
		return false, fmt.Errorf("it is of leaf %d; want 1 to %d", leaf, most)
	}
	open := t.nothing()
	for g := range open {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return false, err
		}
		if n > uint64(in.Len()) {
			return false, fmt.Errorf("%d stretches of number %d in %d bytes", n, g, in.Len())
		}
		for range n {
			x, err := binary.ReadVarint(in)
			if err != nil {
				return false, err
			}
			open[g] = append(open[g], x)
		}
	}
	allowance, err := windows.RestoreAllowance(t.of.Allowance(), len(t.stream.Groups), text[len(text)-in.Len():])
	if err != nil {
		return false, err
	}
	t.allowance, t.open, t.leaf, t.pending = allowance, open, int64(leaf), false
	return true, nil
}
