// Package ledger holds the books of a running Louver, apart from Kafka. Read it in this order: most files know only the
// files before them.
//
//   - entry.go: the [Entry], one record of the ledger topic. It says what one window of one stream was charged, and
//     what was drawn: figures, how far off they may be, and how they are rounded. continual.go: figures with one charge
//     for many windows. firing.go: those of them that test and fire, watches and changes. ongoing.go: those that are
//     drawn leaf by leaf, of which it has the number of active users; total.go and so_far.go have the others.
//     discovery.go: what a discovery found, and the rules of a list.
//   - encode.go: an entry as the value of its record, its version, the kinds that it names, and which entries Louver
//     never writes. records.go: the records of the output topic that it expands to.
//   - instances.go: the instances of continual figures, each a held charge. books.go: the [Books], which say which
//     windows are decided and whether the next one can be paid.
//   - lately.go: what streams published lately, as far as later draws may learn from it.
//   - histogram.go: what is computed from histograms: figures, and all groups added up. rollups.go: histograms of
//     longer periods, and what is added up for them. stretch.go: sums over the newest time, by blocks of windows, also
//     those of objectives.
//   - lists.go: the [Lists] of names that discoveries found.
//   - state.go: the [State] after the entries of a partition, which parts of an entry are facts, and how a state
//     derives the others. checkpoint.go: the state as it is written down.
//   - report.go: the [Report] of what was spent, also for those who see only the output topics.
//
// An entry holds everything that its records say, so that publishing is a copy: the same entry gives the same bytes,
// whatever the configuration has become. Everything in it is public by design: figures drawn by a mechanism, the
// configuration, and sums of charges. Package audit compares a ledger with its outputs and checkpoints.
package ledger
