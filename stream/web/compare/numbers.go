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

// both writes two numbers with equally many digits behind the point.
func both(x, y decimal.Decimal) string {
	places := max(0, -x.Exponent(), -y.Exponent())
	return x.StringFixed(places) + " → " + y.StringFixed(places)
}

// alike writes a number with as many digits behind the point as another one has, and one more if it is a mean of such.
func alike(d, other decimal.Decimal) string { return d.StringFixed(max(0, -other.Exponent()) + 1) }

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
