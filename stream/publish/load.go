package publish

import "github.com/louver/louver/stream/ledger"

// mostEntries is how many ledger entries one write may hold.
const mostEntries = 64

// mostRecords is how many records the entries of one write may have, unless a single entry has more. An entry has a
// record for each group and each of its figures and watches. A write is held in memory, and must finish within
// [writeTimeout].
const mostRecords = 1 << 13

// load counts what the entries of one write hold.
type load struct{ entries, records int }

// takes reports whether there is room for one more entry.
func (l load) takes(e ledger.Entry) bool {
	return l.entries == 0 || l.entries < mostEntries && l.records+e.Size() <= mostRecords
}

// with returns the load with one more entry.
func (l load) with(e ledger.Entry) load { return load{l.entries + 1, l.records + e.Size()} }
