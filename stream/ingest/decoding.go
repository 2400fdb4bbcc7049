package ingest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/windows"
)

// decoding decodes the records of one partition, once for all routes whose specs are equal.
//
// A partition's worker fetches each page once, for all streams of the topic, and offers each record to every route in
// turn. Most streams of a topic read its records in the same way: they differ in windows, releases or policy. Such
// routes share a decoding. The first of them that takes a record decodes it and hashes its user, and the others use the
// result. Nothing else is shared. Each route has its own position, bags, cuts, horizon, counts and copies. A route that
// is ahead of others asks for no record below its position, so streams at different positions may share too.
//
// Whether a record is rejected follows from the record and the spec alone, so a shared answer is the one that the route
// would have found itself. Specs that differ in anything share nothing, even if only their groups or bounds differ: a
// name that comes twice, for example, is an error only for streams that look for it.
//
// Only the partition's goroutine uses it.
type decoding struct {
	spec     codec.Spec
	decoder  codec.Decoder
	preparer codec.Preparer // the decoder, if it may have to ask a server before it can decode; else nil
	bareKeys bool           // the whole key is the user
	hasher   *windows.Hasher

	offset  int64 // of the record that the rest is about. It includes the base, so no two records have the same
	event   codec.Event
	name    []byte // of the group, if groups are found
	user    windows.UserHash
	verdict verdict // rejected or not
	fault   fault   // if it is rejected
}

// fault says more about why a record is rejected than its reason.
type fault struct {
	schema codec.SchemaID // the id of its schema, if that is not known; else zero
	cause  string         // in words that go on from "the record"; "" if no more is known
}

// unstamped is the cause of a record that Kafka has no time of. Whatever its fields say, it is rejected.
const unstamped = "has no timestamp"

func newDecoding(spec codec.Spec, h *windows.Hasher) (*decoding, error) {
	decoder, err := codec.New(spec)
	if err != nil {
		return nil, err
	}
	preparer, _ := decoder.(codec.Preparer)
	return &decoding{spec: spec, decoder: decoder, preparer: preparer, hasher: h, offset: -1,
		bareKeys: spec.User == codec.KeyField && preparer == nil}, nil
}

// share makes a route use the decoding of another one, if there is one with the same spec.
func (r *route) share(others []*route) {
	for _, o := range others {
		if o.decoding.hasher == r.decoding.hasher && reflect.DeepEqual(o.decoding.spec, r.decoding.spec) {
			r.decoding = o.decoding
			return
		}
	}
}

// decode reads the record at an offset, unless that is the one that was read last.
func (d *decoding) decode(offset int64, rec *fetch.Record) verdict {
	if offset == d.offset {
		return d.verdict
	}
	d.offset, d.verdict = offset, verdict{}
	if rec.TooLarge > 0 {
		d.verdict.rejected, d.fault = codec.Malformed, fault{cause: "is larger than 4 MiB"}
		return d.verdict
	}
	record := codec.Record{Key: rec.Key, Value: rec.Value, Time: rec.Time * int64(time.Millisecond), Headers: rec}
	if reason := d.decoder.Decode(record, &d.event); reason != codec.OK {
		d.verdict = verdict{rejected: reason,
			missing: reason != codec.Malformed && reason != codec.Future && d.decoder.Missing()}
		d.fault = d.faultOf(record, reason)
		return d.verdict
	}
	d.user = d.hasher.User(d.event.User)
	d.name = append(d.name[:0], d.event.Name...)
	d.event.User, d.event.Name = nil, nil // they point into the page
	return d.verdict
}

// faultOf says more about a record that the decoder has just rejected.
func (d *decoding) faultOf(record codec.Record, reason codec.Reason) (f fault) {
	switch {
	case reason == codec.Malformed:
		f.cause = d.decoder.Cause(record)
		if d.preparer != nil {
			if w, known := d.preparer.Prepare(record); !known && !w.Key {
				f.schema = w.ID
			}
		}
	case reason == codec.BadValue:
		f.cause = d.decoder.Doubt()
	case reason == codec.BadTime && record.Time < 0:
		f.cause = unstamped
	case reason == codec.Future:
		f.cause = fmt.Sprintf("has a timestamp of %s, and its own time is more than %s later", date(record.Time),
			config.Duration(d.spec.MaxFuture))
	}
	return f
}
