// Package release is the second stage: it merges the parts of all partitions of a window, asks the budget, draws every
// figure once, and records the charge and the figures in one ledger record, by a fenced transaction.
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
	// Editions are the definitions of all streams, in the order of their numbers.
	Editions []config.Edition
	Hasher   *windows.Hasher
	// WatchKey seals the secrets of watches. It is needed if any stream has one.
	WatchKey []byte
	// Lineage returns a budget and those whose spending it has taken over, nearest first.
	Lineage func(budget string) []string
	// Place returns the partition for a budget's windows, in the partials and in the ledger.
	Place func(budget string) int
	// Drawn reads the ledger with the records of aborted transactions.
	Drawn *fetch.Client
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
