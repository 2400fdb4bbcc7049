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

// Ongoing takes an ongoing figure through the windows: a running total, a distribution so far or a number of active
// users. It remembers who has counted in the open instance, or was seen lately. Every window of the instance goes
// through it, in order, even one that the budget withholds.
//
// What is drawn at the end of a leaf is in the entry, and all values follow from that. Two things are as personal as
// parts, and stay secret: who has counted, and what later draws are made of. Those are the exact sums of stretches that
// are not finished, or a mean of the numbers so far.
//
// It goes on under a new definition of its stream as long as its own definition is the same. If it is lost, nobody
// knows how far one person shifts later draws. So its instance ends, and the next window arms another one, which is
// charged if the budget allows.
type Ongoing struct {
	of     config.Ongoing
	kind   ongoing
	stream *config.Stream
	books  *ledger.Books
	lost   map[ledger.Instance]bool // instances that have to end

	// number is the number of the open instance; 0 if none is open. The rest is about that instance.
	number int64
	since  int64 // when it began
	users  users
	leaf   int64 // the number of the leaf that is not finished
	// open has what later draws are made of, of each number of each group.
	open    []running.Open
	pending bool // the leaf ends with the last window, and is not closed
}

// ongoing is what differs between kinds of ongoing figures: a [totalled] or a [lately].
type ongoing interface {
	// prefix is that of the keys of snapshots. Running services have snapshots under it, so it may not change.
	prefix() string
	// remembers is for how long it matters that a user has counted.
	remembers() time.Duration
	// begin begins an instance, in which nobody has counted. Its period has these bounds, if it has one.
	begin(since, until int64) users
	// restore goes on with an instance from a snapshot of its users, of a window that ends then.
	restore(since, until, end int64, text []byte) (users, error)
	// write appends the numbers of what is open to a snapshot, after the last leaf is closed. read reads them.
	write(text []byte, open running.Open) []byte
	read(in *bytes.Reader) (running.Open, error)
}

// users are those who have counted in an instance, or were seen lately.
type users interface {
	begin(w windows.Window) error
	// visit takes note of what a user has in the window that has begun.
	visit(u windows.UserHash, has []windows.Contribution)
	// end adds what the window has to what is open in a leaf, and reports whether the leaf ends with it.
	end(open []running.Open, leaf int64) (finishes bool)
	Snapshot() []byte
	Bytes() int64
	// Users is how many users are remembered in a group, over all groups.
	Users() int
}

// newOngoing returns the tracker of a figure. If an instance is open, it also returns the end of the window before its
// first one.
func newOngoing(l *Lane, of config.Ongoing, lost map[ledger.Instance]bool) (o *Ongoing, after int64) {
	o = &Ongoing{of: of, kind: kindOf(l.Stream, of), stream: l.Stream, books: l.books, lost: lost}
	if b, ok := o.booked(); ok {
		o.resume(b.Number, b.Since, b.Until)
		after = b.From - int64(l.Schedule.Every)
	}
	return o, after
}

func kindOf(s *config.Stream, of config.Ongoing) ongoing {
	if active, ok := of.(*config.Active); ok {
		return lately{active}
	}
	return totalled{of.(config.Adder).Adds(), len(s.Groups)}
}

// ongoingKey is the key of the snapshots of a figure.
func ongoingKey(s *config.Stream, of config.Ongoing) string {
	return fmt.Sprintf("%s/%s/%s/%s", kindOf(s, of).prefix(), s.Name, of.Heading().Name, of.Heading().Definition)
}

// Of is the figure.
func (o *Ongoing) Of() config.Ongoing { return o.of }

// Leaf returns the number of the leaf that is not finished.
func (o *Ongoing) Leaf() int64 { return o.leaf }

// Open returns what is drawn from at the end of the leaf, of each number of each group. It is secret: only noisy values
// may be published.
func (o *Ongoing) Open() []running.Open { return o.open }

// booked returns the open instance in the books.
func (o *Ongoing) booked() (ledger.OpenOngoing, bool) {
	h := o.of.Heading()
	return o.books.OpenOngoing(o.stream.Budget.Name, o.stream.Name, h.Name, h.Definition)
}

// resume makes an instance the open one. Nothing is known about its users yet.
func (o *Ongoing) resume(number, since, until int64) {
	o.number, o.since, o.leaf, o.pending = number, since, 1, false
	o.users, o.open = o.kind.begin(since, until), o.nothing()
}

