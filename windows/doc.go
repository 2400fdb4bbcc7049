// Package windows gathers events into event-time windows. It says which windows a moment falls into. Its [Bag] keeps
// one contribution for each user and group. A sealed bag becomes a [Part], and parts merge into the sample of a window.
// The package knows nothing of Kafka, noise or budgets.
//
// An event goes through this package in five steps:
//
//  1. [Schedule.Containing] says which windows its time falls in.
//  2. [Hasher.User] turns the user's id into a keyed hash. From here on there are no names.
//  3. [Bag.Put] puts it into the bag of its (stream, slice, partition). A slice is as long as the step from one window
//     to the next: a tumbling window has one slice, a hopping window several. A bag is a hash table of users: while
//     events come in, nobody needs an order.
//  4. From time to time [Bag.Seal] makes payloads of the bags, and [Part.Messages] splits them into messages. A [Mark]
//     follows. It says which records the parts hold, and which windows are cut there.
//  5. The reader of these messages collects them in a [Gathering]. This tells when a window is complete, and whether
//     some of it is lost. A [Merger] merges the payloads of a window's parts, in passes over ranges of the hashes if
//     there are many users. Here order matters: the values of each group go into an ordered multiset, a B-tree, in
//     which the passes meet. A mechanism sees only its [Merger.Sample].
//
// # One contribution a user
//
// The promise of a mechanism rests on the sensitivity of the samples: adding or removing everything that one user sent
// changes at most MaxGroups samples of a window, each by one value. Which value and which groups depends only on that
// user's records. Their order and their spread over partitions do not matter:
//
//   - The [Policy] chooses one of a user's records in a group. Every policy that does so takes the least (or greatest)
//     element of a total order, so choosing among records already chosen gives the same result as choosing among all.
//   - Or the policy adds them up: the user's one value is then the sum, the number or the mean, and is clipped to the
//     bounds after adding. Whatever the user sends, it stays one value within the bounds. It is made of each record
//     below the cut once, so it depends on that user's records and on the cuts alone: see line.go.
//   - Among all groups in which a user has a record, the MaxGroups with the least keyed hash of (user, window start,
//     group) count. A group that is among the least of all is also among the least in every partition that has seen it,
//     from its first record on. So dropping the others early loses nothing, and merging is exact.
//
// A [Cap] chooses the windows in which a user counts by the same principle: only the user's own records and a keyed
// hash decide. So does an [Allowance], which says what a user still adds to the totals of a period, and a [Presence],
// which says who was seen lately.
//
// Parts always carry the users' hashes, even if the definition says that a user's records are all in one partition.
// Without them, a user with records in two parts would count twice, which would break the promise. Adding partitions
// moves users, and nobody knows when that happened to records from before the service began. Besides, most windows are
// read in several pieces, and these share users whatever the partitions are.
//
// # Names that nobody listed
//
// If the groups of a stream are found, nobody knows their names while events come in. An open [Bag] then keeps what its
// users have under any name ([Bag.PutName]). Which of the names are groups is known when a window is merged: its list
// is public by then. A [Tally] finds names: over the parts of a period it counts the users of each name, each user for
// at most MaxGroups of theirs, and draws which names many users share. No other code sees a name that may be personal,
// and no error has one.
//
// # Units
//
// Times are Unix nanoseconds. Windows begin and end on whole seconds. Values are indices of the stream's grid: 0…N, and
// −1 and N+1 for values beyond the bounds.
package windows
