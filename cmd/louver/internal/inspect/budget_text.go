package inspect

import (
	"fmt"
	"io"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/ledger"
)

// printBudgets writes tables of what one person can have lost through streams and budgets, how many of the windows that
// these pay are used, and what one person loses at most. What counts against a limit is in the JSON: with a δ it is
// more.
func printBudgets(w io.Writer, width int, r budgetReport, now time.Time) error {
	if len(r.Streams) == 0 && len(r.Budgets) == 0 && len(r.Watches) == 0 {
		_, err := fmt.Fprintln(w, "nothing is spent yet: no window has closed")
		return err
	}
	var streams, budgets [][]string
	for _, s := range r.Streams {
		streams = append(streams, []string{s.Stream, s.Budget, bounded(s.EpsilonLost), bounded(s.EpsilonTotalLost),
			used(s.BudgetReport), nextReturn(s.BudgetReport, now)})
	}
	for _, b := range r.Budgets {
		exhausted := "never"
		switch {
		case b.ExhaustedSince != nil:
			exhausted = "since " + cli.Stamp(b.ExhaustedSince.Time, now)
		case b.ExhaustedAt != nil:
			exhausted = "at " + cli.Stamp(b.ExhaustedAt.Time, now)
		}
		budgets = append(budgets, []string{b.Budget, lostOf(b.BudgetReport), bounded(b.EpsilonTotalLost),
			used(b.BudgetReport),
			exhausted, nextReturn(b.BudgetReport, now)})
	}
	if err := cli.WriteTable(w, width, []string{"stream", "budget", "ε lost", "total ε", "windows used",
		"next return"}, streams); err != nil {
		return err
	}
	if err := cli.WriteTable(w, width, []string{"budget", "ε lost", "total ε", "windows used", "exhausted",
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

func watches(all []ledger.WatchReport, now time.Time) (rows [][]string) {
	for _, x := range all {
		rows = append(rows, []string{x.Stream, x.Watch, x.Budget, fmt.Sprint(x.Instances), x.State,
			cli.Stamp(x.From.Time, now) + " to " + cli.Stamp(x.To.Time, now), x.Epsilon.String(),
			x.EpsilonTotal.String()})
	}
	return rows
}

// lostOf writes the ε that one person can have lost, and the limit.
func lostOf(b ledger.BudgetReport) string {
	text := fmt.Sprintf("%s of %s", bounded(b.EpsilonLost), b.EpsilonLimit)
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

// used writes how many of the windows that a budget pays are used, and of which stream if there are several. Under a
// cap there may be no end of them, and where windows cost nothing by themselves there is nothing to use.
func used(f ledger.BudgetReport) string {
	if f.WindowsLeft >= budget.MostWindows && f.WindowsUsed == 0 {
		return "-"
	}
	if f.WindowsLeft >= budget.MostWindows {
		return cli.Sprintf("%d, no end", f.WindowsUsed)
	}
	text := cli.Sprintf("%d of %d", f.WindowsUsed, f.WindowsUsed+f.WindowsLeft)
	if f.WindowsOf != "" {
		text += " of " + f.WindowsOf
	}
	return text
}

// nextReturn says when a charge returns. With a δ, what it then gives back is no ε that anybody has lost.
func nextReturn(f ledger.BudgetReport, now time.Time) string {
	switch {
	case len(f.Returns) == 0:
		return "never"
	case f.DeltaLimit.IsPositive():
		return "at " + cli.Stamp(f.Returns[0].At.Time, now)
	}
	return fmt.Sprintf("%s at %s", f.Returns[0].Epsilon, cli.Stamp(f.Returns[0].At.Time, now))
}
