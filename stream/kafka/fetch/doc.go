// Package fetch reads millions of records a second from Kafka partitions.
//
// A Client makes Readers, one for each partition. Reader.Poll asks the partition's leader for the batches that follow
// the reader's position, and returns them as a Page. Page.Each visits the records where they lie in the page, without
// allocating anything for them. ReadAll reads everything up to now. Ends, Starts and OffsetAt look up offsets.
//
// # Why not kafka-go's own reader
//
// kafka-go's Transport handles connections, TLS, SASL, metadata and routing. This package replaces only the decoding of
// fetched records, for two reasons:
//
//   - Speed: kafka-go's Reader spends about ten times as long on a record.
//   - Correctness: kafka-go's Reader and Client.Fetch deliver the records of aborted transactions, misread the
//     timestamps of a LogAppendTime topic, and silently skip records that were deleted before they were read. The batch
//     header tells all of this, but they hide it.
//
// The hook for this is protocol.RawExchanger. It lets a request write and read the wire itself, and the request in
// request.go does. Nothing is registered globally, so other code in the same binary can still use kafka-go's Reader and
// Client.Fetch.
//
// # What a page guarantees
//
//   - Under read committed (the default) a page has no records of aborted transactions. Those of an open transaction
//     are delivered once it commits. Transaction markers are never delivered.
//   - The CRC of a batch is checked before its records are delivered, and each length in it before that length is used.
//   - Offsets strictly increase and are never below the position. The position also moves past everything that is not
//     delivered.
//   - Page.Lost counts the records that the broker deleted before they were read.
//   - A batch is unpacked as a stream, so memory does not grow with its size. A record larger than
//     Options.MaxRecordBytes is delivered without its content. The other records of its batch are unaffected.
//   - A batch that can't be read is a BatchError: its CRC is wrong, or it has message format v0 or v1 (Kafka before
//     0.11, gone in Kafka 4). Reader.Skip moves on to the next batch and returns how much is lost.
//
// Two things go unnoticed: a topic that was deleted and recreated under the same name, if it is already longer than the
// position; and a log that lost its end in an unclean election, if it has since grown past the position.
package fetch
