// Package ledger holds the books of a running Louver, apart from Kafka: the [Entry], one record of the ledger topic,
// which says what one window of one stream was charged and what was drawn, and expands to the records of the output topic;
// the [Books], which decide which window is next and whether it can be paid; the [Fold] of a partition's entries to
// books, which can be written down as a checkpoint; and the [Report] of what was spent. Package audit compares a ledger with
// its outputs and checkpoints.
//
// An entry holds everything that its records say, so that publishing is a copy: the same entry gives the same bytes,
// whatever the configuration has become. Everything in it is public by design: figures drawn by a mechanism, the
// configuration, and sums of charges.
package ledger
