package parse

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// A release that is published on change is not part of a window's price. It is a watch: its test looks at every
// window, and costs watch_epsilon once, until it finds that the last value of some group no longer holds. Only then is
// that value drawn anew, which costs epsilon.

// When a release is drawn.
const (
	everyWindow = "every_window"
	onChange    = "on_change"
)

var (
	quantiles = form.When{Key: "statistic", Is: texts([]mechanisms.Statistic{mechanisms.Median, mechanisms.Quantile})}
	changes   = form.When{Key: "publish", Is: []string{onChange}}
)

// changeKeys are the keys of a release that say when it is drawn.
type changeKeys struct {
	publish      string
	tolerance    decimal.Decimal
	watchEpsilon decimal.Decimal
	atMost       int64
}

var changeForm = form.Form{
	{Name: "publish", Fallback: everyWindow, Only: quantiles, Unless: "from", Example: onChange,
		Meaning: "when the figure is drawn. `on_change`: a test looks at every window, and a group's value is drawn " +
			"anew once it has changed by more than `tolerance`. Until then its records repeat the last value. It is " +
			"not part of the cost of a window, and counts everybody",
		Value: form.Into(form.OneOf(everyWindow, onChange), func(r *releaseNode, v string) { r.publish = v })},
	{Name: "tolerance", Required: true, Only: changes, Example: "0.03",
		Meaning: "how far the last value may be from the quantile, as a share of the users: with 0.03, a median " +
			"still holds between the quantiles 0.47 and 0.53",
		Value: form.Into(form.Number(aShare), func(r *releaseNode, v decimal.Decimal) { r.tolerance = v })},
	{Name: "watch_epsilon", Required: true, Only: changes, Example: "0.1",
		Meaning: "what the test costs a user, in ε, over all windows and groups together, until it finds a change. " +
			"The value that is then drawn costs `epsilon` more",
		Value: form.Into(form.Number(positive), func(r *releaseNode, v decimal.Decimal) { r.watchEpsilon = v })},
	{Name: "at_most", Required: true, Only: changes, Example: "24",
		Meaning: "how many tests may begin in a period of the budget. Each begins after the one before has found a " +
			"change. Tests of former definitions under the same budget count too. After that the figure is withheld " +
			"until the period has passed",
		Value: form.Into(form.WholeUpTo("of times ", mostInstances), func(r *releaseNode, v int64) { r.atMost = v })},
}

// leastInformation is the least watch_epsilon · expected_users · min(p, 1 − p). With less, the margin against false
// alarms is about as large as the smaller side of the quantile, and no change can be seen.
var leastInformation = decimal.NewFromInt(40)

// falseChanges bounds the probability that any value is drawn anew within a day although all still hold.
var falseChanges = decimal.New(5, -2)

// checkChange refuses keys of a release on change that do not go together.
func (r *releaseNode) checkChange() {
	if r.publish != onChange {
		return
	}
	if v, given := r.Values["interval"]; given {
		v.Refuse("%s, but publish is %s; want one of the two", r.Query.Interval, onChange)
		r.sound = false
	}
}

// change makes the watch of a sound release on change.
func (r *releaseNode) change(s *config.Stream) *config.Change {
	const day = 24 * time.Hour
	q := watch.ChangeQuery{Tolerance: r.tolerance, Epsilon: r.watchEpsilon, FalseAlarms: falseChanges,
		Windows: int64((day-1)/s.Window.Every) + 1, Groups: int64(len(s.Groups))}
	w := &config.Change{Head: r.Head, Release: &r.Release, Tolerance: r.tolerance,
		Test: config.Test{AtMost: r.atMost, FalseAlarmsPer: day,
			Query: watch.Query{Epsilon: q.Epsilon, FalseAlarms: q.FalseAlarms, Groups: q.Groups,
				Windows: q.Windows, Grid: s.Grid}}}
	if r.Mechanism == nil { // it was refused before
		return w
	}
	q.P = r.Query.Probabilities()[0]
	var err error
	if w.Mechanism, err = watch.NewChange(q); err != nil {
		refuse(r.Mapping, err)
		return w
	}
	if !r.informed(q.P, s) {
		return w
	}
	w.Definition = fingerprint("on_change|%s|%s|%s|%s|%d|%q|%d|%s|%s|%s|%s|%s",
		w.Release.Query.Statistic, q.P, w.Tolerance, w.Query.Epsilon, w.Query.Windows, s.Groups, s.MaxGroups,
		s.Grid.Lower(), s.Grid.Upper(), s.Grid.Step(), w.Release.Query.Epsilon, w.Release.Query.Mechanism)
	return w
}

// informed refuses a test that has too few expected users to see a change.
func (r *releaseNode) informed(p decimal.Decimal, s *config.Stream) bool {
	side := decimal.Min(p, decimal.NewFromInt(1).Sub(p))
	share := side.Mul(decimal.NewFromInt(max(1, s.ExpectedUsers)))
	information := r.watchEpsilon.Mul(share)
	if s.ExpectedUsers == 0 || information.GreaterThanOrEqual(leastInformation) {
		return true
	}
	capped := ""
	if s.MaxWindows != nil { // the test looks at everybody, and expected_users says who still counts
		capped = ", or a stream of its own without max_windows, whose expected_users are everybody"
	}
	r.Values["watch_epsilon"].Refuse("%s times %d expected users times %s is %s, too little to see that the figure "+
		"has changed; want at least %s: a watch_epsilon of %s or more, more users or longer windows%s", r.watchEpsilon,
		s.ExpectedUsers, side, information, leastInformation, ceil(leastInformation.Div(share)), capped)
	return false
}
