// Package web serves the published figures to people and programs: it has the HTTP API and the page.
//
// All answers come from the output topics and the streams files. Both are public. The package reads no bag, no part, no
// ledger and no exact count, so it needs no right on a personal topic.
//
// A [Store] keeps the newest records in memory. [New] makes the handler that answers from it. If Kafka is away, the
// handler still answers from memory, and says since when it has heard nothing new. It does not serve records that are
// no longer in memory. For a longer past, read the output topic.
//
// The files of the page are in page. A demo adds what only it knows, a [Demo], and the files in demo. Nothing else
// serves them.
//
// Each kind of answer has a type and a file. It is made from a source: the Store and the definitions. Only api.go
// knows all of them. Package compare says whether figures differ by more than noise explains. A signal is a figure that
// begins to differ from those of the hour before it by more than noise and the usual variation explain.
package web
