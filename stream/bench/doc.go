// Package bench measures the service on a real broker: what an event costs, how much memory a process takes, and how
// soon a window is published. `make bench` prints one table. Clients that do nothing but fetch stand in it too, as the
// floor. The module is one of its own, so that what they are built from is no dependency of the service.
//
// A row's events are in the topic before the process starts. The process reads them, closes all their windows and
// publishes. Then it ends, and the operating system says what it took. Rows named live get events as time goes by.
//
// These variables choose the run:
//
//	BENCH         rows whose name contains one of these words, separated by commas; all without
//	BENCH_EVENTS  events of a row, 2 million without
//	BENCH_PROFILE a folder that gets a CPU profile of the first seconds of each row, for go tool pprof
//	BENCH_USERS   users, 100,000 without
//
// `make growth` prints how cost grows with events, users, groups, releases, overlap, streams and processes, a table
// each:
//
//	GROWTH        tables whose axis contains one of these words; all without
//	GROWTH_MOST   the most events or users of a row, a million without
package bench
