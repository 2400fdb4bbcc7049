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
//	Open     read the last snapshots and the progress: Opened
//	Again    read parts again that are not held in memory: Part for each
//	Commit   commit a transaction: Committed. If that fails, the session ends, and the Core with it
//	Poll     nothing is due: keep the progress, delete parts that nobody needs, and read new parts: Message or Lost
//
// # One decision
//
// Follow a window through core.go, feed.go and decision.go:
//
//  1. Next takes the first budget of the queue, and turn says what is due first of all its streams and discoveries
//     (turn.go). If its parts are not all here, the budget waits: the order of charges depends on the schedule alone.
//  2. begin fills in what the definition says, and has [ledger.State.Settle] say whether the entry may be drawn.
//     Settling looks at earlier entries, the price and the limit, never at data.
//  3. The parts are fed into a [windows.Merger], or those of a period into a [windows.Tally], in as many passes as the
//     users take. This is the only place where a decision is interrupted: where the payload of a part is not held,
//     Next asks for it. Trackers see each user meanwhile, even if the entry is withheld (package attendance).
//  4. fed draws: the sums of totals, then watches and releases on change, then the releases, or the names of a
//     discovery.
//  5. finish has [ledger.State.Finish] derive what follows from the draws. The entry joins the batch, and the state
//     learns it, so the next window of the budget is settled behind it.
//
// A batch is one transaction of up to 64 entries. It is committed when it is full, or when its budget has nothing more
// that is ready. Then the next budget has its turn. A checkpoint of the ledger goes in front of the entries of a batch,
// so it covers committed entries only.
//
// # After a crash
//
// The Core is gone, and all that it had learnt. Whatever happened, the next session finds one of these:
//
//   - The transaction is committed. Then its entries are in the ledger, which the session has read before it has a
//     Core.
//   - It is aborted, and its entries are still in the log, where readers of uncommitted records see them. They come
//     first ([Charges.Aborted]) and are committed byte for byte, one transaction each. A second draw of the same window
//     would be a loss that nobody is charged for.
//   - Nothing of it was written. Then nobody has seen what was drawn, and the window is drawn again.
//
// Who has counted under max_windows and in totals comes back from snapshots, and from the parts of the windows since
// then, which go through their trackers once more before anything new is decided. The notes of discoveries are made
// again from the parts (notes.go). Secrets of watches are in the entries, sealed (seal.go). What adaptive draws have
// learnt follows from the figures in the ledger (prior.go). Offsets are recorded after what they rely on: [Core.Needs]
// and [Core.Saved] name only what committed snapshots replace.
//
// A fenced session commits nothing, so it does no harm that it still decides.
//
// # Scripts
//
// testdata/scripts tells what happens over several windows, and when something goes wrong: what users send, and what is
// decided, charged, adopted or lost. Begin with crash, then budgets, max_windows and discovery. script_test.go says
// what the words mean, and how to review a script that was written anew.
package decide
