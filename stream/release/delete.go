package release

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/stage"
)

// Parts hold personal data, so they are deleted as soon as no undecided window needs them. Before it deletes parts, the
// worker that decided their windows records in a transaction that they are not needed. A fenced worker can record
// nothing, and so deletes nothing. The next worker begins after the recorded offset, so it never mistakes deleted parts
// for lost ones.

// deleter deletes the parts of one session's partition in the background: no window waits for it.
type deleter struct {
	*worker
	latest *stage.Latest[int64]
	agreed int64        // parts below are recorded as not needed; −1 if none are
	done   atomic.Int64 // parts below are deleted
}

func newDeleter(ctx context.Context, w *worker) *deleter {
	d := &deleter{worker: w}
	d.latest = stage.NewLatest(ctx, d.delete)
	return d
}

func (d *deleter) wait() { d.latest.Wait() }

// anew is called when the topic was recreated and begins at offset 0.
func (d *deleter) anew() {
	d.agreed = -1
	d.done.Store(0)
}

// deletedKey is the key of the offset below which parts are not needed.
func (w *worker) deletedKey() string { return fmt.Sprintf("release/%d/deleted", w.at.Number) }

// deleted returns what was recorded last.
func (w *worker) deleted(ctx context.Context) (progressRecord, error) {
	var r progressRecord
	_, err := w.Progress.Read(ctx, w.deletedKey(), &r)
	return r, err
}

// before records that no undecided window needs the parts below an offset, and has them deleted.
func (d *deleter) before(ctx context.Context, producer producer, needs progressRecord) error {
	offset := needs.Offset
	if offset > d.agreed {
		r, err := d.Progress.Record(d.deletedKey(), needs)
		if err != nil {
			return err
		}
		if err := producer.Commit(ctx, txn.Transaction{Records: []txn.Record{r}}); err != nil {
			return fmt.Errorf("record that the parts below offset %d of %s/%d are not needed: %w", offset, d.at.Topic,
				d.at.Number, err)
		}
		d.agreed = offset
	}
	if d.agreed > d.done.Load() {
		d.latest.Put(d.agreed)
	}
	return nil
}

// delete deletes the parts below an offset. If it fails, they stay until the next call, or until the topic's retention
// ends.
func (d *deleter) delete(ctx context.Context, offset int64) error {
	ctx, cancel := context.WithTimeout(ctx, keepEvery)
	defer cancel()
	err := topics.DeleteBefore(ctx, d.Conn.Client, d.at.Topic, d.at.Number, offset)
	key := "deleting parts of " + d.at.Topic
	switch {
	case err == nil:
		d.done.Store(offset)
		d.Monitor.Episodes.Over(key, "parts of decided windows can be deleted again")
	case kafkaconn.Unauthorised(err):
		d.Monitor.Episodes.On(key, episode.Rule{},
			"parts of decided windows, which hold personal data, cannot be deleted: they stay until the topic's "+
				"retention is over", zap.Error(err))
	case ctx.Err() == nil:
		d.Log.Debug("parts of decided windows are not deleted yet", zap.Error(err))
	}
	return nil
}

// overtaken returns an error if another worker has decided the windows below an offset and deleted their parts. Then
// this worker no longer owns the partition.
func (w *worker) overtaken(ctx context.Context, offset int64) error {
	deleted, err := w.deleted(ctx)
	if err == nil && deleted.Offset >= offset {
		err = fmt.Errorf("another worker has decided the windows of the parts below offset %d of %s/%d: %w", offset,
			w.at.Topic, w.at.Number, txn.ErrFenced)
	}
	return err
}
