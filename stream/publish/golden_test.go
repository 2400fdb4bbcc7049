package publish

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/louver/louver/stream/progress"
)

// TestEveryReleaseReadsHowFarItPublished reads a record of the progress topic: see its testdata/README.md.
func TestEveryReleaseReadsHowFarItPublished(t *testing.T) {
	text, err := os.ReadFile("../progress/testdata/records.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range bytes.Lines(text) {
		var r struct{ Key, Value string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Key != progress.PublishKey(5) {
			continue
		}
		found = true
		var p Progress
		if err := json.Unmarshal([]byte(r.Value), &p); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(p)
		if err != nil || string(again) != r.Value || p.Offset != 482 || p.Behind["b.private"] != 476 {
			t.Errorf("%+v, written as %s, %v, want %s", p, again, err, r.Value)
		}
	}
	if !found {
		t.Error("there is no record of what was published")
	}
}
