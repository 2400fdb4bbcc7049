package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// Schema is the content of the field schema of every [Figure].
const Schema = "louver.release.v1"

// Figure is the value of an output record. Numbers are kept as they are written. Names and order are public, and
// described in record.schema.json; go generate ./cmd/louver brings deploy/RECORD.md up to date.
type Figure struct {
	Schema      string          `json:"schema"`
	ID          string          `json:"id"`
	Stream      string          `json:"stream"`
	Group       string          `json:"group"`
	Release     string          `json:"release"`
	WindowStart time.Time       `json:"window_start"`
	WindowEnd   time.Time       `json:"window_end"`
	DueAt       time.Time       `json:"due_at"`
	ReleasedAt  *time.Time      `json:"released_at,omitempty"` // in format 0 only: it revealed how long the draw took
	Incomplete  bool            `json:"incomplete"`
	Statistic   string          `json:"statistic"`
	P           *json.Number    `json:"p"`
	Mechanism   string          `json:"mechanism"`
	Unit        string          `json:"unit"`
	Value       *json.Number    `json:"value"`
	Status      string          `json:"status"`
	Reason      *string         `json:"reason"`
	Epsilon     json.Number     `json:"epsilon"`
	Delta       json.Number     `json:"delta"`
	RankError95 *json.Number    `json:"rank_error_95"`
	Error95     *json.Number    `json:"error_95"`
	Quality     Quality         `json:"quality"`
	Clip        *[2]json.Number `json:"clip,omitempty"`        // only if values were cut
	MaxWindows  *FigureCap      `json:"max_windows,omitempty"` // only if not everybody counts in every window
	Users       *int64          `json:"users"`
	PLow        *json.Number    `json:"p_low"`
	PHigh       *json.Number    `json:"p_high"`
	Interval    *FigureInterval `json:"interval"`
	Smoothed    *FigureSmoothed `json:"smoothed"`
	StreamSpent *json.Number    `json:"stream_epsilon_spent"`
	Budget      string          `json:"budget"`
	BudgetSpent *json.Number    `json:"budget_epsilon_spent"`
	BudgetLimit json.Number     `json:"budget_epsilon_limit"`
	BudgetLeft  int64           `json:"budget_windows_left"`
	// Only watches and figures that are published on change have these.
	Since    *time.Time   `json:"since,omitempty"`
	Changed  *bool        `json:"changed,omitempty"` // only figures on change, even where they are withheld
	Instance int64        `json:"instance,omitempty"`
	Excess95 *json.Number `json:"excess_95,omitempty"`
}

// FigureInterval is a paid interval.
type FigureInterval struct {
	Level json.Number `json:"level"`
	Low   json.Number `json:"low"`
	High  json.Number `json:"high"`
}

// FigureSmoothed is a free estimate from this and earlier releases; Low and High are nil if no band is allowed.
type FigureSmoothed struct {
	Value json.Number  `json:"value"`
	Low   *json.Number `json:"low"`
	High  *json.Number `json:"high"`
}

// Quality is a value's quality as mechanisms.Query.Judge says; "" is written as null.
type Quality string

// MarshalJSON implements [json.Marshaler].
func (q Quality) MarshalJSON() ([]byte, error) {
	if q == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(q))
}

// figure0 is a figure of format 0: it lacks the fields that came with format 1.
type figure0 struct {
	Figure
	Incomplete *struct{} `json:"incomplete,omitempty"`
	Error95    *struct{} `json:"error_95,omitempty"`
	Quality    *struct{} `json:"quality,omitempty"`
	Clip       *struct{} `json:"clip,omitempty"`
}

// Held says that the record is that of a watch or of a figure on change: its ε is that of an instance and not of a window.
func (f Figure) Held() bool { return f.Statistic == StatisticWatch || f.Changed != nil }

// Key is the series that the figure belongs to.
func (f Figure) Key() string { return f.Stream + "/" + f.Group + "/" + f.Release }

// digits writes a decimal exactly.
func digits(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func optionalDigits(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	n := digits(*d)
	return &n
}

// figure returns the figure of the i-th release of a group.
func (e Entry) figure(g Group, i int) Figure {
	r := e.Releases[i]
	f := e.blank(g, r)
	switch {
	case e.Reason != "":
		f.Status, f.Reason = withheld, &e.Reason
		f.Epsilon, f.Delta = "0", "0"
	case g.Values[i].Value == nil:
		f.Status, f.Reason = withheld, &g.Reason
	default:
		f.fill(g.Values[i])
	}
	return f
}

// blank returns the figure of a release of a group, without its value.
func (e Entry) blank(g Group, r Release) Figure {
	return Figure{
		Schema: Schema,
		ID:     fmt.Sprintf("%s/%s/%s/%s", e.Stream, g.Name, whole(e.WindowStart), r.Name),
		Stream: e.Stream, Group: g.Name, Release: r.Name,
		WindowStart: whole(e.WindowStart).Time, WindowEnd: whole(e.WindowEnd).Time, DueAt: whole(e.DueAt).Time, Incomplete: e.Incomplete,
		Statistic: r.Statistic, P: optionalDigits(r.P), Mechanism: r.Mechanism, Unit: r.Unit,
		Status: ok, Epsilon: digits(r.Epsilon), Delta: digits(r.Delta), MaxWindows: figureCap(e.Cap), Users: g.Users,
		StreamSpent: optionalDigits(e.Standing.StreamSpent), Budget: e.Budget, BudgetSpent: optionalDigits(e.Standing.BudgetSpent),
		BudgetLimit: digits(e.Limit.Epsilon), BudgetLeft: e.Standing.WindowsLeft,
	}
}

func (f *Figure) fill(v Value) {
	f.Mechanism = cmp.Or(v.Mechanism, f.Mechanism)
	f.Value, f.RankError95, f.PLow, f.PHigh = optionalDigits(v.Value), optionalDigits(v.RankError95), optionalDigits(v.PLow), optionalDigits(v.PHigh)
	f.Error95, f.Quality = optionalDigits(v.Error95), Quality(v.Quality)
	if c := v.Clip; c != nil {
		f.Clip = &[2]json.Number{digits(c[0]), digits(c[1])}
	}
	if n := v.Interval; n != nil {
		f.Interval = &FigureInterval{digits(n.Level), digits(n.Low), digits(n.High)}
	}
	if s := v.Smoothed; s != nil {
		f.Smoothed = &FigureSmoothed{digits(s.Value), optionalDigits(s.Low), optionalDigits(s.High)}
	}
}
