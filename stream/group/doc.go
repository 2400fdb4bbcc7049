// Package group is membership in a Kafka consumer group: which partitions are
// this process's to read, until when, and what offsets the group has committed.
//
// Join makes a Member; Member.Next waits for the next Generation, an
// assignment of partitions that is valid until Generation.Done is closed.
// Calling Next again says that the last generation's partitions are given up:
// only then does this member join the next generation, so that work can end in
// good order. A member that takes longer than the session timeout for that is
// dropped by the group, which then goes on without it; what keeps a member
// that does not know it is dropped from doing harm is the fencing of
// transactions (package txn), not this package.
//
// It is built on kafka-go's ConsumerGroup (eager rebalancing, range
// assignment) and mends three things there. A first error ends nothing: Next
// tries again until its context ends. A subscribed topic that does not exist
// neither keeps the others from being assigned nor makes the group rebalance
// in a tight loop: only topics that exist are joined for, and the group is
// joined anew when one appears, disappears or gets more partitions. And
// committed offsets keep their metadata string.
package group
