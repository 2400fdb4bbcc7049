package record

import (
	"bytes"
	"encoding/json"
	"strings"
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
func New(f Value, to Destination) (Record, error) {
	value, err := f.text()
	if err != nil {
		return Record{}, err
	}
	content := "application/json"
	if to.Format == FormatAvro {
		content = ContentAvro
	}
	return Record{
		Topic:   to.Topic,
		Key:     []byte(f.Key()),
		Value:   value,
		Headers: append([]Header{{"content-type", []byte(content)}}, events(to, f.ID, f.Stream, f.DueAt)...),
		Time:    f.WindowEnd,
	}, nil
}

// text is the value in JSON.
func (f Value) text() ([]byte, error) {
	var value bytes.Buffer
	enc := json.NewEncoder(&value)
	enc.SetEscapeHTML(false)
	err := enc.Encode(&f)
	return bytes.TrimSuffix(value.Bytes(), []byte("\n")), err
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

// ID returns the record's ce_id, the same as [Value.ID]; "" if it has none.
func (r Record) ID() string {
	for _, h := range r.Headers {
		if h.Key == HeaderID {
			return string(h.Value)
		}
	}
	return ""
}

// Left is a series of a group that left the list of a stream.
type Left struct {
	Stream, Group, Release string
	// Discovery is the discovery with which the group left; "" if the stream follows the list of another one.
	Discovery string
	// End is the end of the discovery's period, or of the first window without the group. That was due at Due.
	End, Due time.Time
}

// left stands in the id of a tombstone, after the release. No figure has such an id.
const left = "left"

// Tombstone ends a series: it is a record without a value, after which a compacted topic need not keep the series.
func (l Left) Tombstone(to Destination) Record {
	id := FoundKey(l.Stream, l.Group, Whole(l.End).String()) + "/" + l.Release + "/" + left
	if l.Discovery != "" {
		id += "/" + l.Discovery
	}
	return Record{Topic: to.Topic, Key: []byte(FoundKey(l.Stream, l.Group, l.Release)), Time: l.End,
		Headers: events(to, id, l.Stream, l.Due)}
}

// ReadLeft reads what the id of a tombstone says. It leaves out the group, and when the window was due. ok is false for
// any other id.
func ReadLeft(id string) (l Left, ok bool) {
	parts := strings.Split(id, "/")
	if n := len(parts); n != 5 && n != 6 || parts[4] != left {
		return l, false
	}
	end, err := time.Parse(time.RFC3339, parts[2])
	l = Left{Stream: parts[0], Release: parts[3], End: end}
	if len(parts) == 6 {
		l.Discovery = parts[5]
	}
	return l, err == nil
}
