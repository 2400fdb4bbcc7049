package decide

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// Config is what a Core has to know from the beginning.
type Config struct {
	App string
	// Partition is that of the partials and of the ledger. The budgets that Place puts there are decided here.
	Partition int
	Place     func(budget string) int
	// Lineage returns a budget and those whose spending it has taken over, nearest first.
	Lineage func(budget string) []string
	// Editions are the definitions of all streams: those of each stream stand together, in the order of their numbers.
	// Of windows of a budget that are due at the same time, that of the first stream here is charged first.
	Editions []config.Edition
	Hasher   *windows.Hasher
	// WatchKey seals the secrets of watches. It is needed if any stream has one.
	WatchKey []byte
	// PartBytes is how much memory undecided parts may take. Parts beyond that are read again when they are needed.
	PartBytes int64
	// MergeBytes is how much memory the users of a window may take while it is merged. More users take several passes.
	MergeBytes int64
	// NoteBytes is how much memory the notes of discoveries may take: who counts for which name. More users take several
	// readings of the parts.
	NoteBytes int64
	// CheckpointEvery is the least number of ledger entries between two checkpoints.
	CheckpointEvery int64
	// Random is the source of all noise: crypto/rand.Reader, except in tests.
	Random io.Reader
	// Timed is told of draws. It may be nil.
	Timed Timer
	// Idle reports whether there is time to read parts again for discoveries that are not due, before the next Poll.
	Idle func() bool
}

// A Timer is told when the draw of a statistic begins. What it returns is called at the end.
type Timer func(statistic string) (done func())

// An Action is what the caller does before it asks for the next one: a Read, Restore, Again, Commit or Poll.
type Action any

type (
	// Read asks for other partitions of the ledger, read to their ends: [Core.Read] for each.
	Read struct{ Partitions []int }
	// Restore asks for the last snapshots under some keys, and for the progress of the last session: [Core.Restored].
	Restore struct{ Snapshots []string }
	// Again asks for parts that were read before, one after another: [Core.Part] for each.
	Again struct{ Parts []*windows.Held }
	// Commit asks for a transaction of entries, a checkpoint of the ledger before them, and snapshots:
	// [Core.Committed]. If it fails, the session ends, and the Core with it.
	Commit struct {
		Entries    []Encoded
		Checkpoint []byte // nil if none is due
		Snapshots  []attendance.Snapshot
	}
	// Poll says that nothing is due. Keep the progress, and read new parts: [Core.Message] or [Core.Lost] for each.
	Poll struct{}
)

// Encoded is an entry, and its value in the ledger.
type Encoded struct {
	Entry ledger.Entry
	Value []byte
}

// Charges are what a session has read of the partition of the ledger that it adds to.
type Charges struct {
	*ledger.State
	// Covered is how many entries the last checkpoint covers, and Size is its bytes. Grown is the bytes of the entries
	// since.
	Covered, Size, Grown int64
	// Aborted are entries that were drawn and not committed.
	Aborted []Encoded
}

// Core decides what becomes of the windows of a partition, in one session. See the package. It is not safe for
// concurrent use.
type Core struct {
	Config
	programs []*program
	editions map[string][]*program // the same by stream, in the same order
	budgets  []string              // that are decided here

	own       Charges
	others    map[int]*ledger.State // other partitions of the ledger, as far as they were read …
	fresh     map[int]bool          // … since the last Poll
	continued []Continued
	inherits  map[string]bool // budgets whose former budgets will be charged no more

	gather     *windows.Gathering
	attendance *attendance.Attendance
	watches    *watches
	notes      *notes
	priors     []*prior // of the programs
	last       mergedParts

	restored bool
	behind   bool      // trackers may have to go through decided windows again
	queue    []string  // the budgets that may have something due
	turns    []turn    // what is next of the streams of the first budget; nil if it is not known
	decision *decision // the one that has begun
	feeding  *feed     // the parts that are read, for the decision or for trackers
	batch    batch
	noting   *tallying // the discovery whose missing parts are read while nothing is due

	now     time.Time
	notices []Notice
	paused  map[string]bool // what people were told of budgets that cannot pay
	lossy   map[string]loss // by stream and discovery, while windows are incomplete
}

