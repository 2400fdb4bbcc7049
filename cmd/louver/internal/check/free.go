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
}

func describeFree(s *config.Stream) (all []freeReport) {
	for _, f := range s.Free {
		all = append(all, freeReport{f.Name, string(f.Query.Statistic), f.From.Name})
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
