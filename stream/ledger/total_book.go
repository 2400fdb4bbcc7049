package ledger

import (
	"fmt"

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

// add takes what was drawn at the end of a leaf.
func (b *totalBook) add(c *Total) (err error) {
	if len(c.Groups) == 0 {
		return nil
	}
	if b.strategy == nil {
		if b.strategy, err = c.Strategy(); err != nil {
			return err
		}
	}
	if len(b.Groups) == 0 {
		b.Groups = make([]groupBook, len(c.Groups))
	}
	if len(b.Groups) != len(c.Groups) {
		return fmt.Errorf("totals of %d groups after those of %d", len(c.Groups), len(b.Groups))
	}
	for g, of := range c.Groups {
		if want := b.strategy.Draws(c.Leaf); len(of.Draws) != want {
			return fmt.Errorf("%d draws at the end of leaf %d; want %d", len(of.Draws), c.Leaf, want)
		}
		b.Groups[g] = groupBook{b.strategy.Fold(b.Groups[g].Known, c.Leaf, whole(of.Draws)), new(of.Smoothed)}
	}
	b.Leaf = c.Leaf
	return nil
}

// OpenTotal is an instance of a total that has not ended. Times are Unix nanoseconds.
type OpenTotal struct {
	Number int64
	// Since and Until bound its period. From and Looked are the ends of the first and the last window that it looked at.
	Since, Until, From, Looked int64
	// Leaf is how many leaves are finished.
	Leaf int64
}

// OpenTotal returns the instance of a total that has not ended, or false if there is none.
func (b *Books) OpenTotal(budget, stream, name, definition string) (OpenTotal, bool) {
	of := stepName{budget, stream, name}
	number := b.lasting.last(of, definition, nil)
	a := b.lasting.get(of, number)
	if a == nil || a.Over || a.Total == nil {
		return OpenTotal{}, false
	}
	return OpenTotal{number, a.Total.Since, a.Until, a.From, a.Looked, a.Total.Leaf}, true
}
