// Package audit compares a ledger with what was published from it: see [Audit]. It reads the same public topics as any
// reader, and recomputes what can be recomputed from them.
//
// Each file holds one comparison, which knows only the findings that it adds to: outputs.go compares the records of the
// output topics with the entries. entries.go derives each entry again from its facts and from the entries before it
// ([ledger.Facts]), and difference.go finds the first place where both differ. What does not follow from earlier
// entries has its own files: checkpoints.go compares the checkpoints with the entries that they cover, priors.go what
// adaptive draws had learnt, and periods.go the periods of running totals and roll-ups with the time zones of this
// program.
package audit
