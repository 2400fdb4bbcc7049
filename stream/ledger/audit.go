package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// Position says where a record was read.
type Position struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (p Position) String() string { return fmt.Sprintf("%s/%d@%d", p.Topic, p.Partition, p.Offset) }

func comparePositions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
}

// The faults that an audit finds.
const (
	EntryUnreadable  = "entry_unreadable"  // cannot be decoded, or contradicts itself
	ChargedTwice     = "charged_twice"     // a second entry for one window of a stream
	WrongSum         = "wrong_sum"         // spent or left does not follow from the earlier entries
	OverLimit        = "over_limit"        // paid although it did not fit
	WronglyWithheld  = "wrongly_withheld"  // withheld for its budget although it fitted
	WrongCap         = "wrong_cap"         // charged under another cap than the windows before, and not in a new era
	OutputUnreadable = "output_unreadable" // not a record of louver
	OutputUnknown    = "output_unknown"    // in no entry
	OutputDiffers    = "output_differs"    // the entry differs
	OutputTwice      = "output_twice"      // committed a second time

	CheckpointUnreadable = "checkpoint_unreadable" // cannot be decoded, or is not of this partition
	CheckpointDiffers    = "checkpoint_differs"    // does not follow from the entries

	WatchDiffers = "watch_differs" // another instance looked or was armed than follows from the earlier entries

	PriorDiffers = "prior_differs" // the measures of a window's draws do not follow from the entries before it
)

// Fault is one discrepancy.
type Fault struct {
	Kind string   `json:"kind"`
	At   Position `json:"at"`
	What string   `json:"what"`
}

func (f Fault) String() string { return fmt.Sprintf("%s: %s: %s", f.At, f.Kind, f.What) }

// Findings are the outcome of an audit.
type Findings struct {
	OK bool `json:"ok"`
	// Entries and Outputs count the records that were read, Matched the outputs that agree with their entries.
	Entries int64 `json:"entries"`
	Outputs int64 `json:"outputs"`
	Matched int64 `json:"matched"`
	// Earlier counts the outputs of windows that the checkpoints cover. They are not compared if the audit begins there.
	Earlier int64 `json:"earlier,omitempty"`
	// Checkpoints counts the checkpoints that follow from their entries.
	Checkpoints int64 `json:"checkpoints"`
	// Priors counts the windows whose measures follow from the entries before them.
	Priors int64 `json:"priors"`
	// Instances counts the armed instances of watches, each charged once, and Firings those that fired.
	Instances int64 `json:"instances"`
	Firings   int64 `json:"firings"`
	// Pending values wait for publication. Absent values are missing although later ones of their stream are published:
	// they left the output topic by retention or compaction, or were never in it.
	Pending int64 `json:"pending"`
	Absent  int64 `json:"absent"`
	// Faults are the first thousand; FaultCount counts all.
	FaultCount int64   `json:"fault_count"`
	Faults     []Fault `json:"faults"`
}

// mostFaults is how many faults are listed: each takes memory, and nobody reads more.
const mostFaults = 1000

// Audit compares a ledger with its checkpoints and with the outputs. Feed it the checkpoints, then every committed
// record of the ledger, in order within each partition, and of the output topics, in any order. Then ask for
// [Audit.Findings]. If the topics are still being written, read the ends of the output topics before those of the
// ledger, so that the entry of every output is included.
//
// It keeps a hash for each value, not the values. An Audit is not safe for concurrent use.
type Audit struct {
	books    *Books
	expected map[digest]*promise
	early    map[digest]sighting // outputs that were read before their entry
	windows  []window
	deferred map[string][]booking // entries of budgets that continue another, which may be read later
	since    map[string]time.Time // of each stream, the end of the last window that checkpoints cover, if the audit begins there
	proofs   map[int]*proof       // by partition, whose checkpoint is still to be compared
	findings Findings

	// Learner recomputes the measures of adaptive draws. If it is nil, they are not compared. Set it before the first
	// entry.
	Learner  Learner
	learning map[int]*learning // by partition
}

type digest [16]byte

// promise is the part of an entry about one output.
type promise struct {
	content digest
	window  int32
	seen    bool
}

type sighting struct {
	content digest
	at      Position
}

type window struct {
	stream       string
	end          int64
	values, seen int32
}

