package ledger

import (
	"encoding/json"
	"slices"
)

// StatisticWatch is the statistic of a watch's records. Its mechanism is MechanismWatch.
const (
	StatisticWatch = "watch"
	MechanismWatch = "sparse_vector"
)

// watchFigure returns the figure of the i-th watch in a group. That of an alarm is 1 from the window in which it fires until it may be
// armed again, 0 while it is silent.
func (e Entry) watchFigure(g Group, i int) Figure {
	w := e.Watches[i]
	if w.Release != nil {
		return e.onChangeFigure(g, i)
	}
	cost, _ := e.costs(w) // Records has checked the entry
	f := e.blank(Group{Name: g.Name}, Release{Name: w.Name, Statistic: StatisticWatch, Mechanism: MechanismWatch, Epsilon: cost.Epsilon, Delta: cost.Delta})
	f.MaxWindows = nil // a watch looks at everybody
	f.Instance, f.Excess95 = w.Instance, optionalDigits(w.Excess95)
	value, reason := json.Number("0"), w.Reason
	if w.Fired != nil {
		switch fired := e.group(*w.Fired); {
		case g.Name == *w.Fired:
			value, reason, f.Since = "1", "", w.Since
		case e.group(g.Name) > fired: // nobody looked
			reason = NotArmed
		}
	}
	if reason == "" {
		f.Value = &value
		return f
	}
	f.Status, f.Reason = withheld, &reason
	if reason == BudgetExhausted {
		f.Epsilon, f.Delta = "0", "0"
	}
	return f
}

// group returns the place of a group.
func (e Entry) group(name string) int {
	return slices.IndexFunc(e.Groups, func(g Group) bool { return g.Name == name })
}
