// Package windows holds the events of event-time windows: which windows a moment falls in, the [Bag] that keeps at
// most one contribution a user, and the [Partial] that a sealed bag becomes and that merges with those of other
// partitions. It knows nothing of Kafka, of noise or of budgets.
package windows