type booking struct {
	entry Entry // without the values of its groups
	at    Position
}

// NewAudit begins an audit.
func NewAudit() *Audit {
	return &Audit{books: NewBooks(), expected: map[digest]*promise{}, early: map[digest]sighting{}, deferred: map[string][]booking{}, since: map[string]time.Time{}, proofs: map[int]*proof{}, learning: map[int]*learning{}}
}

func (a *Audit) fault(kind string, at Position, format string, args ...any) {
	a.findings.FaultCount++
	if len(a.findings.Faults) < mostFaults {
		a.findings.Faults = append(a.findings.Faults, Fault{kind, at, fmt.Sprintf(format, args...)})
	}
}

// Entry takes the next record of the ledger.
func (a *Audit) Entry(at Position, key, value []byte) {
	a.findings.Entries++
	e, err := Decode(value)
	if err != nil {
		a.fault(EntryUnreadable, at, "%v", err)
		return
	}
	if string(key) != e.Budget {
		a.fault(EntryUnreadable, at, "%s: the key is %q; want its budget %q", e.name(), key, e.Budget)
	}
	records, err := e.Records()
	if err != nil {
		a.fault(EntryUnreadable, at, "%v", err)
		return
	}
	a.expect(e, records)
	a.prove(at, e, value)
	a.learn(at, e)
	e.Groups = e.named()
	if len(e.Continues) > 0 || len(a.deferred[e.Budget]) > 0 {
		a.deferred[e.Budget] = append(a.deferred[e.Budget], booking{e, at})
		return
	}
	a.book(booking{e, at})
}

func (a *Audit) expect(e Entry, records []record.Record) {
	w := int32(len(a.windows))
	a.windows = append(a.windows, window{stream: e.Stream, end: e.WindowEnd.UnixNano()})
	for _, r := range records {
		id := identify(r.Topic, r.ID())
		if a.expected[id] != nil {
			continue // charged twice, which the books find; the first entry counts
		}
		value := r.Value
		if e.OutputFormat == record.FormatAvro {
			value, _ = record.AvroContent(value) // of JSON that was just written: never fails
		}
		p := &promise{content: contentOf(r.Key, value), window: w}
		a.expected[id] = p
		a.windows[w].values++
		if s, found := a.early[id]; found {
			delete(a.early, id)
			a.compare(p, s, r.ID())
		}
	}
}

// Output takes a committed record of an output topic. The value of a record in Avro is its [record.AvroContent].
func (a *Audit) Output(at Position, key, value []byte) {
	a.findings.Outputs++
	var o struct {
		Schema string    `json:"schema"`
		ID     string    `json:"id"`
		Stream string    `json:"stream"`
		End    time.Time `json:"window_end"`
	}
	if err := json.Unmarshal(value, &o); err != nil || o.Schema != record.Schema || o.ID == "" {
		a.fault(OutputUnreadable, at, "want JSON of schema %s with an id", record.Schema)
		return
	}
	if a.earlier(o.Stream, o.End) {
		a.findings.Earlier++
		return
	}
	id, s := identify(at.Topic, o.ID), sighting{contentOf(key, value), at}
	if p := a.expected[id]; p != nil {
		a.compare(p, s, o.ID)
		return
	}
	if before, found := a.early[id]; found {
		a.fault(OutputTwice, at, "%s was already published at %s", o.ID, before.at)
		return
	}
	a.early[id] = s
}

func (a *Audit) compare(p *promise, s sighting, id string) {
	w := &a.windows[p.window]
	switch {
	case p.seen:
		a.fault(OutputTwice, s.at, "%s was published before", id)
		return
	case p.content != s.content:
		a.fault(OutputDiffers, s.at, "%s is not what its ledger entry says", id)
	default:
		a.findings.Matched++
	}
	p.seen = true
	w.seen++
}

func identify(topic, id string) digest { return contentOf([]byte(topic), []byte(id)) }

func contentOf(key, value []byte) digest {
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(key))))
	h.Write(key)
	h.Write(value)
	return digest(h.Sum(nil)[:len(digest{})])
}

