package ledger

import (
	"bytes"
	"errors"
	"time"
)

// Begin has the audit begin after the last entries that checkpoints cover: it takes their books as they are, and
// [Audit.Findings] say nothing of what they cover. Call it before anything else, with folds to which those entries were added
// again (see [Restore]). Entries that follow in their partitions come next. Other partitions are read from their first entry.
//
// Checkpoints are not proven then, nor what adaptive draws learnt.
func (a *Audit) Begin(folds []*Fold) {
	var parts []*Books
	for _, f := range folds {
		parts = append(parts, f.Books)
	}
	a.books = Join(parts)
	for name, s := range a.books.streams {
		a.since[name] = s.latest.WindowEnd
	}
}

// earlier reports whether the window of an output is one that the checkpoints cover.
func (a *Audit) earlier(stream string, end time.Time) bool {
	last, ok := a.since[stream]
	return ok && !end.After(last)
}

// Resumed reads a checkpoint and compares its last entry, which is the first one that read gives, with the one in the ledger. It
// returns nil and why if they do not fit: then the partition has to be read from its first entry.
func Resumed(text []byte, app string, partition int, read func(from int64, f func(value []byte, offset int64) error) error) (*Fold, error) {
	f, err := Restore(text, app, partition)
	if err != nil {
		return nil, err
	}
	found := errors.New("found")
	err = read(f.From(), func(value []byte, offset int64) error {
		e, err := Decode(value)
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
