package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrCheckpoint marks a checkpoint that cannot be used, or that does not fit the ledger. The ledger is then read from
// its first entry.
var ErrCheckpoint = errors.New("the checkpoint does not fit")

// State is the state after the entries of one partition of the ledger: the books, and what streams have published
// lately. It depends on the entries only, and so does its [State.Checkpoint], byte for byte.
//
// A State is not safe for concurrent use.
type State struct {
	Books *Books

	app       string
	partition int
	history   *History
	entries   int64
	offset    int64  // of the last entry; −1 if none or unknown
	chain     digest // the digest of all entries, as a chain …
	before    digest // … and of all but the last

	// awaits says that the state comes from a checkpoint whose last entry has not been read yet. unproven says that it
	// comes from a checkpoint and that entries are still being read.
	awaits, unproven bool
	// witness is the mark of a checkpoint that was ignored. seen says that the entries have reached it.
	witness *mark
	seen    bool
}

// History is what streams have published, as far as later entries follow from it: names that were found, sums of
// histograms over periods that are not over, and the values that draws learn from. It is not safe for concurrent use.
type History struct {
	lists   *Lists
	rollups *Rollups
	lately  *Lately
}

// NewHistory begins before the first entry of a partition.
func NewHistory() *History { return &History{NewLists(), NewRollups(), NewLately()} }

// Recent lists what a stream has published lately: see [Lately.Of].
func (h *History) Recent(stream string) []Past { return h.lately.Of(stream) }

// Add adds what the next entry published.
func (h *History) Add(e Entry) error {
	h.lately.Add(e)
	return errors.Join(h.rollups.Add(e), h.lists.Add(e))
}

// mark is the position of a checkpoint's state.
type mark struct {
	entries int64
	chain   digest
}

// NewState makes a state that begins with the first entry of a partition.
func NewState(app string, partition int) *State {
	return &State{Books: NewBooks(), app: app, partition: partition, history: NewHistory(), offset: -1}
}

// Entries returns the number of entries in the state.
func (s *State) Entries() int64 { return s.entries }

// History is what the streams of the partition have published. The caller must not add to it.
func (s *State) History() *History { return s.history }

// Recent lists what a stream has published lately: see [Lately.Of].
func (s *State) Recent(stream string) []Past { return s.history.Recent(stream) }

// Lists are the names that discoveries have found. The caller must not add to them.
func (s *State) Lists() *Lists { return s.history.lists }

// Partition is the number of the partition.
func (s *State) Partition() int { return s.partition }

// From returns the offset from which to read the partition.
func (s *State) From() int64 { return max(0, s.offset) }

// Add adds the next entry with its record's value and offset, or −1 for an offset that is not known yet.
//
// A state from a checkpoint needs the checkpoint's last entry again and compares it. It then compares the sums in this
// entry and all later ones with its books. If they differ, it returns an [ErrCheckpoint].
func (s *State) Add(e Entry, value []byte, offset int64) error {
	if s.awaits {
		return s.resume(e, value, offset)
	}
	if s.unproven && s.Books.complete(e) {
		want, err := s.Books.Standing(e)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if !e.Standing.equal(want) {
			return s.misfit("%s says that the stream has spent %s and its budget %s, the checkpoint gives %s and %s",
				e.Name(), text(e.Standing.StreamSpent), text(e.Standing.BudgetSpent), text(want.StreamSpent),
				text(want.BudgetSpent))
		}
	}
	if err := s.Books.Add(e); err != nil {
		return err
	}
	if err := s.history.Add(e); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	s.entries++
	s.before, s.chain, s.offset = s.chain, link(s.chain, value), offset
	s.seen = s.seen || s.witness != nil && *s.witness == mark{s.entries, s.chain}
	return nil
}