// New returns the Core of a session that has read its partition of the ledger, and the others of [Config.Continued].
func New(cfg Config, own Charges, others map[int]*ledger.State) (*Core, error) {
	c := &Core{Config: cfg, own: own, others: others, fresh: map[int]bool{}, inherits: map[string]bool{},
		gather: windows.NewGathering(cfg.PartBytes), editions: map[string][]*program{}, continued: cfg.Continued(),
		paused: map[string]bool{}, lossy: map[string]loss{}, behind: true}
	if c.Timed == nil {
		c.Timed = untimed
	}
	var here []config.Edition
	for _, e := range cfg.Editions {
		if cfg.Place(e.Stream.Budget.Name) != cfg.Partition {
			continue
		}
		p := newProgram(e)
		p.random = cfg.Random
		here = append(here, e)
		c.programs, c.priors = append(c.programs, p), append(c.priors, newPrior(p))
		c.editions[e.Stream.Name] = append(c.editions[e.Stream.Name], p)
		c.budgets = append(c.budgets, e.Stream.Budget.Name)
	}
	slices.Sort(c.budgets)
	c.budgets = slices.Compact(c.budgets)
	c.queue = slices.Clone(c.budgets)
	c.attendance = attendance.New(here, cfg.Editions, own.Books, c.gather)
	for i, p := range c.programs {
		p.lanes = c.attendance.Lanes[i]
	}
	c.notes = &notes{Core: c, of: map[*attendance.Lane]*tallying{}}
	var err error
	c.watches, err = newWatches(c)
	return c, err
}

// Next returns what to do before it is called again. An error that wraps [ledger.ErrUnreadable] is a privacy stop: the
// charges are unknown.
func (c *Core) Next(now time.Time) (do Action, err error) {
	c.now = now
	for do == nil && err == nil {
		switch {
		case c.feeding != nil: // the parts of a window: Again while some are absent
			do, err = c.feedOn()
		case c.decision != nil: // whose parts have been read
			err = c.finish()
		case len(c.own.Aborted) > 0: // a second draw would be a loss that nobody is charged for
			do, err = c.adopt()
		case !c.restored:
			do = Restore{c.attendance.Keys()}
		case c.batch.full():
			do = c.commit()
			c.queue, c.turns = append(c.queue[1:], c.queue[0]), nil // the others take their turns
		case c.batch.empty() && c.behind:
			err = c.goAgain()
		case len(c.queue) == 0:
			do = c.rest()
		default:
			t, ready, read := c.turn(c.queue[0])
			switch {
			case len(read) > 0: // their charges count here, or they say what was paid before
				do = Read{read}
			case ready:
				err = c.begin(t)
			case !c.batch.empty():
				do = c.commit()
				c.skip()
			default:
				c.skip()
			}
		}
	}
	return do, err
}

// skip leaves the first budget of the queue until the next Poll.
func (c *Core) skip() { c.queue, c.turns = c.queue[1:], nil }

// turn returns what is next of a budget, and whether its parts are all here. Or it says which partitions of the ledger
// have to be read first.
func (c *Core) turn(budget string) (next turn, ready bool, read []int) {
	if c.turns == nil {
		inherited, stale := c.inherited(budget)
		if len(stale) > 0 || !inherited {
			return next, false, stale
		}
		c.turns = c.turnsOf(budget)
	}
	next, ok := firstDue(c.turns)
	if !ok {
		return next, false, nil
	}
	l := next.lane
	next.state = c.gather.State(l.Stream.Name, l.Number, next.window)
	if !next.state.Ready {
		return next, false, nil
	}
	var known bool
	next.paid, known, read = c.paidElsewhere(c.programs[l.Place], next.window)
	return next, known && len(read) == 0, read
}

