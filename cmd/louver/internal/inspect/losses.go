package inspect

import (
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config/cost"
)

// Input bounds what one person of an input topic loses through all budgets that pay for it.
type Input struct {
	Topic   string   `json:"topic"`
	Budgets []string `json:"budgets"`
	// DayEpsilon is what the windows that end in any 24 hours cost under all of the budgets together; nil if it has no
	// bound.
	DayEpsilon *cli.Figure `json:"epsilon_per_day"`
	DayDelta   cli.Figure  `json:"delta_per_day"`
	// DaySum is the plain sum of the same windows, where that is more.
	DaySum *cli.Figure `json:"epsilon_per_day_sum,omitempty"`

	Text string `json:"-"` // in words
}

// InputsOf reports on the topics that several budgets pay for.
func InputsOf(payers []cost.Payer) (all []Input) {
	for _, s := range cost.InCommon(payers) {
		all = append(all, Input{s.Topic, s.Budgets, EpsilonOf(s.Day), cli.NewFigure(s.Day.Delta), SumOf(s.Day),
			s.String()})
	}
	return all
}

// InAnyDay says what one person loses at most through a budget's windows. It has a place for a [cost.Loss].
const InAnyDay = "one person loses at most %s in any 24 h, counting the windows that end in it"

// EpsilonOf returns the ε of a loss, or nil if it has no bound.
func EpsilonOf(l cost.Loss) *cli.Figure {
	if l.Unbounded {
		return nil
	}
	return new(cli.NewFigure(l.Epsilon))
}

// SumOf returns the plain sum that goes with a bound with a δ; nil if they are the same, or if there is none.
func SumOf(l cost.Loss) *cli.Figure {
	if l.Sum == nil || l.Unbounded || l.Sum.Equal(l.Epsilon) {
		return nil
	}
	return new(cli.NewFigure(*l.Sum))
}
