package ledger

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/running"
)

// totalBook is what the next totals of an instance follow from. All of it is public.
type totalBook struct {
	Since int64 `json:"since"` // Unix nanoseconds
	// Leaf is how many leaves are finished.
	Leaf       int64       `json:"leaf"`
	Incomplete bool        `json:"incomplete,omitempty"`
	Groups     []groupBook `json:"groups,omitempty"`

	strategy running.Strategy // once it is needed
}

// groupBook is what the next totals of a group follow from, and the largest total so far.
type groupBook struct {
	Known    running.Known    `json:"known"`
	Smoothed *decimal.Decimal `json:"smoothed"`
}

// group returns what is known of a group.
func (b *totalBook) group(g int) groupBook {
	if b != nil && g < len(b.Groups) {
		return b.Groups[g]
	}
	return groupBook{}
}
