package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ErrCheckpoint marks a checkpoint that cannot be used, or that does not fit the ledger. The ledger is then read from its
// first entry.
var ErrCheckpoint = errors.New("the checkpoint does not fit")

// Fold is the state after the entries of one partition of the ledger: the books, and what streams have published
// lately. It depends on the entries only, and so does its [Fold.Checkpoint], byte for byte.
//
// A Fold is not safe for concurrent use.
type Fold struct {
	Books *Books

	app       string
	partition int
	recent    map[string]*recent
	newest    time.Time // the latest end of a window; earlier versions read it from checkpoints
	entries   int64
	offset    int64  // of the last entry; −1 if none or unknown
	chain     digest // the digest of all entries, as a chain …
	before    digest // … and of all but the last

	// awaits says that the fold comes from a checkpoint whose last entry has not been read yet. unproven says that it
	// comes from a checkpoint and that entries are still being read.
	awaits, unproven bool
	// witness is the mark of a checkpoint that was ignored. seen says that the entries have reached it.
	witness *mark
	seen    bool
}

// mark is the position of a checkpoint's fold.
type mark struct {
	entries int64
	chain   digest
}

// recent holds what a stream has published lately, in the order of the ledger.
type recent struct {
	windows  []Past
	every    time.Duration
	released time.Time // when its last entry was made
}

// NewFold makes a fold that begins with the first entry of a partition.
func NewFold(app string, partition int) *Fold {
	return &Fold{Books: NewBooks(), app: app, partition: partition, recent: map[string]*recent{}, offset: -1}
}

// Entries returns the number of entries in the fold.
func (f *Fold) Entries() int64 { return f.entries }

// From returns the offset from which to read the partition.
func (f *Fold) From() int64 { return max(0, f.offset) }

// Add adds the next entry with its record's value and offset, or −1 for an offset that is not known yet.
//
// A fold from a checkpoint needs the checkpoint's last entry again and compares it. It then compares the sums in this
// entry and all later ones with its books. If they differ, it returns an [ErrCheckpoint].
func (f *Fold) Add(e Entry, value []byte, offset int64) error {
	if f.awaits {
		return f.resume(e, value, offset)
	}
	if f.unproven && f.Books.complete(e) {
		want, err := f.Books.Standing(e)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if !e.Standing.equal(want) {
			return f.misfit("%s says that the stream has spent %s and its budget %s, the checkpoint gives %s and %s", e.name(),
				text(e.Standing.StreamSpent), text(e.Standing.BudgetSpent), text(want.StreamSpent), text(want.BudgetSpent))
		}
	}
	if err := f.Books.Add(e); err != nil {
		return err
	}
	f.publish(e)
	f.before, f.chain, f.offset = f.chain, link(f.chain, value), offset
	f.seen = f.seen || f.witness != nil && *f.witness == mark{f.entries, f.chain}
	return nil
}

// resume compares the checkpoint's last entry with the first one read.
func (f *Fold) resume(e Entry, value []byte, offset int64) error {
	if offset != f.offset || link(f.before, value) != f.chain {
		return f.misfit("the entry at offset %d is not the one that the checkpoint ends with", f.offset)
	}
	if f.Books.complete(e) {
		if have := f.Books.standing(e); !e.Standing.equal(have) {
			return f.misfit("after %s the stream had spent %s and its budget %s, the checkpoint says %s and %s", e.name(),
				text(e.Standing.StreamSpent), text(e.Standing.BudgetSpent), text(have.StreamSpent), text(have.BudgetSpent))
		}
	}
	f.awaits = false
	return nil
}

func (f *Fold) misfit(format string, args ...any) error {
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
func (f *Fold) At(offset int64) { f.offset = offset }

// Instead makes the fold, which is read from the first entry, check that it has all entries of a checkpoint that did
// not fit.
func (f *Fold) Instead(of *Fold) { f.witness = &mark{of.entries, of.chain} }

// Done ends the reading. It returns an [ErrCheckpoint] if the fold comes from a checkpoint whose last entry was not
// read. It returns an [ErrUnreadable], and so causes a privacy stop, if entries that a checkpoint covers are missing. A
// checkpoint is committed in one transaction with later entries, so the ledger once had those entries, and their
// charges are now unknown.
func (f *Fold) Done() error {
	switch {
	case f.awaits:
		return f.misfit("the partition ends before offset %d, where the checkpoint's last entry was", f.offset)
	case f.witness != nil && !f.seen:
		return fmt.Errorf("%w: a checkpoint tells of %d entries in partition %d that are not all there; the partition has %d now: what the others charged is not known; the ledger must never be deleted or made anew",
			ErrUnreadable, f.witness.entries, f.partition, f.entries)
	}
	f.unproven, f.witness = false, nil
	return nil
}

// Recent lists what a stream has published lately, in the order of the ledger: everything that its next draws may learn
// from.
func (f *Fold) Recent(stream string) []Past {
	if r := f.recent[stream]; r != nil {
		return r.windows
	}
	return nil
}

// publish counts an entry, and keeps what later draws of the stream may learn from it.
func (f *Fold) publish(e Entry) {
	f.keep(e)
	if f.entries++; f.entries%forgetEvery == 0 {
		f.forget()
	}
}

// keep does so only for streams with entries whose draws have learnt.
func (f *Fold) keep(e Entry) {
	if e.WindowEnd.After(f.newest) {
		f.newest = e.WindowEnd
	}
	r := f.recent[e.Stream]
	switch {
	case e.Reason == "" && e.Prior == nil:
		delete(f.recent, e.Stream)
		return
	case r == nil && e.Reason != "":
		return
	case r == nil:
		r = &recent{}
		f.recent[e.Stream] = r
	}
	var names *series
	if n := len(r.windows); n > 0 {
		names = r.windows[n-1].of
	}
	p := published(e, names)
	r.windows, r.every, r.released = append(r.windows, p), e.Every, e.ReleasedAt
	if from := r.from(p.End); r.windows[0].End < from {
		r.windows = slices.DeleteFunc(r.windows, func(p Past) bool { return p.End < from })
	}
}

// from returns the end of the first window from which the draws of the window with this end learn.
func (r *recent) from(end int64) int64 { return LearnsFrom(end/int64(r.every)) * int64(r.every) }

// forgetEvery is the number of entries between two searches for streams that have ended.
const forgetEvery = 1000

// forgetAfter is how long after its last entry a stream counts as ended. That is judged by when entries were made, since
// windows of streams that catch up may lie far behind those of others.
const forgetAfter = 30 * 24 * time.Hour

// forget drops what long-ended streams published: nothing learns from it any more.
func (f *Fold) forget() {
	var newest time.Time
	for _, r := range f.recent {
		if r.released.After(newest) {
			newest = r.released
		}
	}
	maps.DeleteFunc(f.recent, func(_ string, r *recent) bool { return newest.Sub(r.released) > forgetAfter })
}
