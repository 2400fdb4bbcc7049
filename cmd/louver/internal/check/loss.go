package check

import (
	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/stream/config/cost"
)

// lossReport says how much one person can lose through some windows.
type lossReport struct {
	// Windows is in how many windows one person counts at most.
	Windows int64      `json:"windows"`
	Epsilon cli.Figure `json:"epsilon"`
	Delta   cli.Figure `json:"delta"`
	// Sum is the plain sum, where that is more.
	Sum *cli.Figure `json:"epsilon_sum,omitempty"`
	// Belief is how high a belief of 50 % that a given user took part can become, except with a probability of about δ.
	Belief float64 `json:"belief"`
	// Right is how many of 100 guesses whether a given user took part can be right, at most.
	Right int64 `json:"right_of_100"`

	lost cost.Loss
}

func newLossReport(lost cost.Loss, windows int64) lossReport {
	return lossReport{windows, cli.NewFigure(lost.Epsilon), cli.NewFigure(lost.Delta), inspect.SumOf(lost),
		budget.Spending{Epsilon: lost.Epsilon}.Guess(), lost.Right(), lost}
}
