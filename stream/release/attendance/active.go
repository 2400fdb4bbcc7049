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

// Active remembers who was seen lately, in the open instance of a number of active users. Every window goes through it,
// in order, even one that the budget withholds.
//
// Beside who was seen, it has a mean of the numbers of each group, which is as personal: draws are the number less most
// of that mean. If it is lost, nobody knows how far one person shifts later draws. So the instance ends, and the next
// window arms another one, which is charged if the budget allows.
//
// It goes on under a new definition of its stream as long as its own definition is the same.
type Active struct {
	of     *config.Active
	stream *config.Stream
	books  *ledger.Books
	lost   map[ledger.Instance]bool // instances that have to end

	// number is the number of the open instance; 0 if none is open. The rest is about that instance.
	number   int64
	since    int64
	presence *windows.Presence
	leaf     int64          // the number of the leaf that is not finished
	open     []running.Open // of each group: the mean, and the number at the end of a leaf that ends with the window
	pending  bool           // the leaf ends with the last window, and is not closed
	window   int64          // the end of the window that has begun
}

// newActive returns a number of active users. If an instance is open, it also returns the end of the window before its
// first one.
func newActive(l *Lane, of *config.Active, lost map[ledger.Instance]bool) (a *Active, after int64) {
	a = &Active{of: of, stream: l.Stream, books: l.books, lost: lost}
	if o, ok := a.booked(); ok {
		a.resume(o.Number, o.Since)
		after = o.From - int64(l.Schedule.Every)
	}
	return a, after
}

// activeKey is the key of the snapshots of a number of active users.
func activeKey(s *config.Stream, of *config.Active) string {
	return fmt.Sprintf("active/%s/%s/%s", s.Name, of.Name, of.Definition)
}

// Of is the figure.
func (a *Active) Of() *config.Active { return a.of }

// Leaf returns the number of the leaf that is not finished.
func (a *Active) Leaf() int64 { return a.leaf }

// Open returns each group's mean, and its number at the end of the leaf. They are secret.
func (a *Active) Open() []running.Open { return a.open }

// booked returns the open instance in the books.
func (a *Active) booked() (ledger.OpenActive, bool) {
	return a.books.OpenActive(a.stream.Budget.Name, a.stream.Name, a.of.Name, a.of.Definition)
}

// resume makes an instance the open one. Nothing is known about its users yet.
func (a *Active) resume(number, since int64) {
	a.number, a.since, a.leaf, a.pending = number, since, 1, false
	a.presence = windows.NewPresence(a.of.Presence())
	a.open = make([]running.Open, len(a.stream.Groups))
}

// forget drops what is known of an instance that has ended.
func (a *Active) forget() { a.number, a.presence, a.open, a.pending = 0, nil, nil, false }

func (a *Active) name() string    { return a.of.Name }
func (a *Active) instance() int64 { return a.number }
func (a *Active) arm(s *ledger.Continual) {
	a.resume(s.Instance, s.Active.Since.UnixNano())
}

func (a *Active) key() string { return activeKey(a.stream, a.of) }

// goes reports whether the instance is open. It forgets one that has ended.
func (a *Active) goes() (known int64, ok bool) {
	if o, open := a.booked(); a.number != 0 && (!open || o.Number != a.number) {
		a.forget()
	}
	return math.MinInt64, a.number != 0
}

// target is the last window that the instance has looked at, or the last decided one of the lane if that is earlier.
func (a *Active) target(l *Lane) int64 {
	o, ok := a.booked()
	if !ok || o.Number != a.number {
		return math.MinInt64
	}
	return min(o.Looked, l.Decided())
}

// close closes the leaf that ended with the last window, if one did and everything is drawn.
func (a *Active) close() {
	if !a.pending {
		return
	}
	for _, open := range a.open {
		a.of.Mechanism.Close(open, a.leaf)
	}
	a.leaf, a.pending = a.leaf+1, false
}

func (a *Active) begin(w windows.Window) error {
	a.close()
	a.window = w.End
	return a.presence.Begin(w)
}

// join sees everybody, even users who no longer count under max_windows.
func (a *Active) join(m *windows.Merger) { m.Visit(a.presence.Visit) }

func (a *Active) end() {
	if a.pending = a.of.Finishes(a.window); !a.pending {
		return
	}
	for g, active := range a.presence.Active() {
		a.open[g] = a.of.Mechanism.Add(a.open[g], a.leaf, active)
	}
}

// reset ends the instance with the next entry.
func (a *Active) reset() Loss {
	a.lost[ledger.Instance{Stream: a.stream.Name, Name: a.of.Name, Number: a.number}] = true
	loss := Loss{Stream: a.stream.Name, Active: a.of.Name, At: time.Unix(0, a.since).UTC()}
	a.forget()
	return loss
}

func (a *Active) bytes() int64 {
	if a.presence == nil {
		return 0
	}
	return a.presence.Bytes()
}

// users is how many users are remembered in a group, over all groups.
func (a *Active) users() int {
	if a.presence == nil {
		return 0
	}
	return a.presence.Users()
}

// remembers is for how long it matters that a user was seen. The mean matters for as long as a day, and longer.
func (a *Active) remembers() time.Duration { return config.Day }

// snapshot writes the number of the instance, the number of the leaf, each group's mean, and then the snapshot of who
// was seen. The numbers are varints.
func (a *Active) snapshot() []byte {
	a.close()
	text := binary.AppendUvarint(nil, uint64(a.number))
	text = binary.AppendUvarint(text, uint64(a.leaf))
	for _, open := range a.open {
		mean := int64(0)
		if len(open) > 0 {
			mean = open[0]
		}
		text = binary.AppendVarint(text, mean)
	}
	return append(text, a.presence.Snapshot()...)
}

// restore takes a snapshot of the open instance.
func (a *Active) restore(end int64, text []byte) (fits bool, err error) {
	o, _ := a.booked()
	in := bytes.NewReader(text)
	number, err := binary.ReadUvarint(in)
	if err != nil {
		return false, err
	}
	if int64(number) != o.Number {
		return false, nil // of a former instance
	}
	if (end-o.Looked)%int64(a.stream.Window.Every) != 0 {
		return false, fmt.Errorf("it ends %s, which is no end of a window", time.Unix(0, end).UTC())
	}
	leaf, err := binary.ReadUvarint(in)
	if err != nil {
		return false, err
	}
	if most := uint64(o.Leaf) + 1; leaf < 1 || leaf > most {
		return false, fmt.Errorf("it is of leaf %d; want 1 to %d", leaf, most)
	}
	open := make([]running.Open, len(a.stream.Groups))
	for g := range open {
		mean, err := binary.ReadVarint(in)
		if err != nil {
			return false, err
		}
		open[g] = running.Open{mean, 0}
	}
	presence, err := windows.RestorePresence(a.of.Presence(), text[len(text)-in.Len():])
	if err != nil {
		return false, err
	}
	if ended := presence.Began() + int64(a.stream.Window.Size); ended != end {
		return false, fmt.Errorf("it is of the window that ends %s, and says %s", time.Unix(0, ended).UTC(),
			time.Unix(0, end).UTC())
	}
	a.presence, a.open, a.leaf, a.pending = presence, open, int64(leaf), false
	return true, nil
}
