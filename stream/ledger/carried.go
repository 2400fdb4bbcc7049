package ledger

import (
	"slices"

	"github.com/shopspring/decimal"
)

// Carried returns the Before of the entries of a definition, from the last entry of those before it. e is its first one, with its
// budget and what that continues.
//
// If the former definition's budget counts here, only what it carried itself is left. Else all that the stream had spent is,
// less what this budget had paid for it earlier.
func (b *Books) Carried(e, last Entry) *decimal.Decimal {
	return e.carried(last, epsilon(b.account(e).StreamTotal(e.Stream)))
}

// carried is [Books.Carried], where own is what the budget had paid for the stream; nil is no bound.
func (e *Entry) carried(last Entry, own *decimal.Decimal) *decimal.Decimal {
	if last.Budget == e.Budget || slices.Contains(e.Continues, last.Budget) {
		return last.Before
	}
	if last.Standing.StreamSpent == nil || own == nil { // then the sum has no bound, whatever is added
		return nil
	}
	left := last.Standing.StreamSpent.Sub(*own)
	if left.Sign() <= 0 {
		return nil
	}
	return &left
}

// withBefore adds what the stream had cost before to what its budget paid; nil is no bound.
func (e *Entry) withBefore(spent *decimal.Decimal) *decimal.Decimal {
	if spent == nil || e.Before == nil {
		return spent
	}
	return new(spent.Add(*e.Before))
}
