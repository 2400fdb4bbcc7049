package audit

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/louver/louver/stream/ledger"
)

// checkpoints compares the last checkpoint of each partition with the fold of the entries that it covers.
type checkpoints struct {
	found  *Findings
	proofs map[int]*proof // by partition, whose checkpoint is still to be compared
}

// proof is a checkpoint and the fold of the partition's entries, which is compared with it at the checkpoint's offset.
type proof struct {
	at   Position
	text []byte
	told *ledger.State
	fold *ledger.State
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

// prove adds an entry to the fold of its partition.
func (c *checkpoints) prove(at Position, e ledger.Entry, value []byte) {
	p := c.proofs[at.Partition]
	if p == nil {
		return
	}
	if err := p.fold.Add(e, value, at.Offset); err != nil {
		c.found.fault(EntryUnreadable, at, "%v", err)
		return
	}
	if p.fold.Entries() < p.told.Entries() {
		return
	}
	delete(c.proofs, at.Partition)
	again, err := p.fold.Checkpoint()
	switch {
	case err != nil:
		c.found.fault(EntryUnreadable, at, "%v", err)
	case bytes.Equal(again, p.text):
		c.found.Checkpoints++
	default:
		c.found.fault(CheckpointDiffers, p.at,
			"the checkpoint after %d entries of partition %d is not what these give: %s", p.told.Entries(),
			at.Partition, p.told.Unlike(p.fold))
	}
}

// finish reports the checkpoints that cover more entries than there are.
func (c *checkpoints) finish() {
	for _, partition := range slices.Sorted(maps.Keys(c.proofs)) {
		p := c.proofs[partition]
		c.found.fault(CheckpointDiffers, p.at,
			"the checkpoint tells of %d entries in partition %d, which has %d: entries of the ledger are gone",
			p.told.Entries(), partition, p.fold.Entries())
	}
	clear(c.proofs)
}

// Covered returns the fold of what a checkpoint covers, for [Audit.Begin]. It compares the checkpoint's last entry with
// the one in the ledger, which is the first one that read passes to f. If they do not fit, the error is a
// [ledger.ErrCheckpoint], and the partition has to be read from its first entry. All other errors are those of read.
func Covered(
	text []byte, app string, partition int, read func(from int64, f func(value []byte, offset int64) error) error,
) (*ledger.State, error) {
	f, err := ledger.Restore(text, app, partition)
	if err != nil {
		return nil, err
	}
	found := errors.New("found")
	err = read(f.From(), func(value []byte, offset int64) error {
		e, err := ledger.Decode(value)
		if err == nil {
			err = f.Add(e, bytes.Clone(value), offset)
		}
		if err != nil {
			return err
		}
		return found
	})
	if err == nil { // no entry is there
		err = f.Done()
	}
	if !errors.Is(err, found) {
		return nil, err
	}
	return f, nil
}
