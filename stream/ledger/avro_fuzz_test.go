package ledger

import (
	"encoding/json"
	"testing"
)

// FuzzAvroReader: no datum makes the reader panic, and what it reads is JSON.
func FuzzAvroReader(f *testing.F) {
	text, err := AvroSchema()
	if err != nil {
		f.Fatal(err)
	}
	reader, err := NewAvroReader(string(text))
	if err != nil {
		f.Fatal(err)
	}
	record, err := exampleEntry().Records()
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range record {
		datum, err := EncodeAvro(r.Value)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(datum)
	}
	f.Fuzz(func(t *testing.T, datum []byte) {
		if got, err := reader.JSON(datum); err == nil && !json.Valid(got) {
			t.Errorf("%q is read as %s", datum, got)
		}
	})
}
