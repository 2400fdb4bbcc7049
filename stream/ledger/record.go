package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// Record is one record of an output topic.
type Record struct {
	Topic      string
	Key, Value []byte
	Headers    []Header
	// Time is the record's timestamp: the end of the window.
	Time time.Time
}

// Header is one header of a record. Their order is part of the record.
type Header struct {
	Key   string
	Value []byte
}

const (
	schema      = "louver.release.v1"
	specVersion = "1.0" // of CloudEvents
	headerID    = "ce_id"
)

// Format is the newest format of output records. Entries of format 0 give records without error_95, quality and
// incomplete, and with released_at.
const Format = 1

// number is a decimal written as a JSON number, exact.
type number struct{ decimal.Decimal }

// MarshalJSON writes every digit.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

func optional(d *decimal.Decimal) *number {
	if d == nil {
		return nil
	}
	return &number{*d}
}

// text is a number for people.
func text(n *number) string {
	if n == nil {
		return "no bound"
	}
	return n.String()
}

// output is the value of an output record. Names and order are public, and described in record.schema.json; go generate
// ./cmd/louver brings deploy/RECORD.md up to date.
type output struct {
	Schema      string          `json:"schema"`
	ID          string          `json:"id"`
	Stream      string          `json:"stream"`
	Group       string          `json:"group"`
	Release     string          `json:"release"`
	WindowStart second          `json:"window_start"`
	WindowEnd   second          `json:"window_end"`
	DueAt       second          `json:"due_at"`
	ReleasedAt  *second         `json:"released_at,omitempty"` // in format 0 only: it told how long the draw took
	Incomplete  *bool           `json:"incomplete,omitempty"`  // nil in format 0
	Statistic   string          `json:"statistic"`
	P           *number         `json:"p"`
	Mechanism   string          `json:"mechanism"`
	Unit        string          `json:"unit"`
	Value       *number         `json:"value"`
	Status      string          `json:"status"`
	Reason      *string         `json:"reason"`
	Epsilon     number          `json:"epsilon"`
	Delta       number          `json:"delta"`
	RankError95 *number         `json:"rank_error_95"`
	*accuracy                   // nil in format 0
	Users       *int64          `json:"users"`
	PLow        *number         `json:"p_low"`
	PHigh       *number         `json:"p_high"`
	Interval    *outputInterval `json:"interval"`
	Smoothed    *outputSmoothed `json:"smoothed"`
	StreamSpent *number         `json:"stream_epsilon_spent"`
	Budget      string          `json:"budget"`
	BudgetSpent *number         `json:"budget_epsilon_spent"`
	BudgetLimit number          `json:"budget_epsilon_limit"`
	BudgetLeft  int64           `json:"budget_windows_left"`
}

// accuracy are the fields that came with format 1.
type accuracy struct {
	Error95 *number `json:"error_95"`
	Quality *string `json:"quality"`
	// Clip is there only where values were cut, so that the records of older entries stay as they are.
	Clip *[2]number `json:"clip,omitempty"`
}

type outputInterval struct {
	Level number `json:"level"`
	Low   number `json:"low"`
	High  number `json:"high"`
}

type outputSmoothed struct {
	Value number  `json:"value"`
	Low   *number `json:"low"`
	High  *number `json:"high"`
}

// Records expands the entry into its output records, group by group, in the order of the releases. The same entry
// gives the same bytes. The entry must be one that [Entry.Encode] accepts.
func (e Entry) Records() ([]Record, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	out := make([]Record, 0, len(e.Groups)*len(e.Releases))
	for _, g := range e.Groups {
		for i := range e.Releases {
			r, err := e.record(g, i)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func (e Entry) record(g Group, i int) (Record, error) {
	r := e.Releases[i]
	o := output{
		Schema: schema,
		ID:     fmt.Sprintf("%s/%s/%s/%s", e.Stream, g.Name, whole(e.WindowStart), r.Name),
		Stream: e.Stream, Group: g.Name, Release: r.Name,
		WindowStart: whole(e.WindowStart), WindowEnd: whole(e.WindowEnd), DueAt: whole(e.DueAt),
		Statistic: r.Statistic, P: optional(r.P), Mechanism: r.Mechanism, Unit: r.Unit,
		Status: ok, Epsilon: number{r.Epsilon}, Delta: number{r.Delta}, Users: g.Users,
		StreamSpent: optional(e.Standing.StreamSpent), Budget: e.Budget, BudgetSpent: optional(e.Standing.BudgetSpent),
		BudgetLimit: number{e.Limit.Epsilon}, BudgetLeft: e.Standing.WindowsLeft,
	}
	if e.Format >= 1 {
		o.accuracy, o.Incomplete = &accuracy{}, &e.Incomplete
	} else {
		at := whole(e.ReleasedAt)
		o.ReleasedAt = &at
	}
	switch {
	case e.Reason != "":
		o.Status, o.Reason = withheld, &e.Reason
		o.Epsilon, o.Delta = number{}, number{}
	case g.Values[i].Value == nil:
		o.Status, o.Reason = withheld, &g.Reason
	default:
		o.fill(g.Values[i])
	}
	var value bytes.Buffer
	enc := json.NewEncoder(&value)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(o); err != nil {
		return Record{}, fmt.Errorf("%s: %w", e.name(), err)
	}
	return Record{
		Topic: e.Output,
		Key:   []byte(e.Stream + "/" + g.Name + "/" + r.Name),
		Value: bytes.TrimSuffix(value.Bytes(), []byte("\n")),
		Headers: []Header{
			{"content-type", []byte("application/json")},
			{"ce_specversion", []byte(specVersion)},
			{headerID, []byte(o.ID)},
			{"ce_source", []byte("/" + e.App + "/" + e.Stream)},
			{"ce_type", []byte(schema)},
			{"ce_time", []byte(o.DueAt.String())},
		},
		Time: e.WindowEnd,
	}, nil
}

func (o *output) fill(v Value) {
	o.Mechanism = cmp.Or(v.Mechanism, o.Mechanism)
	o.Value, o.RankError95, o.PLow, o.PHigh = optional(v.Value), optional(v.RankError95), optional(v.PLow), optional(v.PHigh)
	if o.accuracy != nil {
		o.Error95 = optional(v.Error95)
		if v.Quality != "" {
			o.Quality = &v.Quality
		}
		if c := v.Clip; c != nil {
			o.Clip = &[2]number{{c[0]}, {c[1]}}
		}
	}
	if n := v.Interval; n != nil {
		o.Interval = &outputInterval{number{n.Level}, number{n.Low}, number{n.High}}
	}
	if s := v.Smoothed; s != nil {
		o.Smoothed = &outputSmoothed{number{s.Value}, optional(s.Low), optional(s.High)}
	}
}
