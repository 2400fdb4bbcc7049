// Package group is membership in a Kafka consumer group. It says which partitions this process reads, until when, and
// which offsets the group has committed.
//
// Join makes a Member; Member.Next waits for the next Generation, an assignment of partitions that is valid until
// Generation.Done is closed. Calling Next again gives up the partitions of the last generation. Only then does this
// member join the next one, so that work can end in good order. If that takes longer than the session timeout, the
// group drops the member and goes on without it. A dropped member that does not know it yet does no harm, because its
// transactions are fenced (package txn).
//
// It is built on kafka-go's ConsumerGroup (eager rebalancing, range assignment) and corrects three things. An error
// does not end the membership: Next retries until its context ends. A subscribed topic that does not exist neither
// prevents the others from being assigned nor makes the group rebalance in a tight loop: the member joins only for
// topics that exist, and rejoins when one appears, disappears or gets more partitions. And committed offsets keep their
// metadata string.
package group