// book checks an entry against the books so far and adds it to them.
func (a *Audit) book(b booking) {
	e := b.entry
	if a.books.Has(e.Stream, e.Epoch, e.WindowEnd) {
		a.fault(ChargedTwice, b.at, "%s: already has an entry", e.name())
	}
	a.compareCap(b)
	again := e
	again.Watches = slices.Clone(e.Watches)
	if err := a.books.Settle(&again); err != nil {
		a.fault(EntryUnreadable, b.at, "%v", err)
		return
	}
	switch {
	case e.Reason == "" && again.Reason != "":
		a.fault(OverLimit, b.at, "%s: budget %q cannot pay for it within epsilon %s per %s", e.name(), e.Budget, e.Limit.Epsilon, budget.FormatPer(e.Limit.Per))
	case e.Reason != "" && again.Reason == "":
		a.fault(WronglyWithheld, b.at, "%s: budget %q could pay for it within epsilon %s per %s", e.name(), e.Budget, e.Limit.Epsilon, budget.FormatPer(e.Limit.Per))
	}
	a.compareWatches(b, again.Watches)
	standing, err := a.books.Standing(e)
	if err == nil {
		a.compareStanding(b, standing)
		err = a.books.Add(e)
	}
	if err != nil {
		a.fault(EntryUnreadable, b.at, "%v", err)
	}
}

func (a *Audit) compareStanding(b booking, want Standing) {
	got := b.entry.Standing
	for _, c := range []struct {
		name      string
		got, want *decimal.Decimal
	}{
		{"stream_epsilon_spent", got.StreamSpent, want.StreamSpent},
		{"budget_epsilon_spent", got.BudgetSpent, want.BudgetSpent},
	} {
		if g, w := text(c.got), text(c.want); g != w {
			a.fault(WrongSum, b.at, "%s: %s is %s, but the entries add up to %s", b.entry.name(), c.name, g, w)
		}
	}
	if got.WindowsLeft != want.WindowsLeft {
		a.fault(WrongSum, b.at, "%s: budget_windows_left is %d, but the entries give %d", b.entry.name(), got.WindowsLeft, want.WindowsLeft)
	}
}

// Findings ends the audit.
func (a *Audit) Findings() Findings {
	a.bookDeferred()
	a.unproven()
	var unknown []Position
	for _, s := range a.early {
		unknown = append(unknown, s.at)
	}
	slices.SortFunc(unknown, comparePositions)
	for _, at := range unknown {
		a.fault(OutputUnknown, at, "no ledger entry has it")
	}
	clear(a.early)
	a.findings.Pending, a.findings.Absent = a.unpublished()
	a.findings.OK = a.findings.FaultCount == 0
	if a.findings.Faults == nil {
		a.findings.Faults = []Fault{}
	}
	return a.findings
}

// unpublished counts the values that were not seen: as absent if their stream has published later ones, else as
// pending.
func (a *Audit) unpublished() (pending, absent int64) {
	latest := map[string]int64{}
	for _, w := range a.windows {
		if w.seen > 0 {
			latest[w.stream] = max(latest[w.stream], w.end)
		}
	}
	for _, w := range a.windows {
		if n, published := latest[w.stream]; published && w.end < n {
			absent += int64(w.values - w.seen)
		} else {
			pending += int64(w.values - w.seen)
		}
	}
	return pending, absent
}

// bookDeferred books the entries of budgets that continue others, after the entries of those.
func (a *Audit) bookDeferred() {
	for len(a.deferred) > 0 {
		name := a.readyBudget()
		list := a.deferred[name]
		delete(a.deferred, name)
		for _, b := range list {
			a.book(b)
		}
	}
}

// readyBudget picks, by name, a deferred budget whose predecessors are booked. If they form a cycle, it picks any.
func (a *Audit) readyBudget() string {
	names := make([]string, 0, len(a.deferred))
	for name := range a.deferred {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		waits := func(b booking) bool {
			return slices.ContainsFunc(b.entry.Continues, func(old string) bool { return old != name && len(a.deferred[old]) > 0 })
		}
		if !slices.ContainsFunc(a.deferred[name], waits) {
			return name
		}
	}
	return names[0]
}

// equal reports whether two standings are the same.
func (s Standing) equal(t Standing) bool {
	return text(s.StreamSpent) == text(t.StreamSpent) && text(s.BudgetSpent) == text(t.BudgetSpent) && s.WindowsLeft == t.WindowsLeft
}

// text writes a sum for people.
func text(d *decimal.Decimal) string {
	if d == nil {
		return "no bound"
	}
	return d.String()
}
