package budget

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// The ledger holds limits and caps in these forms: periods as [FormatPer] writes them.

type limitText struct {
	Epsilon decimal.Decimal `json:"epsilon"`
	Delta   decimal.Decimal `json:"delta"`
	Per     per             `json:"per"`
	Order   decimal.Decimal `json:"order,omitzero"`
}

type capText struct {
	Count int64  `json:"count"`
	Per   per    `json:"per"`
	Era   int64  `json:"era"`
	Row   string `json:"row,omitempty"`
}

type per time.Duration

// MarshalText writes a period.
func (p per) MarshalText() ([]byte, error) { return []byte(FormatPer(time.Duration(p))), nil }

// UnmarshalText reads a period.
func (p *per) UnmarshalText(text []byte) error {
	d, err := ParsePer(string(text))
	*p = per(d)
	return err
}

// MarshalJSON writes the limit as in the ledger.
func (l Limit) MarshalJSON() ([]byte, error) {
	return json.Marshal(limitText{l.Epsilon, l.Delta, per(l.Per), l.Order})
}

// UnmarshalJSON reads a valid limit.
func (l *Limit) UnmarshalJSON(text []byte) error {
	var t limitText
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	*l = Limit{t.Epsilon, t.Delta, time.Duration(t.Per), t.Order}
	return l.Check()
}

// MarshalJSON writes the cap as in the ledger.
func (c Cap) MarshalJSON() ([]byte, error) {
	return json.Marshal(capText{c.Count, per(c.Per), c.Era, c.Row})
}

// UnmarshalJSON reads a valid cap.
func (c *Cap) UnmarshalJSON(text []byte) error {
	var t capText
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("cap: %w", err)
	}
	*c = Cap{t.Count, time.Duration(t.Per), t.Era, t.Row}
	return c.Check()
}
