// Package fetch reads records from Kafka partitions, many a microsecond.
//
// A Client makes Readers, one for each partition. Reader.Poll asks the
// partition's leader for the batches from the reader's position on and returns
// them as a Page; Page.Each visits the records in place, without an allocation
// for any of them. ReadAll, Ends, Starts and OffsetAt are for those who need
// everything up to now, or an offset.
//
// # Why not kafka-go's own reading
//
// kafka-go's Transport does connections, TLS, SASL, metadata and routing here.
// Its decoding of fetched records is replaced, for two reasons. Speed: its
// Reader spends about ten times as long on a record. Correctness: Reader and
// Client.Fetch deliver the records of aborted transactions, read the timestamp
// of a LogAppendTime topic wrongly, and pass silently over records that were
// deleted before they could be read. All of that is in the batch header, which
// they hide.
//
// The way in is protocol.RawExchanger, kafka-go's hook for a request that
// writes and reads the wire itself: request.go is such a request. Nothing is
// registered globally, so that other code in the same binary may use
// kafka-go's Reader or Client.Fetch undisturbed.
//
// # What a reader of a page can rely on
//
//   - Under read committed (the default) records of aborted transactions are
//     not delivered, and those of open ones not yet. Transaction markers are
//     never delivered.
//   - Every batch's CRC is checked before its records are delivered, and
//     every length in it before it is used.
//   - Offsets are delivered in strictly increasing order, none below the
//     position. The position moves past everything that need not be delivered.
//   - Records that the broker deleted before they were read are counted in
//     Page.Lost.
//   - A batch is unpacked as a stream: memory does not grow with what it holds.
//     A record larger than Options.MaxRecordBytes is delivered without its
//     content, and the others of its batch as they are.
//   - A batch that can't be read is a BatchError: its CRC does not fit, or it has
//     message format v0 or v1 (Kafka before 0.11, gone in Kafka 4).
//     Reader.Skip goes on behind it and tells what is lost.
//
// What is not noticed: a topic that was deleted and made again under the same
// name and is already longer than the position; and a log that lost its end in
// an unclean election and has grown past the position again.
package fetch
