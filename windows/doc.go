// Package windows holds the events of event-time windows: which windows a moment falls in, the [Bag] that keeps at
// most one contribution a user, and the [Part] that a sealed bag becomes and that merges with others. It knows nothing of
// Kafka, of noise or of budgets.
//
// The way of an event through this package:
//
//  1. [Schedule.Containing] says which windows its time falls in.
//  2. [Hasher.User] turns the user's id into a keyed hash; from there on nobody has a name.
//  3. [Bag.Add] puts it into the bag of (stream, slice, partition). A slice is as long as the step from one window to the
//     next: a tumbling window is one, a hopping window several.
//  4. From time to time [Bag.Seal] makes the bags' payloads, and [Part.Messages] cuts them into messages. A [Mark] follows,
//     which says which records they hold, and which windows are cut there.
//  5. The reader of these messages collects them in a [Gathering]. It tells when a window is complete, and when something
//     of it is gone. The payloads of a window's parts are put together in a [Merger], in passes over ranges of the hashes
//     if there are many users. Its [Merger.Sample] is all that a mechanism sees.
//
// # One contribution a user
//
// What a mechanism promises rests on the sensitivity of the samples: adding or removing everything that one user sent
// changes at most MaxGroups samples of a window, each by one value. Which value and which groups depends on that
// user's records alone, and neither on their order nor on how they are spread over partitions:
//
//   - Of a user's records in one group the [Policy] chooses one. Every policy is the least (or greatest) element of a
//     total order of records, so the choice among chosen ones is the choice among all.
//   - Of all groups in which a user has a record, the MaxGroups with the least keyed hash of (user, window start,
//     group) count. A group among the least of all is also among the least of every partition that has seen it, from
//     its first record on; so dropping the others early loses nothing, and merging is exact.
//
// Parts always carry the users' hashes, even if the definition says that a user's records are all in one partition. Without
// them, a user with records in two parts would count twice and the promise would be broken. Adding partitions moves users,
// and for records that were written before the service began nobody knows when that was. Besides, most windows are read in
// several pieces, which have users in common whatever the partitions are.
//
// # Units
//
// Times are Unix nanoseconds; windows begin and end on whole seconds. Values are indices of the stream's grid: 0…N,
// and −1 and N+1 for what lies beyond the bounds.
package windows
