package ledger

import "github.com/louver/louver/budget"

// instance is one in the books, and in checkpoints. Times are Unix nanoseconds.
type instance struct {
	Definition string        `json:"definition"`
	Cost       []budget.Item `json:"cost"`
	// From and Looked are the ends of the first and the last window that it looked at. An instance that an entry ended
	// counts as if it had looked at that window, which it did not: so the sums in the entry hold after it too.
	From   int64 `json:"from"`
	Looked int64 `json:"looked"`
	// Until is when it ends at the latest; 0 if that is not known.
	Until int64 `json:"until,omitempty"`
	// Over says that it looks at no more windows. Until then it has its secret.
	Over   bool   `json:"over,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`

	// The rest is public, and what later windows repeat. Fired is the group in which it fired, or nil. Begins says that
	// it began the values of a [OnChange], and Values are those of its definition that were drawn last.
	Fired  *string `json:"fired,omitempty"`
	Begins bool    `json:"begins,omitempty"`
	Values []Drawn `json:"values,omitempty"`
	// Total is what the next totals of a [Total] follow from, until it is over.
	Total *totalBook `json:"total,omitempty"`
}

// reaches reports whether the instance may look at a window with this end, or could if that did not come late.
func (a *instance) reaches(end int64) bool {
	return a != nil && !a.Over && (a.Until == 0 || end <= a.Until)
}

// passes says that the instance is not over before a window with this end, unless it ends before that.
func (a *instance) passes(end int64) {
	if a.Until != 0 {
		end = min(end, a.Until)
	}
	a.Looked = max(a.Looked, end)
}