// nothing has nothing open for each number of each group.
func (o *Ongoing) nothing() []running.Open {
	return make([]running.Open, len(o.stream.Groups)*o.of.Numbers())
}

// forget drops what is known of an instance that has ended.
func (o *Ongoing) forget() { o.number, o.users, o.open, o.pending = 0, nil, nil, false }

// arm begins the instance that an entry arms.
func (o *Ongoing) arm(s *ledger.Continual) {
	_, until, _ := s.Period()
	o.resume(s.Instance, s.Since().UnixNano(), until.UnixNano())
}

func (o *Ongoing) key() string { return ongoingKey(o.stream, o.of) }

// goes reports whether the instance is open. It forgets one that has ended.
func (o *Ongoing) goes() (known int64, ok bool) {
	if b, open := o.booked(); o.number != 0 && (!open || b.Number != o.number) {
		o.forget()
	}
	return math.MinInt64, o.number != 0
}

// target is the last window that the instance has looked at, or the last decided one of the lane if that is earlier.
func (o *Ongoing) target(l *Lane) int64 {
	b, ok := o.booked()
	if !ok || b.Number != o.number {
		return math.MinInt64
	}
	return min(b.Looked, l.Decided())
}

// close closes the leaf that ended with the last window, if one did and everything is drawn.
func (o *Ongoing) close() {
	if !o.pending {
		return
	}
	law, _ := o.of.Law()
	for _, open := range o.open {
		law.Close(open, o.leaf)
	}
	o.leaf, o.pending = o.leaf+1, false
}

func (o *Ongoing) begin(w windows.Window) error {
	o.close()
	return o.users.begin(w)
}

// join sees everybody, even users who no longer count under max_windows.
func (o *Ongoing) join(m *windows.Merger) { m.Visit(o.users.visit) }

func (o *Ongoing) end() { o.pending = o.users.end(o.open, o.leaf) }

// reset ends the instance with the next entry.
func (o *Ongoing) reset() Loss {
	o.lost[ledger.Instance{Stream: o.stream.Name, Name: o.of.Heading().Name, Number: o.number}] = true
	o.forget()
	return Loss{Stream: o.stream.Name, Of: o.of, At: time.Unix(0, o.since).UTC()}
}

func (o *Ongoing) bytes() (sum int64) {
	if o.users == nil {
		return 0
	}
	for _, open := range o.open {
		sum += 8 * int64(cap(open))
	}
	return sum + o.users.Bytes()
}

func (o *Ongoing) remembers() time.Duration { return o.kind.remembers() }

// snapshot writes the number of the instance, the number of the leaf, what is open of each number of each group, and
// then the snapshot of the users. The numbers are varints. They have no checksum of their own: the hash in the records
// of a snapshot guards all of it.
func (o *Ongoing) snapshot() []byte {
	o.close()
	text := binary.AppendUvarint(nil, uint64(o.number))
	text = binary.AppendUvarint(text, uint64(o.leaf))
	for _, open := range o.open {
		text = o.kind.write(text, open)
	}
	return append(text, o.users.Snapshot()...)
}

// restore takes a snapshot of the open instance.
func (o *Ongoing) restore(end int64, text []byte) (fits bool, err error) {
	b, _ := o.booked()
	in := bytes.NewReader(text)
	number, err := binary.ReadUvarint(in)
	if err != nil || int64(number) != b.Number {
		return false, err
	}
	if (end-b.Looked)%int64(o.stream.Window.Every) != 0 {
		return false, fmt.Errorf("it ends %s, which is no end of a window", time.Unix(0, end).UTC())
	}
	leaf, err := binary.ReadUvarint(in)
	if err != nil {
		return false, err
	}
	if most := uint64(b.Leaf) + 1; leaf < 1 || leaf > most {
		return false, fmt.Errorf("it is of leaf %d; want 1 to %d", leaf, most)
	}
	open := o.nothing()
	for i := range open {
		if open[i], err = o.kind.read(in); err != nil {
			return false, fmt.Errorf("number %d: %w", i, err)
		}
	}
	who, err := o.kind.restore(b.Since, b.Until, end, text[len(text)-in.Len():])
	if err != nil {
		return false, err
	}
	o.users, o.open, o.leaf, o.pending = who, open, int64(leaf), false
	return true, nil
}

