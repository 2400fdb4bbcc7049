// Package stream is the service: three stages between Kafka topics. Personal events go in, one number in each record.
// Differentially private statistics of windows of event time come out.
//
// This page is the map. It follows an event and a charge through the service, and then says what is promised and which
// package keeps each promise.
//
// # The picture
//
//	 input topics         events (personal)
//	      │
//	   ingest             one worker for each partition of an input topic
//	      │               writes parts and marks, each at least once
//	<app>.partials        what users contribute to open windows, under hashes (personal)
//	      │
//	   release            one worker for each partition of the partials
//	      │               writes one entry a window, in a transaction
//	 <app>.ledger         every charge and every value (public), kept for ever
//	      │
//	   publish            one worker for each partition of the ledger
//	      │               writes records and its progress, in a transaction
//	output topics         one record a value (public)
//
//	<app>.control         what all processes agree on: the keys for hashes and watches, the definitions
//	                      of the streams, which budget pays for what, how many partitions an input has
//	<app>.progress        how far each worker has come, and checkpoints of the ledger
//	<app>.state           snapshots of who has counted (personal, under hashes)
//
// Any number of processes with the same app id share the work. Each stage is a consumer group ([stage.Run]), and a
// process runs all stages or some. Everything that must outlive a process is in these topics: a process has no disk.
//
// # The way of an event
//
//  1. [fetch.Reader] delivers the record. Package codec decodes it to an Event: a user, a value as a point of the grid,
//     a group and a time. A record that does not decode is rejected and counted, and one that the stream's conditions
//     leave out is skipped. Records of OpenTelemetry hold many events, of which each is decoded alone
//     (ingest/items.go).
//  2. [windows.Hasher] replaces the user by a keyed hash. The key is in the control topic.
//  3. The event goes into the [windows.Bag] of the slice that holds its time. A slice is as long as the step from one
//     window to the next. A bag keeps one contribution for each user and group, chosen or added up by the stream's
//     policy. This is where the sensitivity is fixed.
//  4. Every half minute, at every cut, and whenever the bags are too large, ingest writes each bag as a [windows.Part]
//     and then a [windows.Mark]. The mark says which offsets the parts cover, and which windows are cut there. Parts
//     and marks go to the partition of the partials that belongs to the stream's budget.
//     Streams of one topic that differ only in releases and outputs share their bags. Each of them gets parts and
//     marks of its own.
//  5. Release collects them in a [windows.Gathering], which knows when a window is complete. A [windows.Merger] puts
//     the window's parts together; a user who is in several of them counts as if all records had been in one. Its
//     Sample holds values and how many users have each, and no hashes. Streams that shared their bags share it too.
//     Trackers of max_windows and of running totals go through all windows, one after another, and see each user: they
//     remember who has counted (package attendance).
//  6. A mechanism draws each release of each group from that sample, with noise from crypto/rand. Everything else that
//     it uses is public: the definition, and earlier releases. Groups without users are drawn like all others.
//     Figures from a histogram are computed from what it drew ([ledger.Entry.Compute]). Roll-ups are sums of what it
//     drew in all windows of a period, or of the newest time ([ledger.Rollups]). Sums over the newest time are kept in
//     blocks of windows, and so are the users of objectives, such as 99 % below 300 ms. All groups
//     together are the sum of what was drawn for each ([ledger.Together]). None of this costs anything.
//  7. The values become a [ledger.Entry], together with the charge, and the entry is committed.
//  8. Publish expands the entry to the records of the output topic ([record.Value]). An entry holds everything that
//     its records say, so this only copies. Other destinations would implement [publish.Sink].
//
// # What a stream publishes
//
// A stream has one ordered list of figures ([config.Stream.Figures]). Each is of one of the [config.Kinds]. It knows
// what it costs, which series it has, and how it would be under another budget. So prices, names, retention and pages
// go through figures and know no kinds. A kind has these places:
//
//   - config: a file and a row. The row and [config.About] are what the API, statements, alerts and logs say of it.
//   - parse: a form and a row (kinds.go).
//   - release/decide: a draw (continual.go).
//   - ledger: a file and a row (continual.go), if it has instances.
//   - release/attendance: how users are remembered (ongoing.go), if they are.
//
// Beyond these it is named for three things only: a field of its own in the record (record/value.go, with a column of
// CSV in web/releases.go), a forecast of its own (the commands check and plan), and flags of its own (plan and
// release). Code that needs one kind asks [config.All] or [config.Of].
//
// release/decide/testdata/recorded has recorded topics. The stage must write the same bytes again. So a change that
// should change no figure and no charge is seen to change none. release/decide/testdata/scripts tells in plain
// words what the stage does at a crash, at an edit, at a lost part, and where a budget is spent.
//
// # The way of a charge
//
// What a window costs follows from the stream's definition alone ([config.Stream.Price]). One worker decides all
// windows of a budget, in the order in which they are due: the worker of the budget's partition ([topics.Place]).
//
// The worker knows what is spent from the ledger. For each window [ledger.Books.Settle] asks whether the price fits
// under the limit. The answer depends on earlier entries, the window, the price and the limit, never on data. A window
// that does not fit is withheld whole: nothing is drawn and nothing is charged, and the entry says so.
//
// When a worker gets a partition it reads the entries into a [ledger.State]. To keep this fast as the ledger grows, a
// worker saves the state after every thousand entries ([ledger.State.Checkpoint]): to the progress topic, in the
// transaction of the next entries. The next worker begins there. A checkpoint only saves time. The ledger stays the
// truth, whole and for ever. If a checkpoint contradicts the entries, it is ignored and all entries are read. If
// entries that it covers are gone, the stage stops, because charges may be lost. `louver audit` recomputes the last
// checkpoint of each partition from the first entry. Earlier checkpoints are gone, because the topic is compacted.
//
// A watch is charged when it is armed, and not for each window. Its charge is held: it counts in every period in which
// the instance looked at a window ([budget.Held]). Which instances look, and which are armed, follows from the entries
// ([ledger.Books.Settle]). The window's entry also says what they do, and has the secret of a new instance, sealed
// under a key in the control topic. So a crash repeats nothing: see package decide.
//
// A release that is published on change is such a watch too. It tests whether the last values still hold, and draws a
// new one where they do not. The entries repeat all values, so publish only copies here as well.
//
// A running total, such as the users so far today, is charged once a period in the same way. It has no secret: it draws
// noisy sums of finished stretches, which are in the entries, and totals follow from them (mechanisms/running). The
// distribution so far is such a total of each number of a histogram, with the figures that are computed from it
// ([config.SoFar]).
//
// A number of active users, such as those seen in the last 15 minutes, has no periods. Each of its draws is charged,
// and a cap says that only one of them counts in any 24 hours. Its values follow from the draws too, and what the draws
// subtract is remembered with who was seen (windows.Presence, attendance.Ongoing).
//
// Some streams have groups that nobody can list. Then a discovery draws, at the end of each period,
// which names many users share. What it finds is in an entry of its own, with its charge, and the list of a window
// follows from the entries before it ([ledger.Lists]). Ingest knows no list: parts have all names, and the merger
// leaves out those that are not listed. A discovery notes who counts for what while its period lasts, so that it need
// not read a whole day again at its end (decide/notes.go).
//
// So an entry has facts, and what follows from them. Facts are what the definition says and what was drawn. Everything
// else is derived in one place ([ledger.State]): release settles an entry, draws, and finishes it. `louver audit` drops
// what is derived, derives it again, and names the first place that differs.
//
// The charge and the values are one record. There is no value without a charge, and none is charged twice.
//
// [control.Load] decides which budget may pay for a stream. If a stream changes its budget, or a second budget begins
// to pay for the same input, the file has to say whether the former spending counts (`continues`) or not (`fresh`). A
// budget that continues another first waits until the other's last charge is in the ledger.
//
// # What is promised, and where
//
// Windows close by the clock. When a window is due (its end plus grace), ingest asks for the end offset of the
// partition: that is the window's cut. Whether a record counts in a window depends on its event time, its offset and
// the cut, not on when it is read. So it makes no difference how far a reader has come, or how often it starts again:
// the first cut in the log counts. A record is late if it lies beyond the cuts of all windows that hold its time. See
// package [ingest].
//
// An outage of the brokers makes no event late that comes soon after it. If a partition's broker was away for two
// seconds or more, windows that are due wait for the grace again from its return. That depends on the broker's answers
// alone. If it keeps going away, producers have three graces in all, and each return uses up a tenth of one or more.
// A process that starts after the return knows nothing of the outage, and cuts windows that are due at once. One that
// starts while no broker answers does know. See ingest/outage.go.
//
// A registry that is behind makes no record bad. A record whose schema the registry does not have yet is kept aside,
// and the partition reads on. It counts if its schema comes before the windows of its timestamp are cut. Reading does
// not wait for the registry's answers, and a number that it does not know is seldom asked for again. A registry that
// does not answer decides nothing, and windows wait for it. Where contributions add up, the records behind such a
// record wait with it. See ingest/undecided.go.
//
// Reading twice is harmless. Each policy that chooses does so by a total order, so parts may overlap and may come in
// any order. Where contributions add up, each record has to count once. So only the parts on the line of a
// window's cut count in it. Parts need no transactions. See windows/line.go.
//
// Nothing waits for what cannot come. Marks form a chain of offsets for each partition. Where the chain has a gap, or a
// mark names a part or follows a cut that the log no longer has, [windows.Gathering.State] calls the window ready and
// incomplete. It is then released with what is left, its records say `incomplete`, and the log has an error.
//
// Nobody counts too often. Each window of a stream goes through its trackers in order: the [windows.Cap] of
// max_windows, the [windows.Allowance] of a running total, and the [windows.Presence] of a number of active users. The
// periods of a discovery go through a cap of their own. Every ten minutes of windows, or more often, the worker writes
// down in the state topic who has counted. A new worker begins with that. It takes the windows since then through the
// trackers again, from parts that are kept for this. If something that it needs is lost, a new era of the cap begins,
// whose charges add to those of the old one ([budget.Cap]). A total ends, and another one begins and is charged. See
// package attendance.
//
// One draw. A window has one entry, because the transactional id of the partition fences all earlier workers
// ([txn.Open]). Noise that was drawn in an aborted transaction is still in the ledger's log, and readers of uncommitted
// records see it. The next session therefore reads the aborted entries too, and commits them again byte for byte
// instead of drawing anew. See package decide, the core of release: it decides, and has no Kafka, clock or log.
//
// One record. An output record is written in the same transaction as the progress of its worker, and its bytes follow
// from the entry. A reader of committed records sees it once. See package [publish].
//
// Progress does not expire. Kafka forgets a group's offsets a week after its last member left. So workers resume from
// [progress.Log], and commit offsets only so that other tools can show the lag. Which windows are decided is known from
// the ledger, not from the progress.
//
// Definitions are epochs. Processes act on the newest epoch in the control topic and not on their own files. A changed
// file becomes a new epoch. A changed stream follows it from a boundary of its old and its new windows on, at least 20
// seconds ahead. The windows that began before it are finished under the old definition. Every part carries the number
// of its definition. A process with an older file follows the others. When an epoch appears, [Service.Run] begins its
// stages again. See package [control].
//
// Inputs may grow. The control topic says how many partitions a window takes ([control.Inputs]). When a topic grows,
// windows that are due later wait for a cut of every partition, and earlier ones only for the old partitions. The
// worker of partition 0 proposes the new number, and it cuts no window that this concerns before it knows the outcome.
// A topic that shrinks or is recreated ends no stream. The loss makes windows incomplete.
//
// Own topics may be deleted. Partials, progress and state are recreated, also while the service runs, and windows whose
// parts are lost are incomplete. Without the ledger nobody knows what was charged, and without the control topic nobody
// knows who is who: then the service ends, and none can start. If all own topics are gone, a service that starts sees
// in the outputs that the app has published. Then it ends too, unless it is told to begin again. See guard.go and
// published.go.
//
// Memory is bounded. [Service.BagBytes] limits the open bags of a process, the parts that release holds, and the users
// of a window that is being merged. Bags beyond that are written as parts, parts are read again when their window is
// decided, and windows of more users are merged in several passes over their parts ([windows.Merger]). Half as much
// again bounds what discoveries note of the users of their periods ([windows.Tally]). Compressed batches are unpacked
// as a stream. Two things are kept whole. One is the merged sample: one number for each distinct value of each group.
// The grid and the list of groups bound it. The other is who has counted, in each tracker: some 50 bytes for each user
// who did in one part of the period. [Service.Remembers] is told how much that is, together with the notes of
// discoveries and what the figures have learnt.
//
// Faults stay where they happen. A record that is too large is rejected alone, a damaged batch is left out alone, and
// an output that takes no records, or that may not be read, holds up no other output. What a broker refuses is retried
// for ever, partition by partition. Only these errors end a stage, and the process with it ([stage.Final]): a topic
// with wrong settings, a ledger that cannot be read in full, because then the charges are unknown, and a control topic
// that cannot be read.
//
// The clock is watched. While the clock steps or disagrees with the brokers, no windows close: they would be charged
// before their events arrive. A window closes only once a broker's own time has come to within half the shortest grace
// of the moment at which it is due, so a clock that runs fast closes none early. A process that doubts its clock for
// half a minute leaves the reading of inputs to others, if there are any. See package [clock]. A demo has a clock of
// its own, by which days take minutes. Nobody else has it, so it is trusted.
//
// The service can be observed. [health.Monitor] says whether the process does its work, and what it waits for. Package
// [metrics] counts for operators. Only operators see counts that depend on persons, such as those of rejected and late
// records.
//
// # What is not promised
//
// A reader of uncommitted output records may see the same value twice.
//
// Parts are deleted as soon as no undecided window needs them, for itself or to know who has counted. But a broker
// erases them only with their segment: about an hour later if the service created the topic. Without the right to
// delete, they stay until their retention ends.
//
// # Other packages
//
// [config] is the model of the streams file, and [parse] reads it. [kafkaconn] connects and retries, package login has
// the ways to log in, [group] is membership in a consumer group, [txn] writes, and [topics] knows every topic and right
// that is needed. [episode] keeps the log short while a fault lasts. Package registry reads schemas for codec, and
// takes those of outputs in Avro. Package groupname says how names that nobody listed are written.
//
// Package ledger/log reads the entries of the ledger from its topic, and says which errors mean that charges are
// unknown. Package record is what an output record says, package outputs reads what was published, and package audit
// compares it with the ledger. Package web serves it as a page and an API, and web/compare says whether two figures
// differ. Package export sends it to a metrics backend by OpenTelemetry: it is run like a stage, in a process of its
// own that may only read the outputs. Package silence says since when hardly anybody is there. Package rules writes
// alerts, and remedy says what would make a noisy figure readable.
//
// Packages replay, simulate and shape serve the demo and the command line, kafkatest the tests, and embedded starts
// brokers for both. Folder bench is a module of its own, which measures the service. Outside stream, package windows
// knows nothing of Kafka, budget nothing of mechanisms, and mechanisms nothing of either.
package stream
