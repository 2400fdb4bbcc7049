package config

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// Release is one statistic of every window and group.
type Release struct {
	Name  string
	Query mechanisms.Query
	// Mechanism answers the query.
	Mechanism mechanisms.Mechanism
	// Rollups are the lengths of the periods over which a histogram is added up.
	Rollups []time.Duration
	// Where says where the release is defined, as "file:line".
	Where string
}

// Names returns the names of a release's published values: its own name, or for quantiles NAME.p90, NAME.p99 and so on,
// in the order of p.
func (r *Release) Names() []string {
	if r.Query.Statistic.Each() == r.Query.Statistic {
		return []string{r.Name}
	}
	names := make([]string, len(r.Query.P))
	for i, p := range r.Query.P {
		names[i] = r.Name + "." + quantileName(p)
	}
	return names
}

// quantileName is p90 for 0.9 and p999 for 0.999: the decimals of p, at least two.
func quantileName(p decimal.Decimal) string {
	_, digits, _ := strings.Cut(p.String(), ".")
	for len(digits) < 2 {
		digits += "0"
	}
	return "p" + digits
}
