package offline

import (
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/replay"
)

// watchFlags say what to watch for, and when.
type watchFlags struct {
	Watch       string        `group:"watch" placeholder:"CONDITION" help:"Watch for a condition in one window after another, such as \"above: 2000, more_than: 0.01\". ε is paid once, until it fires."`
	Time        string        `group:"watch" placeholder:"COLUMN" help:"Column of the time."`
	Clock       string        `rare:"" name:"time-of-day" group:"watch" placeholder:"COLUMN" help:"Column of the time of day, if that of --time has only the date."`
	Dates       string        `rare:"" default:"dmy" enum:"dmy,mdy" group:"watch" placeholder:"ORDER" help:"Dates such as 03/04/2026: dmy has the day first, mdy the month. It is public: the file does not decide it."`
	From        string        `group:"watch" placeholder:"TIME" help:"Start of the first window, such as 2026-11-20T00:00:00Z; with --since any time in the period. It is public: never take it from the data."`
	To          string        `rare:"" group:"watch" placeholder:"TIME" help:"End of the last window."`
	Window      time.Duration `rare:"" default:"1m" group:"watch" placeholder:"D" help:"Length of a window."`
	FalseAlarms cli.Number    `rare:"" default:"0.05" group:"watch" placeholder:"P" help:"Probability of any false alarm in the time of --per."`
	Per         time.Duration `rare:"" default:"30d" group:"watch" placeholder:"D" help:"Time that --false-alarms is for."`
	Hold        time.Duration `rare:"" group:"watch" placeholder:"D" help:"How long after firing it is armed again, which costs ε again."`
	AtMost      int           `rare:"" default:"1" group:"watch" placeholder:"N" help:"How many times it is armed at most. This is what a user can lose: N times ε."`
}

// misplaced returns a flag that was given and has no meaning without --watch, or "".
func (f watchFlags) misplaced() string {
	for _, g := range []struct{ flag, value string }{{"--time", f.Time}, {"--time-of-day", f.Clock}, {"--from", f.From},
		{"--to", f.To}} {
		if g.value != "" {
			return g.flag
		}
	}
	if f.Dates == replay.MonthFirst.String() {
		return "--dates"
	}
	return ""
}
