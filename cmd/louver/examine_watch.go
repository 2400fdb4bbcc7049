package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
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
	// Margin is how many users the watch adds to its target. Excess is how many must be amiss to be seen with 95 % in the first
	// window.
	Margin float64 `json:"margin"`
	Excess float64 `json:"excess_95"`
	// Most is how many of the expected users can be amiss, and Missed the probability that even then the first window stays
	// silent; nil if no number of users is expected.
	Most   *float64 `json:"most"`
	Missed *float64 `json:"missed"`
}

func examineWatch(s *config.Stream, w config.Watch, users int64) examinedWatch {
	x := examinedWatch{Watch: w.Name, Condition: w.Query.Conditions[0].String(), words: w.Query.Conditions[0].Words(s.Unit), capped: s.MaxWindows != nil, Epsilon: cli.NewFigure(w.Query.Epsilon), AtMost: w.AtMost,
		FalseAlarms: cli.NewFigure(w.Query.FalseAlarms), FalseAlarmsPer: config.Duration(w.FalseAlarmsPer), Margin: w.Mechanism.Margin(), Excess: w.Mechanism.Excess95()}
	if users > 0 {
		most := w.Mechanism.Most(users)
		x.Most, x.Missed = &most, new(w.Mechanism.Miss(most))
	}
	return x
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
		for _, w := range s.Alarms() {
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

// everybody is what a warning by expected_users adds in a stream with max_windows.
func everybody(s *config.Stream) string {
	if s.MaxWindows == nil {
		return ""
	}
	return ", or a stream of its own: a watch looks at everybody, and with max_windows expected_users is only those who still count"
}

// watch warns of a watch that protects hardly anyone, or sees nothing.
func (w *warner) watch(s *config.Stream, of config.Watch, x examinedWatch) {
	if of.Query.Epsilon.Cmp(tooMuch) > 0 {
		w.warn(of.Where, "streams[%s].watches[%s].epsilon: ε %s hardly protects anyone; want 1 or less", s.Name, of.Name, of.Query.Epsilon)
	}
	if m, n := of.Query.Conditions[0].UsersBelow, s.ExpectedUsers; m != nil && n > 0 && *m > n {
		w.warn(of.Where, "streams[%s].watches[%s].users_below: %d is more than the %d expected users, so the watch fires without cause; want a smaller number%s", s.Name, of.Name, *m, n, everybody(s))
	}
	if most := mostAlarms(of, s.Window.Every); most > 30 {
		w.warn(of.Where, "streams[%s].watches[%s].false_alarms: noise alone may raise this alarm %.0f times in 30 days, and each time costs ε %s; want a longer per, for example 30d, or a smaller at_most",
			s.Name, of.Name, most, of.Query.Epsilon)
	}
	if of.Hold < s.Window.Every && of.AtMost > 1 {
		w.warn(of.Where, "streams[%s].watches[%s].hold: %s is less than the %s from one window to the next, so a cause that lasts soon uses up at_most (%d); want %[4]s or more",
			s.Name, of.Name, config.Duration(of.Hold), config.Duration(s.Window.Every), of.AtMost)
	}
	switch {
	case x.Most != nil && *x.Most <= 0:
		w.warn(of.Where, "streams[%s].watches[%s]: it can never fire, because %d users are expected; want a condition that fewer users can meet%s", s.Name, of.Name, s.ExpectedUsers, everybody(s))
	case x.Most != nil && *x.Most < x.Excess:
		w.warn(of.Where, "streams[%s].watches[%s]: at most %s of %d expected users can be %s, but %s are needed to be seen with 95 %%; want more users, a larger epsilon or more false alarms%s",
			s.Name, of.Name, cli.Tenths(*x.Most), s.ExpectedUsers, cli.Direction(x.Condition), cli.Tenths(x.Excess), everybody(s))
	}
}

// mostAlarms is how many false alarms in 30 days a watch allows. Its promise is for whole windows.
func mostAlarms(of config.Watch, every time.Duration) float64 {
	return of.Query.FalseAlarms.InexactFloat64() * float64(30*24*time.Hour) / float64(max(of.FalseAlarmsPer, every))
}
