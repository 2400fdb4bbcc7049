// Package outputs reads what has been published: the output topics and nothing else. It serves louver watch, the public
// metrics and the audit, none of which needs a right on a personal topic.
package outputs

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
)

// Record is a published figure, as its JSON says.
type Record = ledger.Figure

// Decode reads a published record. Foreign records of the same topic give ok = false.
func Decode(value []byte) (r Record, ok bool, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return Record{}, false, fmt.Errorf("output record: %w", err)
	}
	return r, r.Schema == ledger.Schema, nil
}

// bounded is the value and its 95 % error, if it has one.
func bounded(r Record) (value, error95 float64, ok bool) {
	if r.Value == nil || r.Error95 == nil {
		return 0, 0, false
	}
	value, err := r.Value.Float64()
	error95, err2 := r.Error95.Float64()
	return value, error95, err == nil && err2 == nil
}

// least is the lowest possible value of the statistic.
func least(r Record) float64 {
	if mechanisms.Statistic(r.Statistic).Family() == mechanisms.OfUsers {
		return 0
	}
	return math.Inf(-1)
}
