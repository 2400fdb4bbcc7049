// Package audit compares a ledger with what was published from it: see [Audit]. It reads the same public topics as
// anybody who is allowed to, and recomputes what can be recomputed from them.
//
// Each file holds one comparison, which knows only the findings that it adds to: outputs.go compares the records of the
// output topics with the entries, decisions.go each entry's charge, sums, cap and watches with the entries before it,
// checkpoints.go the checkpoints with the entries that they cover, priors.go what adaptive draws had learnt, and
// periods.go the periods of running totals and roll-ups with the time zones of this program.
package audit