// rest does what is done when nothing is due: it notes more for discoveries, makes snapshots, and then polls.
func (c *Core) rest() Action {
	if again := c.notes.catchUp(); len(again) > 0 {
		return Again{again}
	}
	if due := c.attendance.Due(saveBytes); len(due) > 0 {
		c.batch.snapshots = due
		return Commit{Snapshots: due}
	}
	c.queue, c.turns, c.behind = slices.Clone(c.budgets), nil, true
	clear(c.fresh)
	return Poll{}
}

// saveBytes is how many bytes of snapshots are collected before they are committed.
const saveBytes = 8 << 20

// goAgain takes the next decided window through its trackers once more.
func (c *Core) goAgain() error {
	r := c.attendance.Behind()
	c.tellLosses()
	if r == nil {
		c.behind = false
		return nil
	}
	// Under max_windows, who counts does not depend on groups that are found.
	return c.through(r, r.Lane.Stream.Groups, nil)
}

// adopt commits an entry that an earlier session drew and could not commit. Readers of uncommitted records may have
// seen its figures, so a second draw of the same window would be a second loss that is never charged. Therefore it is
// recorded as it was first drawn, byte for byte. This session owns the transactional id, so nobody adds more.
func (c *Core) adopt() (Action, error) {
	of := c.own.Aborted[0]
	c.own.Aborted = c.own.Aborted[1:]
	if c.own.Books.Has(of.Entry) {
		return nil, nil
	}
	if err := c.enter(of.Entry, of.Value); err != nil {
		return nil, err
	}
	c.batch.add(of)
	c.batch.adopted = true
	return c.commit(), nil
}

// Read says that another partition of the ledger has been read to its end, and what its state is now.
func (c *Core) Read(partition int, state *ledger.State) {
	c.others[partition] = state
	c.fresh[partition] = true
}

// Restored gives the snapshots that there are, and what earlier sessions recorded with their progress and with the
// deletion of parts ([Core.Saved]). Parts have to be read from the recorded offset on.
func (c *Core) Restored(snapshots map[string][]byte, saved ...map[string]int64) {
	c.restored = true
	for key, err := range c.attendance.Restore(snapshots, saved...) {
		c.say(Line{Warn, "a snapshot of who has counted is left out: the parts of the last windows are read instead",
			[]Field{{"snapshot", key}, {"error", err}}})
	}
	c.tellLosses()
}

// Message takes a message of the partials. An error means that it is corrupt: then it counts as lost.
func (c *Core) Message(value []byte, offset int64, written time.Time) error {
	return c.gather.Add(value, offset, written)
}

// Lost says that messages from an offset on are gone. They were written before a moment.
func (c *Core) Lost(from int64, before time.Time) { c.gather.Lose(from, before) }

// Committed says that the transaction of the last Commit is committed, and the offset of the last entry in the ledger.
func (c *Core) Committed(last int64) {
	if len(c.batch.drawn) > 0 {
		c.own.At(last)
	}
	for _, of := range c.batch.drawn {
		if c.batch.adopted {
			c.say(Line{Info, "a window was drawn but not committed: it is committed now as it was drawn",
				[]Field{{"stream", of.Entry.Stream}, {"window_end", of.Entry.WindowEnd}}})
		}
		c.say(Decided{of.Entry})
		c.tellFound(of.Entry)
	}
	c.attendance.Keep(c.batch.snapshots)
	c.batch = batch{}
}

// Needs returns the offset at which the next session has to begin to read, if this one has read up to position. From
// there on it finds all parts of undecided windows, and those that tell who still counts in them. Saved has to be
// recorded with it.
func (c *Core) Needs(position int64) int64 {
	return min(c.gather.Needs(position), c.attendance.Needs())
}

