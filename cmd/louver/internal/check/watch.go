package check

import (
	"bytes"
	"fmt"
	"math"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// watchReport describes a watch before it is armed, from public figures only.
type watchReport struct {
	Watch          string     `json:"watch"`
	Condition      string     `json:"condition"`
	Epsilon        cli.Digits `json:"epsilon"`
	AtMost         int64      `json:"at_most"`
	FalseAlarms    cli.Digits `json:"false_alarms"`
	FalseAlarmsPer string     `json:"false_alarms_per"`
	sight

	of     *config.Watch
	words  string // the condition, as a clause
	capped bool   // the stream has max_windows, so more users are there than are expected to count
	looks  string // at which groups, if these are found
}

// sight is what a watch sees. Most and Missed are nil if no number of users is expected.
type sight struct {
	Margin float64  `json:"margin"`
	Excess float64  `json:"excess_95"`
	Most   *float64 `json:"most"`
	Missed *float64 `json:"missed"`
}

// sees says what a watch sees among that many users; 0 if their number is unknown.
func sees(w *watch.Watch, users int64) sight {
	s := sight{Margin: w.Margin(), Excess: w.Excess95()}
	if users > 0 {
		most := w.Most(users)
		s.Most, s.Missed = &most, new(w.Miss(most))
	}
	return s
}

func describeWatch(s *config.Stream, w *config.Watch, expected int64) watchReport {
	condition := w.Query.Conditions[0]
	looks := ""
	switch {
	case s.Found == nil:
	case w.Always:
		looks = cli.Sprintf("the groups that are always listed: %d", w.Query.Groups)
	default:
		looks = cli.Sprintf("the groups of each window: at most %d", w.Query.Groups)
	}
	return watchReport{of: w, looks: looks, Watch: w.Name, Condition: condition.String(),
		words: condition.Words(s.Unit), capped: s.MaxWindows != nil,
		Epsilon: cli.NewDigits(w.Query.Epsilon), AtMost: w.AtMost,
		FalseAlarms: cli.NewDigits(w.Query.FalseAlarms), FalseAlarmsPer: config.Duration(w.FalseAlarmsPer),
		sight: sees(w.Mechanism, expected)}
}

// print writes what a watch costs and sees.
func (x watchReport) print(w *bytes.Buffer, expected int64) {
	many := cli.Direction(x.Condition)
	cli.Fprintf(w, "  watch %s fires if %s\n", x.Watch, x.words)
	if x.looks != "" {
		cli.Fprintf(w, "    it looks at %s\n", x.looks)
	}
	cli.Fprintf(w, "    costs one user ε %s until it fires, at most %s in a period of the budget\n",
		x.Epsilon, cli.Plural(x.AtMost, "time"))
	cli.Fprintf(w, "    its margin of %s keeps the probability of a false alarm in %s at %s %% or less\n",
		cli.WithUnit(cli.Tenths(x.Margin), "users"), x.FalseAlarmsPer, x.FalseAlarms.Shift(2))
	cli.Fprintf(w, "    with %s beyond the condition in one group, it fires in the first window with a "+
		"probability of 95 %%\n", cli.WithUnit(fmt.Sprintf("%.0f", math.Ceil(x.Excess)), "users"))
	if x.Most != nil {
		cli.Fprintf(w, "    of %d expected users at most %s can be %s: it misses even these with a probability of %s\n",
			expected, cli.Tenths(*x.Most), many, missed(*x.Missed))
	}
	if x.Most != nil && x.capped {
		fmt.Fprintln(w, "    these are the users who still count under max_windows; the watch looks at everybody, so "+
			"it sees more")
	}
}

// missed writes the probability of a miss.
func missed(p float64) string {
	if p < 0.001 {
		return "less than 0.1 %"
	}
	return cli.Tenths(100*p) + " %"
}

// changeReport describes a release that is published on change, from public figures only.
type changeReport struct {
	Release      string      `json:"release"`
	Statistic    string      `json:"statistic"`
	Mechanism    string      `json:"mechanism"`
	Low          cli.Digits  `json:"low"`
	High         cli.Digits  `json:"high"`
	WatchEpsilon cli.Digits  `json:"watch_epsilon"`
	Epsilon      cli.Digits  `json:"epsilon"`
	AtMost       int64       `json:"at_most"`
	Worst        cli.Digits  `json:"epsilon_at_most"`
	Excess       float64     `json:"excess_95"`
	Draw         valueReport `json:"draw"`

	of                *config.Change
	each, draw, worst cost.Loss // of a test with its draw, of one draw, and of a period
}

func describeChange(s *config.Stream, w *config.Change, public forecast.Public) (changeReport, error) {
	limit, q := s.Budget.Limit, w.Release.Query
	p := q.Probabilities()[0]
	x := changeReport{of: w, Release: w.Name, Statistic: string(q.Statistic), Mechanism: w.Release.Mechanism.Name(),
		Low: cli.NewDigits(p.Sub(w.Tolerance)), High: cli.NewDigits(p.Add(w.Tolerance)),
		WatchEpsilon: cli.NewDigits(w.Query.Epsilon), AtMost: w.AtMost, Excess: w.Mechanism.Excess95(),
		each: cost.Of(limit, w.Cost().Items), draw: cost.Of(limit, w.Redraw()), worst: cost.Of(limit, w.Cost().Most())}
	x.Epsilon, x.Worst = cli.NewDigits(x.draw.Epsilon), cli.NewDigits(x.worst.Epsilon)
	public.CountEpsilon = 0 // it is drawn without the count
	values, err := describeValues(w.Release, public)
	if err == nil {
		x.Draw = values[0]
	}
	return x, err
}

// print writes what the release costs and sees.
func (x changeReport) print(w *bytes.Buffer, unit string, expected int64) {
	of := ""
	if expected > 0 {
		of = cli.Sprintf(" of %d expected", expected)
	}
	cli.Fprintf(w, "  release %s (%s) is redrawn in a group once its last value is no longer between the quantiles "+
		"%s and %s\n", x.Release, x.Statistic, x.Low, x.High)
	cli.Fprintf(w, "    costs one user %s until then: ε %s for the test, %s for the draw by %s\n",
		x.each, x.WatchEpsilon, x.draw, mechanismText(x.Mechanism, x.Draw.Figure))
	cli.Fprintf(w, "    this happens at most %s in a period of the budget: at most %s, with the first values\n",
		cli.Plural(x.AtMost, "time"), x.worst)
	cli.Fprintf(w, "    error of a draw, 95 %%: %s\n",
		errorText(x.Mechanism, x.Draw.Figure, mechanisms.Statistic(x.Statistic).Unit(unit),
			x.Draw.TypicalError != nil))
	cli.Fprintf(w, "    once %s%s are beyond the tolerance, the test sees it in the first window with a probability "+
		"of 95 %%\n", users(int64(math.Ceil(x.Excess))), of)
}
