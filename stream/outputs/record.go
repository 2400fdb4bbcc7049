// Package outputs reads what has been published: the output topics and nothing else. It serves those who watch, the
// public metrics, and the audit; none of them needs a right on a personal topic.
package outputs

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Record is a published figure, as its JSON says. Numbers are kept as they are written.
type Record struct {
	ID           string       `json:"id"`
	Stream       string       `json:"stream"`
	Group        string       `json:"group"`
	Release      string       `json:"release"`
	WindowStart  time.Time    `json:"window_start"`
	WindowEnd    time.Time    `json:"window_end"`
	DueAt        time.Time    `json:"due_at"`
	Incomplete   bool         `json:"incomplete"`
	Statistic    string       `json:"statistic"`
	P            *json.Number `json:"p"`
	Mechanism    string       `json:"mechanism"`
	Unit         string       `json:"unit"`
	Value        *json.Number `json:"value"`
	Status       string       `json:"status"`
	Reason       *string      `json:"reason"`
	Epsilon      json.Number  `json:"epsilon"`
	RankError95  *json.Number `json:"rank_error_95"`
	Error95      *json.Number `json:"error_95"`
	Quality      string       `json:"quality"` // "" for null, and in records of earlier releases of louver
	Clip         *Clip        `json:"clip"`
	Users        *int64       `json:"users"`
	PLow         *json.Number `json:"p_low"`
	PHigh        *json.Number `json:"p_high"`
	Interval     *Interval    `json:"interval"`
	Smoothed     *Smoothed    `json:"smoothed"`
	StreamSpent  *json.Number `json:"stream_epsilon_spent"`
	Budget       string       `json:"budget"`
	BudgetSpent  *json.Number `json:"budget_epsilon_spent"`
	BudgetLimit  json.Number  `json:"budget_epsilon_limit"`
	BudgetLeft   int64        `json:"budget_windows_left"`
	SchemaString string       `json:"schema"`
}

// Clip is the interval that a mean's or sum's values were cut to: its ends.
type Clip [2]json.Number

// Interval is a paid interval.
type Interval struct {
	Level json.Number `json:"level"`
	Low   json.Number `json:"low"`
	High  json.Number `json:"high"`
}

// Smoothed is a free estimate from this and earlier releases; Low and High are absent where no band is allowed.
type Smoothed struct {
	Value json.Number  `json:"value"`
	Low   *json.Number `json:"low"`
	High  *json.Number `json:"high"`
}

// schema is the only kind of record that is read; others in the topic are passed over.
const schema = "louver.release.v1"

// Decode reads a published record. Foreign records of the same topic give ok = false.
func Decode(value []byte) (r Record, ok bool, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return Record{}, false, fmt.Errorf("output record: %w", err)
	}
	return r, r.SchemaString == schema, nil
}

// bounded is the value and its 95 % error, if it has one.
func (r Record) bounded() (value, error95 float64, ok bool) {
	if r.Value == nil || r.Error95 == nil {
		return 0, 0, false
	}
	value, err := r.Value.Float64()
	error95, err2 := r.Error95.Float64()
	return value, error95, err == nil && err2 == nil
}

// least is what no value of the statistic is below.
func (r Record) least() float64 {
	if r.Statistic == "count" || r.Statistic == "outside" {
		return 0
	}
	return math.Inf(-1)
}

// Key is the series that the record belongs to.
func (r Record) Key() string { return r.Stream + "/" + r.Group + "/" + r.Release }
