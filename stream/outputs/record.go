// Package outputs reads the output topics and nothing else. It serves louver watch, the public metrics and the audit.
// None of these needs a right on a personal topic.
package outputs

import (
	"encoding/json"
	"fmt"

	"github.com/louver/louver/stream/record"
)

// Record is a published figure.
type Record = record.Figure

// Decode reads a published record. ok is false for a foreign record in the same topic.
func Decode(value []byte) (r Record, ok bool, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return Record{}, false, fmt.Errorf("output record: %w", err)
	}
	return r, r.Schema == record.Schema, nil
}
