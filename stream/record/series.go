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
	// Buckets are the buckets of a histogram; nil for all else.
	Buckets *Buckets `json:"buckets,omitempty"`
	// Rollups are the lengths of the periods over which a histogram is added up, such as 1h.
	Rollups []string `json:"rollups,omitempty"`
	// From is the histogram of the same window that the values are computed from, at no cost; "" if they are drawn.
	// Above and Below are the limits of such a share or count.
	From  string           `json:"from,omitempty"`
	Above *decimal.Decimal `json:"above,omitempty"`
	Below *decimal.Decimal `json:"below,omitempty"`
}