// Saved are the ends of the windows up to which the next session needs no parts to know who has counted.
func (c *Core) Saved() map[string]int64 { return c.attendance.Saved() }

// figureBytes is roughly the memory of a figure: what its filter has learnt from earlier values, and the last values
// themselves.
const figureBytes = 16 << 10

// Bytes is how much memory is held that may not be dropped.
func (c *Core) Bytes() int64 {
	return c.attendance.Bytes() + c.notes.bytes() + figureBytes*int64(c.figures())
}

// figures is how many figures a window of each stream has that is decided here.
func (c *Core) figures() (n int) {
	for _, p := range c.programs {
		n += len(p.draws) * p.Stream.MostGroups()
	}
	return n
}

// EachOngoing says how many users each ongoing figure remembers. The numbers are private.
func (c *Core) EachOngoing(do func(stream, name string, users int)) { c.attendance.EachOngoing(do) }

// EachStream says which window of each stream is the oldest that is not decided. more says whether there is one.
func (c *Core) EachStream(do func(stream string, w windows.Window, s windows.Schedule, more bool)) {
	waiting := map[string]bool{}
	for _, p := range c.programs { // a stream's editions in order
		if waiting[p.Stream.Name] {
			continue
		}
		w, more := p.lanes.Windows.Next()
		waiting[p.Stream.Name] = more
		do(p.Stream.Name, w, p.Schedule, more)
	}
}

// together is how many windows may share a transaction. togetherBytes is how many bytes their entries may have in all
// before the transaction is committed, because they are held in memory.
const (
	together      = 64
	togetherBytes = 4 << 20
)

// batch is what the next transaction commits.
type batch struct {
	drawn      []Encoded
	adopted    bool // by an earlier session
	bytes      int
	checkpoint []byte
	snapshots  []attendance.Snapshot
}

func (b *batch) empty() bool { return len(b.drawn) == 0 }
func (b *batch) full() bool  { return len(b.drawn) == together || b.bytes >= togetherBytes }

func (b *batch) add(of Encoded) {
	b.drawn = append(b.drawn, of)
	b.bytes += len(of.Value)
}

func (c *Core) commit() Action { return Commit{Entries: c.batch.drawn, Checkpoint: c.batch.checkpoint} }

// mostCheckpoint bounds the size of a checkpoint. A partition that would need a larger one has none.
const mostCheckpoint = 64 << 20

// checkpoint adds a checkpoint of everything committed so far to the batch, if one is due: every CheckpointEvery
// entries, and only once the ledger has grown by the size of the last one. It shares a transaction with later entries,
// which only the owner of the partition can commit, and only after it has adopted what earlier sessions drew. So every
// entry that comes before these in the ledger is in the checkpoint.
func (c *Core) checkpoint() error {
	if c.own.Entries()-c.own.Covered < c.CheckpointEvery || c.own.Grown < c.own.Size {
		return nil
	}
	text, err := c.own.Checkpoint()
	if err != nil || text == nil {
		return err
	}
	c.own.Covered, c.own.Size, c.own.Grown = c.own.Entries(), int64(len(text)), 0
	if len(text) > mostCheckpoint {
		c.say(Lasting{Key: fmt.Sprintf("checkpoint of %d", c.Partition), Text: fmt.Sprintf(
			"partition %d of the ledger gets no checkpoint: it would take %d bytes, more than %d; a worker that takes "+
				"it over reads it from its last checkpoint on, which takes longer", c.Partition, len(text), mostCheckpoint)})
		return nil
	}
	c.batch.checkpoint = text
	return nil
}

// enter adds an entry that is about to be committed to the books, and to what streams have published. Then it tells
// what the entry withholds. Until when also depends on the entry itself: it may end instances.
func (c *Core) enter(e ledger.Entry, value []byte) error {
	c.own.Grown += int64(len(value))
	if err := c.own.Add(e, value, -1); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	c.tell(e)
	return nil
}
