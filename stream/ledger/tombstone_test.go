package ledger_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// compacted is a topic that keeps the last record of each key, or none if the last has no value. It also has the ids of
// all records that ever came.
type compacted struct {
	last map[string]bool
	ids  map[string]bool
}

// take takes the records of an entry.
func (c compacted) take(t ledgertest.T, e ledger.Entry) {
	t.Helper()
	records := ledgertest.Records(t, e)
	if len(records) != e.Size() {
		t.Fatal(fmt.Sprintf("%d records of an entry of %d", len(records), e.Size()))
	}
	for _, r := range records {
		if c.ids[r.ID()] {
			t.Fatal("the id ", r.ID(), " comes twice")
		}
		c.ids[r.ID()] = true
		if left, ok := record.ReadLeft(r.ID()); ok != (r.Value == nil) || ok && (left.Stream != e.Stream ||
			left.Discovery != e.Lane || !left.End.Equal(e.WindowEnd) ||
			!strings.HasSuffix(string(r.Key), "/"+left.Release)) {
			t.Fatal(fmt.Sprintf("the record with the id %s and the key %s has %d bytes", r.ID(), r.Key, len(r.Value)))
		}
		if c.last[string(r.Key)] = true; r.Value == nil {
			delete(c.last, string(r.Key))
		}
	}
}

// TestACompactedTopicHasTheSeriesOfTheList: whatever is found, and in whatever order windows and discoveries come, a
// compacted output has exactly the series of the groups that have figures now. So it has for a stream that follows the
// list, with its own windows. A checkpoint at any place changes nothing.
func TestACompactedTopicHasTheSeriesOfTheList(t *testing.T) {
	names := []string{"a", "a/b", "%", "d", "e e"}
	rapid.Check(t, func(t *rapid.T) {
		rules := ledger.Rules{Source: "in path", Keep: rapid.Int64Range(1, 3).Draw(t, "keep") * 3600,
			Max: rapid.Int64Range(2, 5).Draw(t, "max"), Always: []string{"home"},
			Other: rapid.SampledFrom([]string{"", "rest"}).Draw(t, "other")}
		f := ledger.NewState("louver", 0)
		topics := map[string]compacted{}
		for _, stream := range []string{"s", "f"} {
			topics[stream] = compacted{map[string]bool{}, map[string]bool{}}
		}
		offset := int64(0)
		add := func(e ledger.Entry) {
			value := ledgertest.Encode(t, e)
			back, err := ledger.Decode(value)
			if err == nil {
				err = f.Add(back, value, offset)
			}
			if err != nil {
				t.Fatal(err)
			}
			offset++
			topics[e.Stream].take(t, back)
		}
		window := func(stream string, minute int) {
			p := discovering
			p.Stream = stream
			e := p.Entry(minute)
			from := map[string]string{"f": "s"}[stream]
			if ledgertest.OnList(t, f, &e, from, rules); from != "" {
				if e.List.Left = f.Lists().Gone(e); len(e.List.Left) > 0 {
					e.List.Tombstones = []string{"p50"}
				}
			}
			if err := f.Books.Settle(&e); err != nil {
				t.Fatal(err)
			}
			if e.Reason != "" {
				t.Fatal("the budget is exhausted")
			}
			add(e)
			want := map[string]bool{}
			for _, g := range e.Groups {
				want[record.FoundKey(stream, g.Name, "p50")] = true
			}
			for key := range topics[stream].last {
				if stream == "s" && !strings.HasSuffix(key, "p50") {
					delete(want, key)
				} else if !want[key] {
					t.Fatal("of ", key, " there is still a record, and the groups are ", e.Groups)
				}
			}
			for key := range want {
				if !topics[stream].last[key] {
					t.Fatal("of ", key, " there is no record, and the groups are ", e.Groups)
				}
			}
		}
		for hour := 1; hour <= rapid.IntRange(1, 8).Draw(t, "hours"); hour++ {
			at := ledgertest.Epoch.Add(time.Duration(hour) * time.Hour)
			for _, row := range []string{"one", "two"} {
				if rapid.IntRange(0, 2).Draw(t, "is not due") == 0 {
					continue
				}
				found := rapid.MapOfN(rapid.SampledFrom(names), rapid.Int64Range(1, 5), 0,
					int(rules.Max)).Draw(t, "found")
				d := discovering.Discovery(row, at.Add(-time.Hour), at, rules, found)
				settle := func() error {
					if err := f.Books.Settle(&d); err != nil {
						return err
					}
					return f.Lists().Finish(&d)
				}
				if err := settle(); err != nil {
					t.Fatal(err)
				}
				if len(d.Discovery.Left) > 0 {
					d.Discovery.Tombstones = []string{"p50", "one", "two"}
				}
				add(d)
				for _, name := range d.Discovery.Left {
					for key := range topics["s"].last {
						if strings.HasPrefix(key, record.FoundKey("s", name, "")) {
							t.Fatal(name, " has left, and of ", key, " there is still a record")
						}
					}
				}
			}
			if rapid.Bool().Draw(t, "checkpoint") {
				text := ledgertest.Checkpoint(t, f)
				if text == nil {
					continue
				}
				restored, err := ledger.Restore(text, "louver", 0)
				if err != nil {
					t.Fatal(err)
				}
				if again := restored.Lists(); !slices.Equal(
					slices.Sorted(maps.Keys(again.Last("b", "s", "one", rules, at))),
					slices.Sorted(maps.Keys(f.Lists().Last("b", "s", "one", rules, at)))) {
					t.Fatal("the checkpoint has another list")
				}
				for _, next := range []ledger.Entry{{Stream: "f", Budget: "b"}, {Stream: "s", Budget: "b"}} {
					if x, y := f.Lists().Gone(next), restored.Lists().Gone(next); !slices.Equal(x, y) {
						t.Fatal("the checkpoint has other groups: ", x, " and ", y)
					}
				}
			}
			window("s", 60*hour+1)
			if rapid.Bool().Draw(t, "follows") {
				window("f", 60*hour+2)
			}
		}
	})
}

