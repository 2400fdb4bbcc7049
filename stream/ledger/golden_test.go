package ledger_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
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
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		all = append(all, lines.Text())
	}
	return all
}

// TestEveryReleaseReadsTheLedger: what this release writes and publishes of an entry, and what it decides, is what the
// release did that wrote the entry. testdata/README.md says what the lines are.
func TestEveryReleaseReadsTheLedger(t *testing.T) {
	for _, files := range [][2]string{{"entries.jsonl", "records.jsonl"},
		{"histogram_entries.jsonl", "histogram_records.jsonl"}, {"days_entries.jsonl", "days_records.jsonl"},
		{"totals_entries.jsonl", "totals_records.jsonl"}, {"found_entries.jsonl", "found_records.jsonl"},
		{"turns_entries.jsonl", "turns_records.jsonl"}, {"left_entries.jsonl", "left_records.jsonl"}} {
		t.Run(files[0], func(t *testing.T) { readsTheLedger(t, files[0], files[1]) })
	}
}

func readsTheLedger(t *testing.T, entries, published string) {
	t.Helper()
	books, sums := ledger.NewBooks(), ledger.NewRollups()
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
		again := e
		again.Steps = slices.Clone(e.Steps)
		if err := books.Settle(&again); err != nil || again.Reason != e.Reason {
			t.Errorf("line %d is decided with the reason %q, %v; want %q", i+1, again.Reason, err, e.Reason)
		}
		for j, s := range e.Steps {
			if unlike := s.Unlike(again.Steps[j], e); unlike != "" {
				t.Errorf("line %d: %s %s", i+1, s.Name, unlike)
			}
		}
		if unlike := e.Uncomputed(); unlike != "" {
			t.Errorf("line %d: %s", i+1, unlike)
		}
		if rollups, err := sums.Next(e); err != nil || !ledger.SameRollups(rollups, e.Rollups) {
			t.Errorf("line %d has other roll-ups than the lines before it give: %v", i+1, err)
		}
		if err := errors.Join(books.Add(e), sums.Add(e)); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		stream, spent := e.Standing.Sums()
		now, err := books.Standing(ledger.Entry{Stream: e.Stream, Budget: e.Budget, Limit: e.Limit, Continues: e.Continues,
			Before: e.Before, WindowStart: e.WindowStart, WindowEnd: e.WindowEnd})
		if gotStream, got := now.Sums(); err != nil || gotStream != stream || got != spent {
			t.Errorf("after line %d the stream has spent %s and the budget %s, %v; want %s and %s", i+1, gotStream, got, err,
				stream, spent)
		}
	}
	if diff := cmp.Diff(linesOf(t, published), records); diff != "" {
		t.Errorf("the entries give other records: %s", diff)
	}
}
