package release

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// A snapshot says who has counted up to a window. It spares the next session the parts of the windows up to there, and
// so these can be deleted. It changes nobody's turns: a session that begins with a snapshot decides as one that has
// been through all windows.
//
//   - The worker that has decided the windows commits it, by its transactional id. A fenced worker commits none.
//   - It is committed before the parts that it replaces count as not needed.
//   - It is used only if it is of the same rule, of a decided window and of the same era, which begins after the last
//     window of the former era. Any other is ignored, and the session looks for parts.
//   - A session that records which parts it does not need also records up to which window it needs none
//     ([progressRecord]). If the last snapshot is lost, some of the parts of a window may be gone and others not, and
//     the log cannot tell. So a session that knows less than that record begins a new era.

func (t *capState) due() bool {
	reach := t.rule.Reach() * int64(t.rule.Every())
	return reach > 0 && !t.lags() && t.at-t.saved >= min(int64(snapshotEvery), reach/8)
}

func (t *capState) snapshot() []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(t.at)), t.cap.Snapshot()...)
}

// restore takes a snapshot if it says more than is known.
func (t *capState) restore(text []byte) error { return t.restoreUpTo(text, t.decided()) }

func (t *capState) restoreUpTo(text []byte, decided int64) error {
	if len(text) < snapshotHead {
		return fmt.Errorf("it has %d bytes; want %d or more", len(text), snapshotHead)
	}
	end := int64(binary.BigEndian.Uint64(text))
	if end <= t.at {
		return nil // of an earlier era, or of long ago
	}
	if end > decided {
		return fmt.Errorf("it is of the window that ends %s; the last decided one ends %s", time.Unix(0, end).UTC(),
			time.Unix(0, decided).UTC())
	}
	c, err := windows.RestoreCap(t.rule, text[snapshotHead:])
	if err != nil {
		return err
	}
	if of := c.Began() + int64(t.size); of != end {
		return fmt.Errorf("it is of the window that ends %s, and says %s", time.Unix(0, of).UTC(),
			time.Unix(0, end).UTC())
	}
	t.cap, t.at, t.saved = c, end, end
	return nil
}

// snapshots reads the last snapshots of all walks.
func (ws *walks) snapshots(ctx context.Context) (map[string]progress.Text, error) {
	keys := map[string]bool{}
	for _, p := range ws.programs {
		if p.stream.MaxWindows != nil {
			keys[snapshotKey(p, -1)] = true
		}
		for row, of := range p.discoveries {
			if of.MaxWindows != nil {
				keys[snapshotKey(p, row)] = true
			}
		}
		for _, t := range config.All[*config.Total](p.stream) {
			keys[totalKey(p.stream, t)] = true
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	damaged := func(err error) {
		ws.Log.Error("a snapshot of who has counted is damaged and left out", zap.Int("partition", ws.at.Number),
			zap.Error(err))
	}
	for {
		texts, err := ws.State.ReadTexts(ctx, ws.at.Number, func(key string) bool { return keys[key] }, damaged)
		var lost *fetch.LostError
		if errors.As(err, &lost) && ctx.Err() == nil {
			continue // the broker has just deleted old ones
		}
		return texts, err
	}
}

// begin makes the walks of all programs, each from its snapshot if there is one that fits, and follows their parts from
// there. saved are the ends of windows up to which earlier sessions needed no parts.
func (ws *walks) begin(snapshots map[string]progress.Text, saved ...map[string]int64) {
	for i := range ws.programs {
		ws.caps = append(ws.caps, ws.newCapState(i, -1))
		rows := make([]*capState, len(ws.programs[i].discoveries))
		for row := range rows {
			rows[row] = ws.newCapState(i, row)
		}
		ws.rows = append(ws.rows, rows)
		ws.addTotals(i)
	}
	for _, t := range ws.all() {
		if snapshot, found := snapshots[t.way().key]; found {
			t.way().pieces = snapshot.Pieces
			if err := t.restore(snapshot.Text); err != nil {
				ws.Log.Warn("a snapshot of who has counted is left out: the parts of the last windows are read instead",
					zap.String("snapshot", t.way().key), zap.Error(err))
			}
		}
	}
	for i, p := range ws.programs {
		ws.passed = append(ws.passed, ws.follows(i))
		ws.parts.gather.Follow(p.stream.Name, p.epoch, p.schedule, p.stream.Input.MaxFuture, ws.passed[i])
		ws.keep(i)
	}
	for _, t := range ws.all() {
		if _, ok := t.relies(); ok && slices.ContainsFunc(saved, func(ends map[string]int64) bool {
			return ends[t.way().key] > t.way().at
		}) {
			t.lose()
		}
	}
	for i := range ws.programs {
		ws.pass(i)
		ws.keep(i)
	}
}

// saved are the ends of the windows up to which the next session needs no parts for the walks.
func (ws *walks) saved() map[string]int64 {
	ends := map[string]int64{}
	for _, t := range ws.all() {
		if _, ok := t.relies(); ok {
			ends[t.way().key] = t.way().saved
		}
	}
	return ends
}

// saveBytes is how many bytes of snapshots are collected before they are committed.
const saveBytes = 8 << 20

// save commits the snapshots that are due, and deletes those of totals that are over.
func (ws *walks) save(ctx context.Context, producer producer) error {
	var tx txn.Transaction
	var bytes int
	var made []*course
	commit := func() error {
		if len(tx.Records) == 0 {
			return nil
		}
		if err := producer.Commit(ctx, tx); err != nil {
			return fmt.Errorf("record who has counted: %w", err)
		}
		for _, t := range made {
			t.saved = t.at
		}
		tx, bytes, made = txn.Transaction{}, 0, nil
		return nil
	}
	for _, t := range ws.all() {
		way := t.way()
		var records []txn.Record
		switch _, goes := t.relies(); {
		case !goes && way.pieces > 0:
			records, way.pieces = ws.State.TextRecordsIn(ws.at.Number, way.key, nil, way.pieces)
		case goes && t.due():
			text := t.snapshot()
			records, way.pieces = ws.State.TextRecordsIn(ws.at.Number, way.key, text, way.pieces)
			bytes, made = bytes+len(text), append(made, way)
		}
		tx.Records = append(tx.Records, records...)
		if bytes >= saveBytes {
			if err := commit(); err != nil {
				return err
			}
		}
	}
	return commit()
}
