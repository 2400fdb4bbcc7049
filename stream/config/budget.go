package config

import (
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/windows/period"
)

// Budget limits what one user may lose. A budget that is not listed under `budgets` belongs to the stream of the same
// name.
type Budget struct {
	Name string
	budget.Limit
	// Where says where the budget is defined, as "file:line".
	Where string
}

// Duration writes a duration as streams files do: 15m instead of 15m0s, 7d instead of 168h0m0s.
func Duration(d time.Duration) string { return period.Text(d) }

// Period formats a budget's period.
func Period(per time.Duration) string {
	if per == 0 {
		return "forever"
	}
	return Duration(per)
}
