package progress_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/louver/louver/stream/progress"
)

// TestEveryReleaseReadsTheProgress: testdata/README.md says what the records are.
func TestEveryReleaseReadsTheProgress(t *testing.T) {
	text, err := os.ReadFile("testdata/records.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	inputs := 0
	for line := range bytes.Lines(text) {
		var r struct{ Key, Value string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		topic, partition, ok := progress.ParseInputKey(r.Key)
		if !ok {
			continue // package publish reads its own
		}
		inputs++
		in, err := progress.DecodeInput([]byte(r.Value))
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(in)
		if err != nil || string(again) != r.Value {
			t.Errorf("it is written as\n%s, %v, want\n%s", again, err, r.Value)
		}
		one := in.Streams["checkout#1"]
		if topic != "checkout.events" || partition != 3 || in.Offset != 1200 || in.Base != 1000 || in.Read != 1250 ||
			one.From != 1180 || one.Again == nil || one.Again.Grace != 30*time.Second {
			t.Errorf("%s/%d: %+v", topic, partition, in)
		}
	}
	if inputs != 1 {
		t.Errorf("%d records of inputs, want 1", inputs)
	}
}

// FuzzDecodeInput: whatever a worker finds under its key is an error or what is written down again.
func FuzzDecodeInput(f *testing.F) {
	for _, text := range []string{`{"offset":7,"base":3,"topic_id":"t","former_topic_id":"s","read":9,"streams":{"s#1":{"from":7,"through":60000000000,"marked":1}}}`,
		`{}`, `null`, `[]`, `{"offset":9223372036854775808}`, `{"streams":{"s":null}}`, `{"offset":1`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		in, err := progress.DecodeInput(value)
		if err != nil {
			return
		}
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := progress.DecodeInput(again); err != nil || !reflect.DeepEqual(back, in) {
			t.Fatalf("%s comes back as %+v (%v)", again, back, err)
		}
	})
}
