package publish

import (
	"slices"
	"testing"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// A write holds few entries if each has many records: a stream with 1,000 groups and 100 watches has 100,000 in every
// window.
func TestWritesAreBoundedByRecords(t *testing.T) {
	entry := func(groups, watches int) ledger.Entry {
		return ledger.Entry{Groups: make([]ledger.Group, groups), Releases: make([]record.Series, 1),
			Continual: slices.Repeat([]ledger.Continual{{Watch: new(ledger.Watch)}}, watches)}
	}
	for _, c := range []struct {
		groups, watches, want int
	}{
		{1, 0, mostEntries},
		{64, 1, mostEntries}, // 64 × 128 records are the most
		{64, 2, mostRecords / (64 * 3)},
		{1000, 1, 4},
		{1000, 100, 1},
	} {
		var l load
		for e := entry(c.groups, c.watches); l.takes(e) && l.entries < 1000; {
			l = l.with(e)
		}
		if l.entries != c.want {
			t.Errorf("%d groups and %d watches: %d entries in a write, want %d", c.groups, c.watches, l.entries, c.want)
		}
	}
}
