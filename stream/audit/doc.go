// Package audit compares a ledger with what was published from it: see [Audit]. It reads the same public topics as any
// reader, and recomputes what can be recomputed from them.
//
// Each file holds one comparison, which knows only the findings that it adds to: outputs.go compares the records of the
// output topics with the entries, decisions.go each entry's charge, sums, cap and watches with the entries before it,
// caps.go the cap of an entry, checkpoints.go the checkpoints with the entries that they cover, priors.go what adaptive
// draws had learnt, lists.go the groups that discoveries found, rollups.go the roll-ups with the sums of their windows,
// and periods.go the periods of running totals and roll-ups with the time zones of this program.
package audit
