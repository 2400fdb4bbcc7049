package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
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

// forget drops what streams have published that ended long ago: nothing follows from it any more. released says when
// the last entry of one was made.
func forget[S any](streams map[string]S, released func(S) time.Time) {
	var newest time.Time
	for _, s := range streams {
		if at := released(s); at.After(newest) {
			newest = at
		}
	}
	maps.DeleteFunc(streams, func(_ string, s S) bool { return newest.Sub(released(s)) > forgetAfter })
}

// An entry is facts, and what follows from them and from the entries before it. Facts are what the definition says,
// what was lost, what ended, when the entry was made, and what was drawn. Everything else is derived, by the same code
// for those who write an entry and those who check it: a writer calls [State.Settle], draws, and calls [State.Finish].

// Facts returns an entry without what is derived. It changes nothing that the entry shares. Of a window whose groups
// are found, the names stay with what was drawn for them.
func Facts(e Entry) Entry {
	old := e
	e.Reason, e.Standing, e.Rollups, e.Objectives = "", Standing{}, nil, nil
	e.Together = e.Together.facts()
	e.Continual = old.continualFacts()
	e.Groups = nil
	if old.Reason == "" || old.List == nil {
		for _, g := range old.Groups {
			g.Values = old.drawn(g)
			e.Groups = append(e.Groups, g)
		}
	}
	if l := old.List; l != nil {
		e.List = &List{Stream: l.Stream, Rules: l.Rules, Tombstones: l.Tombstones}
	}
	if d := old.Discovery; d != nil {
		e.Discovery = &Discovery{MaxGroups: d.MaxGroups, Threshold: d.Threshold, Error95: d.Error95, Rules: d.Rules,
			Found: d.Found, Tombstones: d.Tombstones}
	}
	return e
}

// continualFacts are those of the continual figures.
func (e Entry) continualFacts() (all []Continual) {
	for _, s := range e.Continual {
		all = append(all, s.facts(e))
	}
	return all
}

// drawn copies the values of a group without those that follow from a histogram.
func (e Entry) drawn(g Group) (all []Value) {
	for i, v := range g.Values {
		switch r := e.Releases[i]; {
		case r.From != "":
			v = Value{}
		case r.Buckets != nil:
			v.Value, v.Error95, v.Band = nil, nil, nil
		}
		all = append(all, v)
	}
	return all
}

// Settle derives what is known of the next entry before anything is drawn: its groups if these are found, whether it
// can be paid, which instances look at it, and what the books say after it. It does not add the entry.
func (s *State) Settle(e *Entry) error {
	if err := s.history.Settle(e); err != nil {
		return err
	}
	return s.Books.Settle(e)
}

// Finish derives what follows from what was drawn for a settled entry.
func (s *State) Finish(e *Entry) error {
	if err := s.Books.Finish(e); err != nil {
		return err
	}
	return s.history.Finish(e)
}

// Derive derives the next entry from its facts. It does not add the entry.
func (s *State) Derive(facts Entry) (Entry, error) {
	e := Facts(facts)
	if err := s.history.Settle(&e); err != nil {
		return e, err
	}
	e, err := s.Books.Derive(e)
	if err != nil {
		return e, err
	}
	return e, s.history.Finish(&e)
}

// Derive derives what the books decide about an entry, and what instances draw. The rest stays as it is.
func (b *Books) Derive(e Entry) (Entry, error) {
	e.Continual = e.continualFacts()
	if err := b.Settle(&e); err != nil {
		return e, err
	}
	return e, b.Finish(&e)
}

// Stand derives what the books say after an entry whose decision stays as it is.
func (b *Books) Stand(e Entry) (Entry, error) {
	var err error
	e.Standing, err = b.Standing(e)
	return e, err
}

// Derive derives the groups of an entry and what follows from their values. What the books decide stays as it is.
func (h *History) Derive(e Entry) (Entry, error) {
	again := Facts(e)
	again.Reason, again.Continual, again.Standing = e.Reason, e.Continual, e.Standing
	if err := h.Settle(&again); err != nil {
		return again, err
	}
	return again, h.Finish(&again)
}

// Settle finds the groups of a window.
func (h *History) Settle(e *Entry) error { return h.lists.Settle(e) }

// Finish computes the figures from histograms, the roll-ups whose periods end, what objectives add up, and what a
// discovery changes. Nothing is drawn for an entry that is withheld.
func (h *History) Finish(e *Entry) error {
	if err := e.withhold(); err != nil {
		return err
	}
	if e.Discovery != nil {
		return h.lists.Finish(e)
	}
	if err := e.Compute(); err != nil {
		return err
	}
	var err error
	e.Rollups, e.Objectives, err = h.rollups.Next(*e)
	return err
}

// withhold drops what was drawn for an entry that is withheld. It fails for an entry that is paid and has no draws.
func (e *Entry) withhold() error {
	missing := e.Discovery != nil && e.Discovery.Found == nil
	if e.Reason != "" {
		e.Together = e.Together.facts()
	}
	for g, of := range e.Groups {
		if e.Reason != "" {
			e.Groups[g] = Group{Name: of.Name}
		}
		missing = missing || len(of.Values) != len(e.Releases)
	}
	if e.Reason != "" && e.Discovery != nil {
		e.Discovery.Found = nil
	}
	if e.Reason == "" && missing {
		return fmt.Errorf("%s: nothing was drawn for some group, although it is paid for", e.Name())
	}
	return nil
}
