// Package group joins a Kafka consumer group. It says which partitions this process reads, and until when, and which
// offsets the group has committed.
//
// Join makes a Member. Member.Next waits for the next Generation: an assignment of partitions, valid until
// Generation.Done is closed. Calling Next again gives up the partitions of the last generation, and only then joins the
// next one. So a worker can finish in good order. If it takes longer than the session timeout, the group drops the
// member and goes on without it. A member that does not know yet that it was dropped does no harm, because its
// transactions are fenced (package txn).
//
// It is built on kafka-go's ConsumerGroup (eager rebalancing, range assignment) and corrects three things. First, an
// error does not end the membership: Next retries until its context ends. Second, a missing topic neither blocks the
// other topics nor makes the group rebalance in a tight loop: the member joins only for topics that exist, and rejoins
// when a topic appears, disappears or gets more partitions, or when a partition is assigned to nobody. Third, committed
// offsets keep their metadata string.
package group
