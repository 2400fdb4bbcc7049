package release

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// rebuild takes decided windows through their trackers once more, as far as their parts have been read.
func (d *decisions) rebuild(ctx context.Context) error {
	for ctx.Err() == nil {
		r := d.attendance.Behind()
		d.tellLosses()
		if r == nil {
			return nil
		}
		// Under max_windows, who counts does not depend on groups that are found.
		if _, _, err := d.through(ctx, r, r.Lane.Stream.Groups); err != nil {
			return err
		}
		d.tellLosses()
	}
	return ctx.Err()
}

// through merges a window's parts, in these groups, for the users who count in it, and takes the window through its
// trackers. See [parts.merge].
func (d *decisions) through(ctx context.Context, r *attendance.Round, groups []string) (merged *windows.Merger,
	lost bool, err error) {
	if err := r.Begin(); err != nil {
		return nil, false, err
	}
	join := r.Join
	if r.Empty() {
		join = nil
	}
	p := d.programs[r.Lane.Place]
	held := d.parts.gather.Parts(p.stream.Name, p.epoch, r.Window)
	if r.Lane.Of != nil { // a period only asks who is there
		held = d.parts.gather.All(p.stream.Name, p.epoch, r.Window)
	}
	merged, lost, err = d.parts.merge(ctx, p, r.Window, held, groups, join)
	if err == nil {
		r.End(lost)
	}
	return merged, lost, err
}

// tellLosses says which trackers have started over.
func (d *decisions) tellLosses() {
	for _, of := range d.attendance.Losses() {
		if of.Total != "" {
			d.Metrics.TotalRestarts.WithLabelValues(of.Stream).Inc()
			d.Log.Error("it is no longer known who has counted in a running total, because parts or snapshots of earlier "+
				"windows are lost: the total begins anew with the next window, and is charged again, or withheld if the "+
				"budget cannot pay", zap.String("stream", of.Stream), zap.String("release", of.Total),
				zap.Time("since", of.At))
			continue
		}
		d.Metrics.Recounts.WithLabelValues(of.Stream).Inc()
		fields := []zap.Field{zap.String("stream", of.Stream), zap.Time("window_start", of.At)}
		if of.Discovery != "" {
			fields = append(fields, zap.String("discovery", of.Discovery))
		}
		d.Log.Error("it is no longer known how often users have counted, because parts or snapshots of earlier windows "+
			"are lost: max_windows begins anew with the next window, and what it costs adds to the cost of earlier windows",
			fields...)
	}
}

// snapshots reads the last snapshots of all trackers, and notes how many records hold each.
func (d *decisions) snapshots(ctx context.Context) (map[string][]byte, error) {
	keys, texts := map[string]bool{}, map[string][]byte{}
	for _, key := range d.attendance.Keys() {
		keys[key] = true
	}
	if len(keys) == 0 {
		return nil, nil
	}
	damaged := func(err error) {
		d.Log.Error("a snapshot of who has counted is damaged and left out", zap.Int("partition", d.at.Number),
			zap.Error(err))
	}
	for {
		found, err := d.State.ReadTexts(ctx, d.at.Number, func(key string) bool { return keys[key] }, damaged)
		var lost *fetch.LostError
		if errors.As(err, &lost) && ctx.Err() == nil {
			continue // the broker has just deleted old ones
		}
		if err != nil {
			return nil, err
		}
		for key, text := range found {
			texts[key], d.pieces[key] = text.Text, text.Pieces
		}
		return texts, nil
	}
}

// beginAttendance takes up the trackers where earlier sessions left them. saved are the ends of windows up to which
// these needed no parts.
func (d *decisions) beginAttendance(snapshots map[string][]byte, saved ...map[string]int64) {
	for key, err := range d.attendance.Open(snapshots, saved...) {
		d.Log.Warn("a snapshot of who has counted is left out: the parts of the last windows are read instead",
			zap.String("snapshot", key), zap.Error(err))
	}
	d.tellLosses()
}

// saveBytes is how many bytes of snapshots are collected before they are committed.
const saveBytes = 8 << 20

// save commits the snapshots that are due, and deletes those of totals that are over.
func (d *decisions) save(ctx context.Context) error {
	for all := d.attendance.Due(saveBytes); len(all) > 0; all = d.attendance.Due(saveBytes) {
		var tx txn.Transaction
		for _, s := range all {
			records, pieces := d.State.TextRecordsIn(d.at.Number, s.Key, s.Text, d.pieces[s.Key])
			d.pieces[s.Key] = pieces
			tx.Records = append(tx.Records, records...)
		}
		if err := d.producer.Commit(ctx, tx); err != nil {
			return fmt.Errorf("record who has counted: %w", err)
		}
		d.attendance.Keep(all)
	}
	return nil
}

// gauge says how many users have counted in totals.
func (d *decisions) gauge() {
	d.attendance.EachTotal(func(stream, name string, users int) {
		d.Metrics.TotalUsers.WithLabelValues(stream, name).Set(float64(users))
	})
}

// forgetTotals drops the gauges of totals when the session ends: their users are no longer remembered here.
func (d *decisions) forgetTotals() {
	for _, p := range d.programs {
		for _, t := range config.All[config.Adder](p.stream) {
			d.Metrics.TotalUsers.DeleteLabelValues(p.stream.Name, t.Heading().Name)
		}
	}
}
