package inspect

import (
	"fmt"
	"io"
	"strings"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/ledger"
)

// printBudgets writes tables of what streams and budgets have spent, and what one person loses at most.
func printBudgets(w io.Writer, width int, r budgetReport) error {
	var streams, budgets [][]string
	for _, s := range r.Streams {
		streams = append(streams, []string{s.Stream, s.Budget, bounded(s.EpsilonSpent), bounded(s.EpsilonTotal),
			left(s.WindowsLeft), nextReturn(s.Figures)})
	}
	for _, b := range r.Budgets {
		exhausted := "never"
		switch {
		case b.ExhaustedSince != nil:
			exhausted = "since " + moment(b.ExhaustedSince)
		case b.ExhaustedAt != nil:
			exhausted = "at " + moment(b.ExhaustedAt)
		}
		budgets = append(budgets, []string{b.Budget, spentOf(b.Figures), b.EpsilonLeft.String(), bounded(b.EpsilonTotal),
			left(b.WindowsLeft), exhausted, nextReturn(b.Figures)})
	}
	if err := cli.WriteTable(w, width, []string{"stream", "budget", "ε spent", "total ε", "windows left", "next return"},
		streams); err != nil {
		return err
	}
	if err := cli.WriteTable(w, width,
		[]string{"budget", "ε spent", "left", "total ε", "windows left", "exhausted", "next return"}, budgets); err != nil {
		return err
	}
	if len(r.Watches) > 0 {
		if err := cli.WriteTable(w, width, []string{"stream", "watch", "budget", "instances", "state", "looked at", "ε",
			"total ε"}, watches(r.Watches)); err != nil {
			return err
		}
	}
	for _, line := range r.lines() {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func watches(all []ledger.WatchFigures) (rows [][]string) {
	for _, x := range all {
		rows = append(rows, []string{x.Stream, x.Watch, x.Budget, fmt.Sprint(x.Instances), x.State,
			moment(x.From) + " to " + moment(x.To), x.Epsilon.String(), x.EpsilonTotal.String()})
	}
	return rows
}

// spentOf writes the ε that counts against the limit.
func spentOf(b ledger.Figures) string {
	text := fmt.Sprintf("%s of %s", bounded(b.EpsilonSpent), b.EpsilonLimit)
	if b.Per == "forever" {
		return text + " in total"
	}
	return text + " per " + b.Per
}

// bounded writes an ε, or "no bound".
func bounded[N fmt.Stringer](epsilon *N) string {
	if epsilon == nil {
		return "no bound"
	}
	return (*epsilon).String()
}

// left writes how many windows a budget can pay for. Under a cap there may be no end of them.
func left(windows int64) string {
	if windows >= budget.MostWindows {
		return "no end"
	}
	return fmt.Sprint(windows)
}

func nextReturn(f ledger.Figures) string {
	if len(f.Returns) == 0 {
		return "never"
	}
	return fmt.Sprintf("%s at %s", f.Returns[0].Epsilon, moment(f.Returns[0].At))
}

// moment writes a time that may wrap between date and time of day.
func moment(at fmt.Stringer) string { return strings.Replace(at.String(), "T", " ", 1) }
