package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// proof is a checkpoint and the fold of the partition's entries, which is compared with it at the checkpoint's offset.
type proof struct {
	at   Position
	text []byte
	told *Fold
	fold *Fold
}

// Checkpoint takes the checkpoint of a partition of the ledger, before any of the ledger's entries. It is compared with
// the fold of the entries. The topic of checkpoints is compacted, so each partition has only its last checkpoint.
func (a *Audit) Checkpoint(at Position, app string, partition int, text []byte) {
	told, err := Restore(text, app, partition)
	if err != nil {
		a.fault(CheckpointUnreadable, at, "%v", err)
		return
	}
	a.proofs[partition] = &proof{at, bytes.Clone(text), told, NewFold(app, partition)}
}

// prove adds an entry to the fold of its partition.
func (a *Audit) prove(at Position, e Entry, value []byte) {
	p := a.proofs[at.Partition]
	if p == nil {
		return
	}
	if err := p.fold.Add(e, value, at.Offset); err != nil {
		a.fault(EntryUnreadable, at, "%v", err)
		return
	}
	if p.fold.entries < p.told.entries {
		return
	}
	delete(a.proofs, at.Partition)
	again, err := p.fold.Checkpoint()
	switch {
	case err != nil:
		a.fault(EntryUnreadable, at, "%v", err)
	case bytes.Equal(again, p.text):
		a.findings.Checkpoints++
	default:
		a.fault(CheckpointDiffers, p.at, "the checkpoint after %d entries of partition %d is not what these give: %s", p.told.entries, at.Partition, p.told.unlike(p.fold))
	}
}

// unproven reports the checkpoints that cover more entries than there are.
func (a *Audit) unproven() {
	for _, partition := range slices.Sorted(maps.Keys(a.proofs)) {
		p := a.proofs[partition]
		a.fault(CheckpointDiffers, p.at, "the checkpoint tells of %d entries in partition %d, which has %d: entries of the ledger are gone", p.told.entries, partition, p.fold.entries)
	}
	clear(a.proofs)
}

// unlike describes the first difference from the fold of the entries.
func (f *Fold) unlike(entries *Fold) string {
	if f.chain != entries.chain || f.offset != entries.offset {
		return fmt.Sprintf("it was made of other entries, the last at offset %d and not %d", f.offset, entries.offset)
	}
	if have, want := f.Books.Budgets(), entries.Books.Budgets(); !slices.Equal(have, want) {
		return fmt.Sprintf("it has the budgets %q, the entries have %q", have, want)
	}
	for _, name := range f.Books.Budgets() {
		have, want := f.Books.accounts[name].Total(), entries.Books.accounts[name].Total()
		if have, want := text(epsilon(have)), text(epsilon(want)); have != want {
			return fmt.Sprintf("budget %q has spent epsilon %s in all, the entries give %s", name, have, want)
		}
	}
	return "the sums of all budgets are right, but windows, limits or figures differ"
}
