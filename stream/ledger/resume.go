package ledger

import "errors"

// Resume reads the fold of a partition: from its last checkpoint, or from its first entry if checkpoint is nil or does
// not fit. ignored is told why a checkpoint does not fit. read must add the partition's entries from [Fold.From] on,
// and end with [Fold.Done].
func Resume(app string, partition int, checkpoint []byte, read func(*Fold) error, ignored func(error)) error {
	var left *Fold
	if checkpoint != nil {
		f, err := Restore(checkpoint, app, partition)
		if err == nil {
			left = f
			err = read(f)
		}
		if !errors.Is(err, ErrCheckpoint) {
			return err
		}
		ignored(err)
	}
	f := NewFold(app, partition)
	if left != nil {
		f.Instead(left)
	}
	return read(f)
}
