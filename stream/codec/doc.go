// Package codec turns a Kafka record into an [Event]: a user, a group, a time and a point of the grid. If it can't, it
// says why the record is rejected.
//
// [New] makes a [Decoder] from a [Spec]: the format, the fields that hold the parts of an event, the public groups and
// the public grid. Whether a record is rejected depends on that record alone, so one person's bad record never affects
// another's. [Reason] lists what can be wrong.
//
// A format finds the fields of a record (json.go, csv.go): the four of an event, and those of conditions. It passes
// them as typed texts to the rules that all formats share. These see whether the record meets the conditions
// (where.go), and then check the fields and make the event (rules.go). A new format needs one file and one row of the
// table [Formats].
//
// # JSON
//
// A record's value must be one JSON object (with $value: one JSON text) that every parser reads alike, an I-JSON
// message of RFC 7493: valid UTF-8, no byte order mark, no lone surrogate escapes, nested less than 300 deep. A name on
// the path to a wanted field must be unique in its object; other names may repeat. Anything else is malformed. Paths
// lead into objects, not into arrays; spec.go says how a name with a dot in it is written. One pass over the text
// checks it and finds the fields (scan.go), in time that is linear in its length. Why a record is malformed is worked
// out afterwards (cause.go). The header of a schema registry before the text is left out (framing.go). A value may be a
// decimal of Kafka Connect in base64 where the record says so (decimal.go).
//
// # CSV
//
// A record's value must be one line of CSV, RFC 4180, with exactly the columns of the Spec, in UTF-8 without byte order
// mark; one line end may follow it. A line that repeats the names of the columns is malformed. Numbers are written as
// in JSON. Spaces belong to a field.
//
// # CloudEvents
//
// A record is one CloudEvent 1.0, in the structured or the binary mode of the Kafka binding; both may be in one topic.
// Fields are named as in the structured mode: an attribute such as time or subject, or a path into the data such as
// data.user_id. The data must be JSON, and the rules of JSON above apply to it. Batches are malformed.
//
// # Avro and Protocol Buffers
//
// A record is one datum of a [Schema], and nothing else but a header of AWS Glue's registry before it. In Avro a union
// of records has the fields of all of them, and a field may be named by an alias. In Protocol Buffers a wrapper is what
// is in it. With a registry, each record begins with the number of its schema or names it in a header, as Confluent's
// serializers write it; a [Preparer] gets the schema first. A field that is null, or a message that is not set, is
// missing. Where a message cannot tell a zero from nothing, the zero is a value, but no user, group or time. Binary
// fractions are read as the shortest decimal that stands for them. One walk over the bytes finds the wanted fields and
// skips the others by their length, without allocating. So a record that is wrong only within a field that nobody wants
// counts. Of anything else, the walks read what the usual libraries read.
//
// # OpenTelemetry
//
// A record is an export request of OTLP, in Protocol Buffers or JSON, and holds many items: spans, log records or data
// points. A [Batch] reads them one by one. Whether an item counts depends only on itself, its resource and its scope. A
// bare field is an attribute of the item, or else of its resource; paths of OTTL say exactly where. Items without a
// user are skipped.
package codec
