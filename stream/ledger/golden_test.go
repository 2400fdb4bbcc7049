package ledger_test

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

func linesOf(t *testing.T, name string) (all []string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		all = append(all, lines.Text())
	}
	return all
}

// TestEveryReleaseReadsTheLedger: this release of Louver reads entries of all releases of their version. It writes,
// publishes and decides what the release that wrote the entry did. testdata/README.md explains the lines.
func TestEveryReleaseReadsTheLedger(t *testing.T) {
	for _, files := range [][2]string{{"entries.jsonl", "records.jsonl"},
		{"histogram_entries.jsonl", "histogram_records.jsonl"}, {"days_entries.jsonl", "days_records.jsonl"},
		{"totals_entries.jsonl", "totals_records.jsonl"}, {"found_entries.jsonl", "found_records.jsonl"},
		{"turns_entries.jsonl", "turns_records.jsonl"}, {"left_entries.jsonl", "left_records.jsonl"},
		{"bands_entries.jsonl", "bands_records.jsonl"}, {"order_entries.jsonl", "order_records.jsonl"},
		{"so_far_entries.jsonl", "so_far_records.jsonl"}} {
		t.Run(files[0], func(t *testing.T) { readsTheLedger(t, files[0], files[1]) })
	}
}

func readsTheLedger(t *testing.T, entries, published string) {
	t.Helper()
	state := ledger.NewState("louver", 0)
	var records []string
	for i, line := range linesOf(t, entries) {
		e, err := ledger.Decode([]byte(line))
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if diff := cmp.Diff(line, string(ledgertest.Encode(t, e))); diff != "" {
			t.Errorf("line %d is written another way: %s", i+1, diff)
		}
		for _, r := range ledgertest.Records(t, e) {
			says := string(r.Value)
			if r.Value == nil { // it ends a series
				says = r.ID()
			}
			records = append(records, string(r.Key)+" "+says)
		}
		follows(t, state, e)
		if err := state.Add(e, []byte(line), int64(i)); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		stream, spent := e.Standing.Sums()
		now, err := state.Books.Standing(ledger.Entry{Stream: e.Stream, Budget: e.Budget, Limit: e.Limit,
			Continues: e.Continues, PaidElsewhere: e.PaidElsewhere, WindowStart: e.WindowStart, WindowEnd: e.WindowEnd})
		if gotStream, got := now.Sums(); err != nil || gotStream != stream || got != spent {
			t.Errorf("after line %d the stream has spent %s and the budget %s, %v; want %s and %s", i+1, gotStream, got,
				err, stream, spent)
		}
	}
	if diff := cmp.Diff(linesOf(t, published), records); diff != "" {
		t.Errorf("the entries give other records: %s", diff)
	}
}

// TestEveryReleaseReadsCheckpoints: from a checkpoint that an earlier release wrote of the entries up to each line,
// this one has the same books, lists and series to end as from the first entry, and it writes the same bytes. An audit
// compares these.
func TestEveryReleaseReadsCheckpoints(t *testing.T) {
	for _, files := range [][2]string{{"found_entries.jsonl", "found_checkpoints.jsonl"},
		{"turns_entries.jsonl", "turns_checkpoints.jsonl"}, {"left_entries.jsonl", "left_checkpoints.jsonl"},
		{"order_entries.jsonl", "order_checkpoints.jsonl"}} {
		entries, checkpoints := linesOf(t, files[0]), linesOf(t, files[1])
		if len(entries) != len(checkpoints) {
			t.Fatalf("%s has %d lines and %s %d; want as many", files[0], len(entries), files[1], len(checkpoints))
		}
		for n, text := range checkpoints {
			f, err := ledger.Restore([]byte(text), "louver", 0)
			if err != nil {
				t.Fatalf("%s, line %d: %v", files[1], n+1, err)
			}
			for i := n; i < len(entries); i++ {
				e, err := ledger.Decode([]byte(entries[i]))
				if err != nil {
					t.Fatal(err)
				}
				if i > n {
					follows(t, f, e)
				}
				if err := f.Add(e, []byte(entries[i]), int64(i)); err != nil {
					t.Fatalf("%s, line %d, and then line %d of the entries: %v", files[1], n+1, i+1, err)
				}
				if diff := cmp.Diff(checkpoints[i], string(ledgertest.Checkpoint(t, f))); diff != "" {
					t.Fatalf("%s, line %d, and the entries up to line %d: %s", files[1], n+1, i+1, diff)
				}
			}
			if err := f.Done(); err != nil {
				t.Errorf("%s, line %d: %v", files[1], n+1, err)
			}
		}
	}
}

// follows checks that the next entry follows from its facts and the state.
func follows(t *testing.T, s *ledger.State, e ledger.Entry) {
	t.Helper()
	again, err := s.Derive(ledger.Facts(e))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(ledgertest.Encode(t, e)), string(ledgertest.Encode(t, again))); diff != "" {
		t.Errorf("%s follows from its facts another way: %s", e.Name(), diff)
	}
}

// TestCheckpointOfTurns: a checkpoint keeps the cap of a discovery apart from that of the windows.
func TestCheckpointOfTurns(t *testing.T) {
	lines := linesOf(t, "turns_entries.jsonl")
	for n := 1; n <= len(lines); n++ {
		f := ledger.NewState("louver", 0)
		add := func(f *ledger.State, i int) {
			e, err := ledger.Decode([]byte(lines[i]))
			if err == nil {
				err = f.Add(e, []byte(lines[i]), int64(i))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			add(f, i)
		}
		text := ledgertest.Checkpoint(t, f)
		again, err := ledger.Restore(text, "louver", 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := n - 1; i < len(lines); i++ {
			if add(again, i); i >= n {
				add(f, i)
			}
		}
		if diff := cmp.Diff(string(ledgertest.Checkpoint(t, f)), string(ledgertest.Checkpoint(t, again))); diff != "" {
			t.Errorf("from a checkpoint after %d entries: %s", n, diff)
		}
		for _, row := range []string{"", "hourly"} {
			if got, want := again.Books.Cap("s", 0, row), f.Books.Cap("s", 0, row); got != want || got.Lane != row ||
				got.Count != 2 {
				t.Errorf("row %q has the cap %+v, want %+v", row, got, want)
			}
		}
	}
}
