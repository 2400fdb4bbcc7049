// Package release is the second stage: it merges the parts of all partitions of a window, asks the budget, draws every
// figure once, and records the charge and the figures in one ledger record, by a fenced transaction.
//
// Package decide decides: it is a core without Kafka, a clock or a log. This package is the shell around it. It reads
// the ledger and the parts, commits transactions, keeps the progress, deletes parts, and tells people what they have to
// know.
//
// It never waits for what cannot come. If parts of a window were lost, the window is released without them and marked
// incomplete. A draw whose transaction was aborted is still in the ledger's log, where readers of uncommitted records
// see it. It is committed again unchanged, and never drawn again.
//
// Watches look at every window once it is merged. An instance is armed in the entry of the first window that it looks
// at, with its charge and its sealed secret, and every entry says what the instance did. So if an aborted entry is
// committed again, it holds the outcome that others may have seen. Nobody has seen an entry that was never written.
//
// All windows that a budget pays for come through one partition, and one worker decides them in the order in which they
// are due. Its decisions follow from the ledger alone. Whether a window is released, when, and for which groups never
// depends on what anyone sent.
package release

import (
	"fmt"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// Release is the stage. Fields must not change while it runs.
type Release struct {
	stage.Env
	// Editions are the definitions of all streams: those of each stream stand together, in the order of their numbers.
	Editions []config.Edition
	Hasher   *windows.Hasher
	// WatchKey seals the secrets of watches. It is needed if any stream has one.
	WatchKey []byte
	// Lineage returns a budget and those whose spending it has taken over, nearest first.
	Lineage func(budget string) []string
	// Place returns the partition for a budget's windows, in the partials and in the ledger.
	Place func(budget string) int
	// Uncommitted reads the ledger with the records of aborted transactions.
	Uncommitted *fetch.Client
	// State holds the snapshots of trackers, in the partitions of their budgets. It is needed if any stream has
	// max_windows or a running total.
	State *progress.Log
	// PartBytes is how much memory a worker's undecided parts may take. Parts beyond that are read again when they are
	// needed.
	PartBytes int64
	// MergeBytes is how much memory a worker may use for the users of the window that it merges. More users take
	// several passes.
	MergeBytes int64
	// NoteBytes is how much memory a worker may use to note who counts for what, until its discoveries are due. More
	// users take several readings of the parts.
	NoteBytes int64
	// Remembers is told how much memory a worker takes beside PartBytes and MergeBytes, for who has counted and for
	// what its figures have learnt. It may be nil. Calls for one partition come one after another. Calls for several
	// partitions may come at once.
	Remembers func(partition int, bytes int64)
	// CheckpointEvery is the least number of ledger entries between two checkpoints.
	CheckpointEvery int64
	// Group is the membership of the partials' consumer group.
	Group group.Config
}

// worker owns one partition, in one session after another.
type worker struct {
	*Release
	at         stage.Partition
	membership *stage.Membership
}

// remembers reports how many bytes are held that may not be dropped.
func (w *worker) remembers(bytes int64) {
	if w.Remembers != nil {
		w.Remembers(w.at.Number, bytes)
	}
}

// keepEvery is how often the progress is written.
const keepEvery = 5 * time.Second

// progressRecord says how far the parts have been read: everything that an undecided window needs is at Offset or
// above, given what is saved.
type progressRecord struct {
	Offset int64 `json:"offset"`
	// TopicID is the id of the topic that the offset is of; "" if the broker gives none.
	TopicID string `json:"topic_id,omitempty"`
	// LostAt is when the loss was noticed, if the topic had been recreated, as long as a window needs the new one from
	// its beginning.
	LostAt *time.Time `json:"lost_at,omitempty"`
	// Saved is the end of the window up to which a tracker needs no parts, because a snapshot says who has counted, or
	// because the tracker began there. It is in Unix nanoseconds, by the key of the tracker's snapshots.
	Saved map[string]int64 `json:"saved,omitempty"`
}

// of reports whether the record may be of the topic with an id.
func (r progressRecord) of(id string) bool { return r.TopicID == "" || id == "" || r.TopicID == id }

func (w *worker) progressKey() string { return fmt.Sprintf("release/%d", w.at.Number) }
