package inspect

import (
	"fmt"
	"io"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/ledger"
)

// printBudgets writes tables of what streams and budgets have spent, and what one person loses at most.
func printBudgets(w io.Writer, width int, r budgetReport, now time.Time) error {
	if len(r.Streams) == 0 && len(r.Budgets) == 0 && len(r.Watches) == 0 {
		_, err := fmt.Fprintln(w, "nothing is spent yet: no window has closed")
		return err
	}
	var streams, budgets [][]string
	for _, s := range r.Streams {
		streams = append(streams, []string{s.Stream, s.Budget, bounded(s.EpsilonSpent), bounded(s.EpsilonTotal),
			left(s.WindowsLeft), nextReturn(s.Figures, now)})
	}
	for _, b := range r.Budgets {
		exhausted := "never"
		switch {
		case b.ExhaustedSince != nil:
			exhausted = "since " + cli.Stamp(b.ExhaustedSince.Time, now)
		case b.ExhaustedAt != nil:
			exhausted = "at " + cli.Stamp(b.ExhaustedAt.Time, now)
		}
		budgets = append(budgets, []string{b.Budget, spentOf(b.Figures), b.EpsilonLeft.String(),
			bounded(b.EpsilonTotal), left(b.WindowsLeft), exhausted, nextReturn(b.Figures, now)})
	}
	if err := cli.WriteTable(w, width, []string{"stream", "budget", "ε spent", "total ε", "windows left",
		"next return"}, streams); err != nil {
		return err
	}
	if err := cli.WriteTable(w, width, []string{"budget", "ε spent", "left", "total ε", "windows left", "exhausted",
		"next return"}, budgets); err != nil {
		return err
	}
	if len(r.Watches) > 0 {
		if err := cli.WriteTable(w, width, []string{"stream", "watch or total", "budget", "instances", "state",
			"looked at", "ε", "total ε"}, watches(r.Watches, now)); err != nil {
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

func watches(all []ledger.WatchFigures, now time.Time) (rows [][]string) {
	for _, x := range all {
		rows = append(rows, []string{x.Stream, x.Watch, x.Budget, fmt.Sprint(x.Instances), x.State,
			cli.Stamp(x.From.Time, now) + " to " + cli.Stamp(x.To.Time, now), x.Epsilon.String(),
			x.EpsilonTotal.String()})
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

func nextReturn(f ledger.Figures, now time.Time) string {
	if len(f.Returns) == 0 {
		return "never"
	}
	return fmt.Sprintf("%s at %s", f.Returns[0].Epsilon, cli.Stamp(f.Returns[0].At.Time, now))
}
