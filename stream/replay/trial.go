package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
)

// Trial predicts which records a stream with the input of [Columns.Input] rejects. It decodes them as the stream will.
// It ignores groups, because it does not know their public list, and assumes the default max_future. It is not safe for
// concurrent use.
type Trial struct {
	decoder codec.Decoder
	found   [codec.NumReasons]Rejected
}

// Rejected says how many records are rejected for a reason, and on which line the first of them is.
type Rejected struct {
	Reason       codec.Reason
	Count, First int
}

// NewTrial returns a trial of a file's records.
func NewTrial(c Columns) (*Trial, error) {
	spec := codec.Spec{Format: "json", User: c.User, Value: c.Value, Time: c.Time, MaxFuture: config.DefaultMaxFuture}
	if c.Value != "" {
		// Values beyond the bounds are not rejected, so any bounds will do.
		grid, err := mechanisms.NewGrid(decimal.Zero, decimal.New(1, 0), decimal.New(1, 0))
		if err != nil {
			return nil, err
		}
		spec.Grid = grid
	}
	decoder, err := codec.New(spec)
	return &Trial{decoder: decoder}, err
}

// Add adds a record that is sent at that time.
func (t *Trial) Add(r Record, sent time.Time) {
	var e codec.Event
	reason := t.decoder.Decode(codec.Record{Key: r.Key, Value: r.Value, Time: sent.UnixNano()}, &e)
	f := &t.found[reason]
	f.Reason, f.First = reason, min(cmp.Or(f.First, r.Line), r.Line) // sorted records are not in the order of lines
	f.Count++
}

// leftOut adds events without a time that can be read, which have no record.
func (t *Trial) leftOut(n Noted) {
	if f := &t.found[codec.BadTime]; n.Count > 0 {
		f.Reason, f.First = codec.BadTime, min(cmp.Or(f.First, n.First), n.First)
		f.Count += n.Count
	}
}

// Rejected returns the reasons found, in the order in which streams check them.
func (t *Trial) Rejected() []Rejected {
	return slices.DeleteFunc(slices.Clone(t.found[:]), func(r Rejected) bool { return r.Reason == codec.OK })
}
