package progress_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/louver/louver/stream/progress"
)

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
