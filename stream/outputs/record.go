// Package outputs reads the output topics and nothing else. It serves louver watch, the public metrics and the audit.
// None of these needs a right on a personal topic.
package outputs

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/louver/louver/mechanisms"
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

// bounded returns the value and its 95 % error, if it has one.
func bounded(r Record) (value, error95 float64, ok bool) {
	if r.Value == nil || r.Error95 == nil {
		return 0, 0, false
	}
	value, err := r.Value.Float64()
	error95, err2 := r.Error95.Float64()
	return value, error95, err == nil && err2 == nil
}

// least returns the lowest possible value of the statistic.
func least(r Record) float64 {
	if mechanisms.Statistic(r.Statistic).Family() == mechanisms.OfUsers {
		return 0
	}
	return math.Inf(-1)
}
