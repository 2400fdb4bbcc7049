package ledger

import "errors"

// Resume makes the fold of a partition from its last checkpoint, or from its first entry if there is none that fits:
// then checkpoint is nil, or ignored is told why it is left out. read adds the partition's entries from [Fold.From] on,
// and ends with [Fold.Done].
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
