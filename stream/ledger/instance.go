package ledger

import "github.com/louver/louver/budget"

// instance is an instance of a step, in the books and in checkpoints. Times are Unix nanoseconds.
type instance struct {
	Definition string        `json:"definition"`
	Cost       []budget.Item `json:"cost"`
	// From and Looked are the ends of the first and the last window that it looked at. An instance that an entry ended
	// counts as if it had looked at that entry's window, though it did not. So the sums in the entry are right after
	// it, too.
	From   int64 `json:"from"`
	Looked int64 `json:"looked"`
	// Until is when it ends at the latest; 0 if that is not known.
	Until int64 `json:"until,omitempty"`
	// Over says that it looks at no more windows. It keeps its secret until then.
	Over   bool   `json:"over,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`

	// The rest is public, and later windows repeat it. Fired is the group in which it fired, or nil. Begins says that
	// it began the values of an [OnChange]. Values are those that were last drawn under its definition.
	Fired  *string `json:"fired,omitempty"`
	Begins bool    `json:"begins,omitempty"`
	Values []Drawn `json:"values,omitempty"`
	// Total is what the next totals of a [Total] follow from. It is nil once the instance is over.
	Total *totalBook `json:"total,omitempty"`
}

// reaches reports whether the instance may look at a window with this end, or could if the window were not late.
func (a *instance) reaches(end int64) bool {
	return a != nil && !a.Over && (a.Until == 0 || end <= a.Until)
}

// passes records that the instance lasts until a window with this end, or until its own end if that is earlier.
func (a *instance) passes(end int64) {
	if a.Until != 0 {
		end = min(end, a.Until)
	}
	a.Looked = max(a.Looked, end)
}
