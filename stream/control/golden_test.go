package control

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// TestEveryReleaseReadsTheControlTopic: a process that starts on what an earlier release has agreed on follows it, and
// adds nothing. testdata/README.md says what the records are.
func TestEveryReleaseReadsTheControlTopic(t *testing.T) {
	s, log, editions := follow(t, "records.jsonl", "streams.yaml")
	last := editions[len(editions)-1]
	if s.Epoch() != 2 || last.Number != 1 || last.Stream.Budget.Name != "shoppers" ||
		last.Schedule.First().Start != 1795464000e9 {
		t.Errorf("epoch %d, definition %d with budget %s from %d on; want 2, 1, shoppers and 1795464000e9",
			s.Epoch(), last.Number, last.Stream.Budget.Name, last.Schedule.First().Start)
	}
	if s.HashKey[0] != 0xc1 || len(s.WatchKey) != watchKeySize || s.WatchKey[0] != 0xbd {
		t.Errorf("the keys begin with %x and %x, want c1 and bd", s.HashKey[0], s.WatchKey[0])
	}
	if got := s.Lineage("shoppers"); !reflect.DeepEqual(got, []string{"shoppers", "a"}) {
		t.Errorf("shoppers counts the charges of %q, want shoppers and a", got)
	}
	if want := map[string][]int64{"out": {17, 0, 4}}; !reflect.DeepEqual(s.Forgotten, want) {
		t.Errorf("forgotten is %v, want %v", s.Forgotten, want)
	}
	in := NewInputs(log)
	if err := in.Learn(t.Context()); err != nil || in.Partitions("in-a", 0) != 3 ||
		in.Partitions("in-a", 1900000000e9) != 5 {
		t.Errorf("the input has %d partitions at first, and %d later, %v; want 3 and 5",
			in.Partitions("in-a", 0), in.Partitions("in-a", 1900000000e9), err)
	}
}

// TestEveryReleaseReadsDefinitions: a definition with a histogram, its roll-ups and what is computed from it, and with
// a running total, is what the file says that it was made from.
func TestEveryReleaseReadsDefinitions(t *testing.T) {
	_, _, editions := follow(t, "features_records.jsonl", "features.yaml")
	if len(editions) != 1 {
		t.Fatalf("%d definitions; want one", len(editions))
	}
	of := editions[0].Stream
	if editions[0].Number != 0 || of.Name != "pages" || len(config.All[*config.Release](of)) != 1 || len(config.All[*config.Computed](of)) != 2 ||
		len(config.All[*config.Total](of)) != 1 {
		t.Errorf("definition %d of %s has %d releases, %d figures from them and %d totals; want 0, pages, 1, 2 and 1",
			editions[0].Number, of.Name, len(config.All[*config.Release](of)), len(config.All[*config.Computed](of)), len(config.All[*config.Total](of)))
	}
}

// follow loads records of the control topic beside the file that its last epoch follows.
func follow(t *testing.T, records, streams string) (*State, *memory, []config.Edition) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + records)
	if err != nil {
		t.Fatal(err)
	}
	log := &memory{}
	for line := range bytes.Lines(text) {
		var r struct{ Key, Value string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		log.records = append(log.records, Record{[]byte(r.Key), []byte(r.Value)})
	}
	before := len(log.records)
	yaml, err := os.ReadFile("testdata/" + streams)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parse.File(streams, yaml, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	wanted := Wanted{Streams: file.Streams, Revision: file.Revision}
	s, err := Load(t.Context(), log, wanted, never)
	if err != nil {
		t.Fatal(err)
	}
	if len(log.records) != before || s.Older || len(s.Notes) > 0 {
		t.Errorf("the same file adds %d records, with the notes %q; want none", len(log.records)-before, s.Notes)
	}
	editions, err := s.Editions(wanted)
	if err != nil {
		t.Fatal(err)
	}
	return s, log, editions
}