// totalled is a running total or a distribution so far, in so many groups. An instance is for one period.
type totalled struct {
	of     *config.Total
	groups int
}

func (t totalled) prefix() string           { return "total" }
func (t totalled) remembers() time.Duration { return t.of.Calendar.Unit.Nominal() }

func (t totalled) begin(since, until int64) users {
	return t.with(windows.NewAllowance(t.of.Allowance()), since, until)
}

func (t totalled) with(a *windows.Allowance, since, until int64) users {
	return &allowed{Allowance: a, of: t.of, since: since, until: until,
		amounts: make([]int64, t.groups*t.of.Mechanism.Places())}
}

func (t totalled) restore(since, until, _ int64, text []byte) (users, error) {
	a, err := windows.RestoreAllowance(t.of.Allowance(), t.groups, text)
	if err != nil {
		return nil, err
	}
	return t.with(a, since, until), nil
}

// write appends how many stretches are open, and their sums.
func (totalled) write(text []byte, open running.Open) []byte {
	text = binary.AppendUvarint(text, uint64(len(open)))
	for _, x := range open {
		text = binary.AppendVarint(text, x)
	}
	return text
}

func (totalled) read(in *bytes.Reader) (open running.Open, err error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n > uint64(in.Len()) {
		return nil, fmt.Errorf("%d stretches in %d bytes", n, in.Len())
	}
	for range n {
		x, err := binary.ReadVarint(in)
		if err != nil {
			return nil, err
		}
		open = append(open, x)
	}
	return open, nil
}

// allowed are the users who have counted in a period, and what the window that has begun adds.
type allowed struct {
	*windows.Allowance
	of           *config.Total
	since, until int64
	amounts      []int64 // in each place of each group
	window       int64   // the end of the window
}

func (a *allowed) begin(w windows.Window) error {
	clear(a.amounts)
	a.window = w.End
	return nil
}

func (a *allowed) visit(u windows.UserHash, has []windows.Contribution) { a.Visit(u, has, a.amounts) }

// end agrees with [ledger.Total.Finishes], except in a stream's last window.
func (a *allowed) end(open []running.Open, leaf int64) (finishes bool) {
	m := a.of.Mechanism
	numbers, places := m.Numbers(), m.Places()
	for g := range len(open) / numbers {
		m.Enter(open[g*numbers:(g+1)*numbers], leaf, a.amounts[g*places:(g+1)*places])
	}
	return (a.window-a.since)%int64(a.of.Update) == 0 || a.window >= a.until
}

// lately is a number of active users. Its mean matters for as long as a day, and longer.
type lately struct{ of *config.Active }

func (l lately) prefix() string           { return "active" }
func (l lately) remembers() time.Duration { return config.Day }

func (l lately) begin(_, _ int64) users {
	return &present{Presence: windows.NewPresence(l.of.Presence()), of: l.of}
}

func (l lately) restore(_, _, end int64, text []byte) (users, error) {
	p, err := windows.RestorePresence(l.of.Presence(), text)
	if err != nil {
		return nil, err
	}
	if ended := p.Began() + int64(l.of.Size); ended != end {
		return nil, fmt.Errorf("it is of the window that ends %s, and says %s", time.Unix(0, ended).UTC(),
			time.Unix(0, end).UTC())
	}
	return &present{Presence: p, of: l.of}, nil
}

// write appends the mean. A leaf that is closed has no number any more.
func (lately) write(text []byte, open running.Open) []byte {
	mean := int64(0)
	if len(open) > 0 {
		mean = open[0]
	}
	return binary.AppendVarint(text, mean)
}

func (lately) read(in *bytes.Reader) (running.Open, error) {
	mean, err := binary.ReadVarint(in)
	return running.Open{mean, 0}, err
}

// present are the users who were seen lately.
type present struct {
	*windows.Presence
	of     *config.Active
	window int64 // the end of the window that has begun
}

func (p *present) begin(w windows.Window) error {
	p.window = w.End
	return p.Begin(w)
}

func (p *present) visit(u windows.UserHash, has []windows.Contribution) { p.Visit(u, has) }

func (p *present) end(open []running.Open, leaf int64) (finishes bool) {
	if finishes = p.of.Finishes(p.window); finishes {
		for g, active := range p.Active() {
			open[g] = p.of.Mechanism.Add(open[g], leaf, active)
		}
	}
	return finishes
}
