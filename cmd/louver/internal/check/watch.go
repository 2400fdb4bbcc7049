package check

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// examinedWatch describes a watch before it is armed, from public figures only.
type examinedWatch struct {
	Watch     string `json:"watch"`
	Condition string `json:"condition"`
	words     string // the condition, as a clause
	capped    bool   // the stream has max_windows, so more users are there than are expected to count
	// Epsilon is the cost to one user from arming to firing. The watch is armed at most AtMost times in a period of the budget.
	Epsilon cli.Figure `json:"epsilon"`
	AtMost  int64      `json:"at_most"`
	// FalseAlarms is the probability of any false alarm in a time of FalseAlarmsPer.
	FalseAlarms    cli.Figure `json:"false_alarms"`
	FalseAlarmsPer string     `json:"false_alarms_per"`
	sight
}

// sight is what a watch sees.
type sight struct {
	// Margin is how many users the watch adds to its target. Excess is how many users too many, or too few, it sees with 95 %
	// in the first window.
	Margin float64 `json:"margin"`
	Excess float64 `json:"excess_95"`
	// Most is how many of the expected users can be too many, or too few, and Missed the probability that even then the first
	// window stays silent; nil if no number of users is expected.
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

func examineWatch(s *config.Stream, w config.Alarm, users int64) examinedWatch {
	condition := w.Query.Conditions[0]
	return examinedWatch{Watch: w.Name, Condition: condition.String(), words: condition.Words(s.Unit), capped: s.MaxWindows != nil,
		Epsilon: cli.NewFigure(w.Query.Epsilon), AtMost: w.AtMost, FalseAlarms: cli.NewFigure(w.Query.FalseAlarms),
		FalseAlarmsPer: config.Duration(w.FalseAlarmsPer), sight: sees(w.Mechanism, users)}
}

// print writes what a watch costs and sees, behind an indent.
func (x examinedWatch) print(w *bytes.Buffer, indent string, users int64) {
	fmt.Fprintf(w, indent+"watch %s fires if %s\n", x.Watch, x.words)
	fmt.Fprintf(w, indent+"  costs one user ε %s until it fires, at most %s in a period of the budget\n", x.Epsilon, cli.Plural(x.AtMost, "time"))
	fmt.Fprintf(w, indent+"  with a margin of %s it raises a false alarm in %s with at most %s %%\n", cli.WithUnit(cli.Tenths(x.Margin), "users"), x.FalseAlarmsPer, x.FalseAlarms.Shift(2))
	fmt.Fprintf(w, indent+"  sees %s %s in a group with 95 %% in the first window\n", cli.WithUnit(cli.Tenths(x.Excess), "users"), cli.Direction(x.Condition))
	if x.Most != nil {
		fmt.Fprintf(w, indent+"  of %d expected users at most %s can be %s; it misses even that with %s\n", users, cli.Tenths(*x.Most), cli.Direction(x.Condition), missed(*x.Missed))
	}
	if x.Most != nil && x.capped {
		fmt.Fprintln(w, indent+"  that goes by those who still count under max_windows; it looks at everybody, and so sees more")
	}
}

// blind refuses watches for few users whose margin is larger than the number: even with nobody there they stay silent. A service
// goes on with one that it has.
func blind(file *config.File) error {
	var all []error
	for _, s := range file.Streams {
		for _, w := range s.Alarms {
			m := w.Query.Conditions[0].UsersBelow
			if m == nil {
				continue
			}
			if short := w.Mechanism.Margin() - w.Mechanism.Most(0); short > 0 {
				all = append(all, fmt.Errorf("%s: streams[%s].watches[%s].users_below: %d is less than the margin of %s users, so the watch stays silent even if nobody is there; want at least %d, a larger epsilon or more false alarms",
					w.Where, s.Name, w.Name, *m, cli.Tenths(w.Mechanism.Margin()), *m+int64(math.Ceil(short))))
			}
		}
	}
	return errors.Join(all...)
}

// missed writes the probability of a miss.
func missed(p float64) string {
	if p < 0.001 {
		return "less than 0.1 %"
	}
	return cli.Tenths(100*p) + " %"
}
