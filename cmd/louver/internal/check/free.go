package check

import (
	"fmt"
	"io"

	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/stream/config"
)

// freeReport describes a figure that is computed from a histogram.
type freeReport struct {
	Release   string `json:"release"`
	Statistic string `json:"statistic"`
	From      string `json:"from"`
	// SLO is what is known of its objective; nil if it has none.
	SLO *objectiveReport `json:"slo,omitempty"`
}

func describeFree(s *config.Stream, expected int64) (all []freeReport) {
	for _, f := range s.Free {
		one := freeReport{Release: f.Name, Statistic: string(f.Query.Statistic), From: f.From.Name}
		if f.Objective.IsPositive() {
			one.SLO = describeObjective(config.Objective{Stream: s, Share: f}, expected)
		}
		all = append(all, one)
	}
	return all
}

// printFree has a line for each histogram that figures are computed from.
func printFree(w io.Writer, all []freeReport) {
	names := map[string][]string{}
	var order []string
	for _, f := range all {
		if names[f.From] == nil {
			order = append(order, f.From)
		}
		names[f.From] = append(names[f.From], f.Release)
	}
	for _, from := range order {
		are, cost := "is", "costs"
		if len(names[from]) > 1 {
			are, cost = "are", "cost"
		}
		fmt.Fprintf(w, "  %s %s computed from %s and %s nothing. Each value comes with its error.\n",
			english.WordSeries(names[from], "and"), are, from, cost)
	}
}
