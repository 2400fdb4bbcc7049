package chaostest

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows/period"
)

// recent says what a stream publishes of the newest time. The zero value: nothing.
//
// Beside the histogram of each window there are its sums over the newest time and over all groups, the distribution so
// far in each hour, and the number of active users. All but the sums are new with every other window.
type recent struct {
	last   time.Duration // how much of the newest time the histogram is added up over
	active time.Duration // how long users stay active after they were seen
}

// The figures of a stream with recent. everybody is the name of all groups together.
const (
	spread    = "spread"
	highs     = "highs" // computed from spread: users above slowAbove
	soFar     = "so_far"
	now       = "now"
	everybody = "all"
	refreshed = 2 * shortest
)

// One of the buckets ends at slowAbove. There are two levels of them.
const buckets = "buckets: [100, 200, 300, 400, 500, 600, 700, 800, 900], levels: 2"

func (r recent) histogram() string {
	return fmt.Sprintf("statistic: histogram, %s, last: [%s]", buckets, r.last)
}

// steps are the releases that cost their ε once for many windows. It is a multiple of that of a window, a different one
// for each.
func (r recent) steps(epsilon decimal.Decimal) string {
	return fmt.Sprintf("      - {name: %s, statistic: histogram, since: hour, %s, update: %s, epsilon: %s}\n"+
		"      - {name: %s, statistic: count, active: %s, update: %[3]s, epsilon: %[7]s}\n",
		soFar, buckets, refreshed, stepPrice(soFar, epsilon), now, r.active, stepPrice(now, epsilon))
}

// stepPrice is the ε of an instance of a step, of a stream whose windows have this ε.
func stepPrice(name string, epsilon decimal.Decimal) decimal.Decimal {
	return epsilon.Mul(decimal.NewFromInt(map[string]int64{soFar: 2, now: 3}[name]))
}

// recentOf is what an entry says of the newest time.
func recentOf(e ledger.Entry) (r recent) {
	for _, of := range e.Releases {
		if len(of.Last) == 1 {
			r.last, _ = period.Parse(of.Last[0]) // zero fits no definition
		}
	}
	for _, s := range e.Continual {
		if s.Active != nil {
			r.active = time.Duration(s.Active.Seconds) * time.Second
		}
	}
	return r
}
