package record

import "github.com/shopspring/decimal"

// Series describes one series of values, the same in every group and window. Its JSON names are those of the ledger.
type Series struct {
	Name      string `json:"name"`
	Statistic string `json:"statistic"`
	// P is the probability of a quantile; nil for statistics that have none.
	P         *decimal.Decimal `json:"p,omitempty"`
	Mechanism string           `json:"mechanism"`
	Unit      string           `json:"unit,omitempty"`
	// Epsilon and Delta of one draw, for one user in one group. Values that are drawn jointly all have the ε and δ of
	// the draw.
	Epsilon decimal.Decimal `json:"epsilon"`
	Delta   decimal.Decimal `json:"delta,omitzero"`
}
