// Package record is the record of an output topic: a [Value], the [Series] that it belongs to, its JSON and Avro, and
// their schemas. It knows nothing of how a figure was drawn or paid for: package ledger makes one from an entry, and
// everything that shows a published value reads one. All of it is public by design.
package record
