// Package ledger holds the books of a running Louver, apart from Kafka. Read it in this order: most files know only the
// files before them.
//
//   - entry.go: the [Entry], one record of the ledger topic. It says what one window of one stream was charged, and
//     what was drawn. value.go: a figure of it. rounding.go: how drawn figures are rounded. step.go: what lives longer
//     than a window, with alarm.go, on_change.go and total.go for its kinds. discovery.go: what a discovery found.
//   - check.go, check_discovery.go and check_rollups.go: which entries Louver never writes. encode.go: an entry as the
//     value of its record. records.go, discovery_records.go and rollup_records.go: the records of the output topic that
//     it expands to.
//   - instances.go: the instances of steps, each a held charge. books.go: the [Books], which say which windows are
//     decided and whether the next one can be paid. eras.go, pause.go, seen.go and total_open.go: what else they are
//     asked.
//   - past.go and lately.go: what streams published lately, as far as later draws may learn from it.
//   - histogram.go: the figures that are computed from histograms. rollup.go: histograms of longer periods. sums.go:
//     what is added up for them. period.go: those periods that are local days.
//   - list.go: the [Lists] of names that discoveries found. list_stored.go: the same as checkpoints have it.
//   - fold.go: the [Fold] of a partition's entries to all this. checkpoint.go: the fold as it is written down.
//     resume.go: how a reader goes on from there. join.go: the books of all partitions together.
//   - report.go and report_watches.go: the [Report] of what was spent. published.go: the same for those who see only
//     the output topics.
//
// An entry holds everything that its records say, so that publishing is a copy: the same entry gives the same bytes,
// whatever the configuration has become. Everything in it is public by design: figures drawn by a mechanism, the
// configuration, and sums of charges. Package audit compares a ledger with its outputs and checkpoints.
package ledger
