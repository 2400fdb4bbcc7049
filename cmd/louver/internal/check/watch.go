package check

import (
	"bytes"
	"fmt"
	"math"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// watchReport describes a watch before it is armed, from public figures only.
type watchReport struct {
	Watch     string `json:"watch"`
	Condition string `json:"condition"`
	words     string // the condition, as a clause
	capped    bool   // the stream has max_windows, so more users are there than are expected to count
	// Epsilon is the cost to one user from arming to firing. The watch is armed at most AtMost times in a period of the
	// budget.
	Epsilon cli.Figure `json:"epsilon"`
	AtMost  int64      `json:"at_most"`
	// FalseAlarms is the probability of any false alarm in a time of FalseAlarmsPer.
	FalseAlarms    cli.Figure `json:"false_alarms"`
	FalseAlarmsPer string     `json:"false_alarms_per"`
	sight
}

// sight is what a watch sees.
type sight struct {
	// Margin is how many users the watch adds to its target. Excess is how many users too many, or too few, it sees with
	// 95 % in the first window.
	Margin float64 `json:"margin"`
	Excess float64 `json:"excess_95"`
	// Most is how many of the expected users can be too many, or too few, and Missed the probability that even then the
	// first window stays silent; nil if no number of users is expected.
	Most   *float64 `json:"most"`
	Missed *float64 `json:"missed"`
}

// sees says what a watch sees among so many users; 0 if unknown.
func sees(w *mechanisms.Watch, users int64) sight {
	s := sight{Margin: w.Margin(), Excess: w.Excess95()}
	if users > 0 {
		most := w.Most(users)
		s.Most, s.Missed = &most, new(w.Miss(most))
	}
	return s
}

func describeWatch(s *config.Stream, w config.Watch, expected int64) watchReport {
	condition := w.Query.Conditions[0]
	return watchReport{Watch: w.Name, Condition: condition.String(), words: condition.Words(s.Unit),
		capped: s.MaxWindows != nil, Epsilon: cli.NewFigure(w.Query.Epsilon), AtMost: w.AtMost,
		FalseAlarms: cli.NewFigure(w.Query.FalseAlarms), FalseAlarmsPer: config.Duration(w.FalseAlarmsPer),
		sight: sees(w.Mechanism, expected)}
}

// print writes what a watch costs and sees.
func (x watchReport) print(w *bytes.Buffer, expected int64) {
	more, many := "more", "too many"
	if cli.Direction(x.Condition) != many {
		more, many = "fewer", "too few"
	}
	fmt.Fprintf(w, "  watch %s fires if %s\n", x.Watch, x.words)
	fmt.Fprintf(w, "    costs one user ε %s until it fires, at most %s in a period of the budget\n",
		x.Epsilon, cli.Plural(x.AtMost, "time"))
	fmt.Fprintf(w, "    its margin of %s keeps the probability of a false alarm in %s at %s %% or less\n",
		cli.WithUnit(cli.Tenths(x.Margin), "users"), x.FalseAlarmsPer, x.FalseAlarms.Shift(2))
	fmt.Fprintf(w, "    with %.0f %s users than that in one group, it fires in the first window with a probability of 95 %%\n",
		math.Ceil(x.Excess), more)
	if x.Most != nil {
		fmt.Fprintf(w, "    of %d expected users at most %s can be %s: it misses even that with a probability of %s\n",
			expected, cli.Tenths(*x.Most), many, missed(*x.Missed))
	}
	if x.Most != nil && x.capped {
		fmt.Fprintln(w, "    that goes by those who still count under max_windows; it looks at everybody, and so sees more")
	}
}

// missed writes the probability of a miss.
func missed(p float64) string {
	if p < 0.001 {
		return "less than 0.1 %"
	}
	return cli.Tenths(100*p) + " %"
}
