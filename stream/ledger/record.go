package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Record is one record of an output topic.
type Record struct {
	Topic      string
	Key, Value []byte
	Headers    []Header
	// Time is the record's timestamp: the end of the window.
	Time time.Time
}

// Header is one header of a record. Their order is part of the record.
type Header struct {
	Key   string
	Value []byte
}

const (
	specVersion = "1.0" // of CloudEvents
	headerID    = "ce_id"
)

// Format is the newest format of output records. Entries of format 0 give records without error_95, quality and
// incomplete, and with released_at.
const Format = 1

// Size is how many records the entry has.
func (e Entry) Size() int { return len(e.Groups) * (len(e.Releases) + len(e.Watches)) }

// Records expands the entry into its output records, group by group, in the order of the releases and the watches. The
// same entry gives the same bytes. Values are JSON: whoever writes an entry of [OutputAvro] converts them with
// [EncodeAvro]. The entry must be one that [Entry.Encode] accepts.
func (e Entry) Records() ([]Record, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	out := make([]Record, 0, e.Size())
	for _, g := range e.Groups {
		for i := range e.Releases {
			r, err := e.record(e.figure(g, i))
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		for i := range e.Watches {
			r, err := e.record(e.watchFigure(g, i))
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func (e Entry) record(f Figure) (Record, error) {
	var written any = &f
	if e.Format == 0 {
		at := whole(e.ReleasedAt).Time
		f.ReleasedAt = &at
		written = &figure0{Figure: f}
	}
	var value bytes.Buffer
	enc := json.NewEncoder(&value)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(written); err != nil {
		return Record{}, fmt.Errorf("%s: %w", e.name(), err)
	}
	return Record{
		Topic: e.Output,
		Key:   []byte(f.Key()),
		Value: bytes.TrimSuffix(value.Bytes(), []byte("\n")),
		Headers: []Header{
			{"content-type", []byte(e.contentType())},
			{"ce_specversion", []byte(specVersion)},
			{headerID, []byte(f.ID)},
			{"ce_source", []byte("/" + e.App + "/" + e.Stream)},
			{"ce_type", []byte(Schema)},
			{"ce_time", []byte(whole(e.DueAt).String())},
		},
		Time: e.WindowEnd,
	}, nil
}

func (e Entry) contentType() string {
	if e.OutputFormat == OutputAvro {
		return ContentAvro
	}
	return "application/json"
}