// resume compares the checkpoint's last entry with the first one read.
func (s *State) resume(e Entry, value []byte, offset int64) error {
	if offset != s.offset || link(s.before, value) != s.chain {
		return s.misfit("the entry at offset %d is not the one that the checkpoint ends with", s.offset)
	}
	if s.Books.complete(e) {
		if have := s.Books.standing(e); !e.Standing.equal(have) {
			return s.misfit("after %s the stream had spent %s and its budget %s, the checkpoint says %s and %s",
				e.Name(), text(e.Standing.StreamSpent), text(e.Standing.BudgetSpent), text(have.StreamSpent),
				text(have.BudgetSpent))
		}
	}
	s.awaits = false
	return nil
}

func (s *State) misfit(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCheckpoint}, args...)...)
}

// link returns the digest of a chain with one more entry.
func link(chain digest, value []byte) digest {
	h := sha256.New()
	h.Write(chain[:])
	h.Write(value)
	return digest(h.Sum(nil)[:len(digest{})])
}

// At sets the offset of the last entry once it is known.
func (s *State) At(offset int64) { s.offset = offset }

// Instead says that the state is read from the first entry because a checkpoint, whose state is of, did not fit. Done
// then checks that all entries which that checkpoint covers were read.
func (s *State) Instead(of *State) { s.witness = &mark{of.entries, of.chain} }

// Done ends the reading. It returns an [ErrCheckpoint] if the state comes from a checkpoint whose last entry was not
// read. It returns an [ErrUnreadable], and so causes a privacy stop, if entries that a checkpoint covers are missing.
// A checkpoint is committed in one transaction with later entries, so the ledger once had those entries, and their
// charges are now unknown.
func (s *State) Done() error {
	switch {
	case s.awaits:
		return s.misfit("the partition ends before offset %d, where the checkpoint's last entry was", s.offset)
	case s.witness != nil && !s.seen:
		return fmt.Errorf("%w: a checkpoint covers %d entries of partition %d, but some of those are missing (it has "+
			"%d entries now); what the missing ones charged is unknown; the topic must never be deleted or recreated",
			ErrUnreadable, s.witness.entries, s.partition, s.entries)
	}
	s.unproven, s.witness = false, nil
	return nil
}

// Unlike describes the first difference between the state of a checkpoint and the state of the entries that it covers.
func (s *State) Unlike(entries *State) string {
	if s.chain != entries.chain || s.offset != entries.offset {
		return fmt.Sprintf("it was made of other entries, the last at offset %d and not %d", s.offset, entries.offset)
	}
	if have, want := s.Books.Budgets(), entries.Books.Budgets(); !slices.Equal(have, want) {
		return fmt.Sprintf("it has the budgets %q, the entries have %q", have, want)
	}
	for _, name := range s.Books.Budgets() {
		have, want := s.Books.accounts[name].Total(), entries.Books.accounts[name].Total()
		if have, want := text(epsilon(have)), text(epsilon(want)); have != want {
			return fmt.Sprintf("budget %q has spent epsilon %s in all, the entries give %s", name, have, want)
		}
	}
	return "the sums of all budgets are right, but windows, limits or figures differ"
}

// digest is a SHA-256, cut to 128 bits.
type digest [16]byte

// Resume reads the state of a partition: from its last checkpoint, or from its first entry if checkpoint is nil or does
// not fit. ignored is told why a checkpoint does not fit. read must add the partition's entries from [State.From] on,
// and end with [State.Done].
func Resume(app string, partition int, checkpoint []byte, read func(*State) error, ignored func(error)) error {
	var left *State
	if checkpoint != nil {
		s, err := Restore(checkpoint, app, partition)
		if err == nil {
			left = s
			err = read(s)
		}
		if !errors.Is(err, ErrCheckpoint) {
			return err
		}
		ignored(err)
	}
	s := NewState(app, partition)
	if left != nil {
		s.Instead(left)
	}
	return read(s)
}

// forgetEvery is the number of entries between two searches for streams that have ended.
const forgetEvery = 1000

// forgetAfter is how long after its last entry a stream counts as ended. That is judged by when entries were made,
// since windows of streams that catch up may lie far behind those of others.
const forgetAfter = 30 * 24 * time.Hour
