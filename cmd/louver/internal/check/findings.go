package check

import (
	"bytes"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// findings say what streams files cost and how good their figures will be, from public figures only. Both commands
// print them. Their JSON names, and those of all that is in them, are public: schema_check.md says what each of them
// means.
type findings struct {
	Streams []*streamReport `json:"streams"`
	Budgets []budgetReport  `json:"budgets"`
	Inputs  []inspect.Input `json:"inputs,omitempty"`
}

// find describes all streams and budgets of a file. now is the start of streams with start: now.
func find(file *config.File, known *forecastFlags, now time.Time) (found findings, err error) {
	payers := config.PayersOf(file.Streams, now)
	for _, s := range file.Streams {
		public, err := known.public(s, s.Grid)
		if err != nil {
			return found, err
		}
		x, err := describeStream(s, payers[s.Budget], public, now)
		if err != nil {
			return found, err
		}
		if err := known.needs(x.Releases, public); err != nil {
			return found, err
		}
		found.Streams = append(found.Streams, x)
	}
	for _, b := range file.Budgets {
		found.Budgets = append(found.Budgets, describeBudget(file, b, now))
		backlogs := payers[b].Backlogs(now)
		for i, s := range file.StreamsOf(b) {
			found.Streams[slices.Index(file.Streams, s)].Backlog = describeBacklog(s, backlogs[i])
		}
	}
	found.Inputs = inspect.InputsOf(file.Payers(now))
	return found, nil
}

// print writes the findings as text.
func (f findings) print(app *cli.App) error {
	var out bytes.Buffer
	for _, s := range f.Streams {
		if err := s.print(&out, app.Width()); err != nil {
			return err
		}
	}
	for _, b := range f.Budgets {
		b.print(&out)
	}
	for _, in := range f.Inputs {
		out.WriteString(in.Text + "\n")
	}
	return app.Print(out.String())
}

// lossReport says how much one person can lose through some windows.
type lossReport struct {
	Windows int64       `json:"windows"`
	Epsilon cli.Digits  `json:"epsilon"`
	Delta   cli.Digits  `json:"delta"`
	Sum     *cli.Digits `json:"epsilon_sum,omitempty"`
	Belief  float64     `json:"belief"` // except with a probability of about δ
	Right   int64       `json:"right_of_100"`

	lost cost.Loss
}

func newLossReport(lost cost.Loss, windows int64) lossReport {
	return lossReport{windows, cli.NewDigits(lost.Epsilon), cli.NewDigits(lost.Delta), inspect.SumOf(lost),
		budget.Spending{Epsilon: lost.Epsilon}.Guess(), lost.Right(), lost}
}
