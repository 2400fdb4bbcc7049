package record

import (
	"bytes"
	"encoding/json"
	"time"
)

// Record is one record of an output topic.
type Record struct {
	Topic string
	// Value is nil in a record that ends a series.
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

// HeaderID is the header with the id of a record.
const HeaderID = "ce_id"

const specVersion = "1.0" // of CloudEvents

// Destination says where an app writes the records of a stream, and how: format is "" for JSON, or [FormatAvro].
type Destination struct{ App, Topic, Format string }

// New writes a figure as a record. The same figure gives the same bytes. Its value is JSON: whoever writes to a
// destination in Avro converts it with [EncodeAvro].
func New(f Figure, to Destination) (Record, error) {
	var value bytes.Buffer
	enc := json.NewEncoder(&value)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&f); err != nil {
		return Record{}, err
	}
	content := "application/json"
	if to.Format == FormatAvro {
		content = ContentAvro
	}
	return Record{
		Topic:   to.Topic,
		Key:     []byte(f.Key()),
		Value:   bytes.TrimSuffix(value.Bytes(), []byte("\n")),
		Headers: append([]Header{{"content-type", []byte(content)}}, events(to, f.ID, f.Stream, f.DueAt)...),
		Time:    f.WindowEnd,
	}, nil
}

// events returns the headers of a record that CloudEvents defines.
func events(to Destination, id, stream string, due time.Time) []Header {
	return []Header{
		{"ce_specversion", []byte(specVersion)},
		{HeaderID, []byte(id)},
		{"ce_source", []byte("/" + to.App + "/" + stream)},
		{"ce_type", []byte(Schema)},
		{"ce_time", []byte(Whole(due).String())},
	}
}

// ID returns the record's ce_id, the same as [Figure.ID]; "" if it has none.
func (r Record) ID() string {
	for _, h := range r.Headers {
		if h.Key == HeaderID {
			return string(h.Value)
		}
	}
	return ""
}
