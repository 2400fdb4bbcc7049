package rules

import (
	"fmt"
	"strings"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// totalAlert makes the rule of a threshold of a running total. The alert says that the threshold is passed in this
// period. The noise of a total is in the later ones too, so misses come one after another.
func totalAlert(s *config.Stream, of *config.Total, t Threshold) (rule, string, error) {
	switch {
	case t.Below:
		return rule{}, "", fmt.Errorf("%s: a running total begins at 0 in each %s, so it is always below at first; "+
			"want --above, or a release of every window", t, of.Calendar.Unit.Noun())
	case of.Query.Statistic == mechanisms.Count && t.Value.IsNegative():
		return rule{}, "", fmt.Errorf("%s: a count is never below 0; want 0 or more", t)
	}
	b := band{miss: 0.05, known: nominal, basis: fmt.Sprintf("the published error of the total with ε %s in each %s",
		of.Query.Epsilon, of.Calendar.Unit.Noun())}
	unit := of.Query.Unit(s.Unit)
	return alertOf(s, t, b, of.Update, strings.TrimSpace(t.Value.String()+" "+unit))
}
