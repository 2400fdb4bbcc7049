package audit

import (
	"bytes"
	"maps"
	"slices"

	"github.com/louver/louver/stream/ledger"
)

// checkpoints compares the last checkpoint of each partition with the state after the entries that it covers.
type checkpoints struct {
	found  *Findings
	proofs map[int]*proof // by partition, whose checkpoint is still to be compared
}

// proof is a checkpoint and the state after the partition's entries, which is compared with it at the checkpoint's
// offset.
type proof struct {
	at    Position
	text  []byte
	told  *ledger.State
	state *ledger.State
}

func newCheckpoints(found *Findings) *checkpoints {
	return &checkpoints{found: found, proofs: map[int]*proof{}}
}

func (c *checkpoints) take(at Position, app string, partition int, text []byte) {
	told, err := ledger.Restore(text, app, partition)
	if err != nil {
		c.found.fault(CheckpointUnreadable, at, "%v", err)
		return
	}
	c.proofs[partition] = &proof{at, bytes.Clone(text), told, ledger.NewState(app, partition)}
}

// prove adds an entry to the state of its partition.
func (c *checkpoints) prove(at Position, e ledger.Entry, value []byte) {
	p := c.proofs[at.Partition]
	if p == nil {
		return
	}
	if err := p.state.Add(e, value, at.Offset); err != nil {
		c.found.fault(EntryUnreadable, at, "%v", err)
		return
	}
	if p.state.Entries() < p.told.Entries() {
		return
	}
	delete(c.proofs, at.Partition)
	again, err := p.state.Checkpoint()
	switch {
	case err != nil:
		c.found.fault(EntryUnreadable, at, "%v", err)
	case bytes.Equal(again, p.text):
		c.found.Checkpoints++
	default:
		c.found.fault(CheckpointDiffers, p.at,
			"the checkpoint after %d entries of partition %d is not what these give: %s", p.told.Entries(),
			at.Partition, p.told.Unlike(p.state))
	}
}

// finish reports the checkpoints that cover more entries than there are.
func (c *checkpoints) finish() {
	for _, partition := range slices.Sorted(maps.Keys(c.proofs)) {
		p := c.proofs[partition]
		c.found.fault(CheckpointDiffers, p.at,
			"the checkpoint tells of %d entries in partition %d, which has %d: entries of the ledger are gone",
			p.told.Entries(), partition, p.state.Entries())
	}
	clear(c.proofs)
}
