package record_test

import (
	"encoding/json"
	"testing"

	"github.com/louver/louver/stream/record"
)

// FuzzAvroReader: no datum makes the reader panic, and what it reads is JSON.
func FuzzAvroReader(f *testing.F) {
	text, err := record.AvroSchema()
	if err != nil {
		f.Fatal(err)
	}
	reader, err := record.NewAvroReader(string(text))
	if err != nil {
		f.Fatal(err)
	}
	datum, err := record.EncodeAvro([]byte(exampleRecord(f)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(datum)
	f.Fuzz(func(t *testing.T, datum []byte) {
		if got, err := reader.JSON(datum); err == nil && !json.Valid(got) {
			t.Errorf("%q is read as %s", datum, got)
		}
	})
}
