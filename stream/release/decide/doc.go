// Package decide is the core of the second stage. It decides the windows of the budgets in one partition: it settles
// each window with its budget, merges its parts, draws every figure once, and says what to commit. It has no Kafka, no
// clock, no goroutine, no log and no metric. So what it does follows from what it is told, and from noise.
//
// # One session
//
// A [Core] is one session of one partition. Package release is its shell, which owns the transactional id. It asks
// [Core.Next] what to do, does that, tells the Core what came of it, and asks again:
//
//	Read     read other partitions of the ledger to their ends: Read for each
//	Restore  read the last snapshots and the progress: Restored
//	Again    read parts again that are not held in memory: Part for each
//	Commit   commit a transaction: Committed. If that fails, the session ends, and the Core with it
//	Poll     nothing is due: keep the progress, delete parts that nobody needs, and read new parts: Message or Lost
//
// # One decision
//
// Follow a window, in this order:
//
//	Next      core.go      takes the first budget of the queue
//	turn      core.go      says which of its windows and periods is due first (turn.go), and whether its parts are here
//	begin     decision.go  fills in what the definition says (program.go), and settles the entry with the budget
//	through   feed.go      feeds the parts into a merger
//	fed       decision.go  draws (watches.go, program.go)
//	finish    decision.go  derives what follows, and adds the entry to the batch
//	commit    core.go      commits the batch
//
// turn: if the parts of what is due first are not here, the budget waits, even if a later window is complete. So the
// order of charges depends on the schedule alone. What is due at the same time is charged in the order of the streams'
// names, discoveries first.
//
// begin: [ledger.State.Settle] looks at earlier entries, the price and the limit, and never at data.
//
// through: the parts of a window go into a [windows.Merger], and those of a period into a [windows.Tally], in as many
// passes as the users take. This is the only place where a decision is interrupted: where the payload of a part is not
// held, Next asks for it. Trackers see each user meanwhile, even if the entry is withheld (package attendance). If
// nothing is drawn from the parts, and no tracker has to see the users, this step and the next are left out.
//
// fed: the order is ongoing figures, then watches and releases on change, then the releases. Or it is the names of a
// discovery.
//
// finish: [ledger.State.Finish] derives. Then the state learns the entry, so that the next window of the budget is
// settled behind it.
//
// A batch is one transaction of up to 64 entries. It is committed when it is full, or when its budget has nothing more
// that is ready. Then the next budget has its turn. A checkpoint of the ledger goes in front of the entries of a batch,
// so it covers committed entries only.
//
// An edit of the streams file changes nothing in a session. Each definition decides the windows of its own schedule,
// and a new one begins at a boundary ahead of time (package control). The stage then ends and begins again with both.
//
// # After a crash
//
// The Core is gone, and all that it had learnt. Whatever happened, the next session finds one of these:
//
//   - The transaction is committed. Then its entries are in the ledger, which the session has read before it has a
//     Core.
//   - It is aborted, and its entries are still in the log, where readers of uncommitted records see them. They come
//     first ([Charges.Aborted]) and are committed byte for byte, one transaction each. A second draw of the same window
//     would be a loss of privacy that nobody is charged for.
//   - Nothing of it was written. Then nobody has seen what was drawn, and the window is drawn again.
//
// Entries are written in order. If only the first ones of a transaction were written, they are adopted, and the others
// are drawn again.
//
// Who has counted under max_windows and in totals comes back from snapshots, and from the parts of the windows since
// then, which go through their trackers once more before anything new is decided. The notes of discoveries are made
// again from the parts (notes.go). Secrets of watches are in the entries, sealed (seal.go). What adaptive draws have
// learnt follows from the figures in the ledger (prior.go). Progress is never ahead of the snapshots: [Core.Needs] and
// [Core.Saved] give up only those parts that a committed snapshot replaces.
//
// A fenced session commits nothing, so it does no harm that it still decides.
//
// # Scripts
//
// testdata/scripts tells what happens over several windows, and when something goes wrong: what users send, and what is
// decided, charged, adopted or lost. Begin with crash, then budgets, max_windows and discovery. script_test.go says
// what the words mean, and how to review a script that was written anew.
package decide