// TestEntriesWithTombstonesThatNobodyWrites are refused.
func TestEntriesWithTombstonesThatNobodyWrites(t *testing.T) {
	rules := ledger.Rules{Source: "in path", Keep: 3600, Max: 9}
	end := ledgertest.Epoch.Add(time.Hour)
	for name, c := range map[string]struct {
		list      ledger.List
		discovery ledger.Discovery
		want      string
	}{
		"right": {list: ledger.List{Stream: "t", Left: []string{"b", "c"}, Tombstones: []string{"p50"}}},
		"no figures": {ledger.List{Stream: "t", Left: []string{"b"}}, ledger.Discovery{},
			"0 series end of 1 groups"},
		"no groups": {ledger.List{Stream: "t", Tombstones: []string{"p50"}}, ledger.Discovery{},
			"1 series end of 0 groups"},
		"its own list": {ledger.List{Left: []string{"b"}, Tombstones: []string{"p50"}}, ledger.Discovery{},
			"1 series end of 1"},
		"one is still here": {ledger.List{Stream: "t", Left: []string{"a"}, Tombstones: []string{"p50"}},
			ledger.Discovery{}, "or one is still"},
		"out of order": {ledger.List{Stream: "t", Left: []string{"c", "b"}, Tombstones: []string{"p50"}},
			ledger.Discovery{}, "not in the order"},
		"a figure twice": {ledger.List{Stream: "t", Left: []string{"b"}, Tombstones: []string{"x", "x"}},
			ledger.Discovery{}, "2 series end"},
		"a figure with /": {ledger.List{Stream: "t", Left: []string{"b"}, Tombstones: []string{"x/y"}},
			ledger.Discovery{}, "1 series end"},
		"of a discovery": {discovery: ledger.Discovery{Left: []string{"b"}, Tombstones: []string{"p50"}}},
		"nobody left": {discovery: ledger.Discovery{Tombstones: []string{"p50"}},
			want: "1 series end of 0 groups"},
	} {
		e := discovering.Entry(9)
		e.Groups = []ledger.Group{{Name: "a", Values: []ledger.Value{{Value: ledgertest.Some("7")}}}}
		e.List = &c.list
		e.List.Rules = rules
		if len(c.discovery.Tombstones) > 0 {
			e = discovering.Discovery("row", ledgertest.Epoch, end, rules, map[string]int64{"a": 5})
			e.Discovery.Left, e.Discovery.Tombstones = c.discovery.Left, c.discovery.Tombstones
		}
		value, err := e.Encode()
		switch {
		case c.want == "" && err == nil && strings.HasPrefix(string(value), `{"v":5,`):
		case c.want == "" || err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q\n%.20s", name, err, c.want, value)
		}
	}
}
