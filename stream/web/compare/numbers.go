package compare

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// numberOf reads a number of a record. Decoding has checked that it is one.
func numberOf(n json.Number) decimal.Decimal {
	d, err := decimal.NewFromString(n.String())
	if err != nil {
		return decimal.Decimal{}
	}
	return d
}

func exactly(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
