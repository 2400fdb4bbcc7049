// Package web serves what has been published to people and programs: the HTTP API and the page.
//
// Everything that it answers comes from the output topics and from the streams files. Both are public. It reads no bag, no
// part, no ledger and no exact count, so that it needs no right on a personal topic.
//
// A [Store] keeps the newest records in memory. [New] makes the handler that answers from it. If Kafka is away, the
// handler goes on to answer what it knows, and says since when it hears nothing new. Records that are no longer in memory
// are not served: whoever needs a longer past reads the output topic.
package web
