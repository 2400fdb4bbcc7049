package check

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/mechanisms"
)

// print writes the examination as text.
func (e *examination) print(app *cli.App) error {
	var out bytes.Buffer
	for _, s := range e.Streams {
		if err := s.print(&out, app.Width()); err != nil {
			return err
		}
	}
	for _, b := range e.Budgets {
		b.print(&out)
	}
	for _, in := range e.Inputs {
		fmt.Fprintln(&out, in.Text)
	}
	if _, err := io.WriteString(app.Out, app.Fold(out.String())); err != nil {
		return err
	}
	if err := inspect.PrintTopics(app, e.Topics, e.Rights, nil); err != nil {
		return err
	}
	for _, line := range e.Warnings {
		_, _ = fmt.Fprintln(app.Err, line)
	}
	return nil
}

func (s examinedStream) print(w *bytes.Buffer, width int) error {
	s.printWindows(w)
	s.printLoss(w)
	s.Backlog.print(w)
	fmt.Fprintln(w)
	if err := s.printReleases(w, width); err != nil {
		return err
	}
	for _, x := range s.OnChange {
		x.print(w, "  ", s.Unit, s.Users)
	}
	if len(s.OnChange) > 0 {
		fmt.Fprintln(w)
	}
	for _, x := range s.Watches {
		x.print(w, "  ", s.Users)
	}
	if len(s.Watches) > 0 {
		fmt.Fprintln(w)
	}
	return nil
}

// printWindows says which windows there are, and who is in them.
func (s examinedStream) printWindows(w *bytes.Buffer) {
	hops := ""
	if s.Every != s.Size {
		hops = ", one every " + s.Every
	}
	fmt.Fprintf(w, "stream %s (%s)\n", s.Stream, s.Where)
	fmt.Fprintf(w, "  windows of %s%s, drawn %s after they end\n", s.Size, hops, s.Grace)
	if s.Users > 0 {
		who := "expected"
		if s.MaxWindows != nil {
			who = "expected to count"
		}
		fmt.Fprintf(w, "  %s %s in a window and group\n", cli.Plural(s.Users, "user"), who)
	}
}

// printLoss says in what one user counts, and what they can lose at most.
func (s examinedStream) printLoss(w *bytes.Buffer) {
	groups := fmt.Sprintf("%d of %d groups", s.MaxGroups, s.Groups)
	if s.Groups == 1 {
		groups = "the one group"
	}
	can := ""
	if len(s.Releases) > 0 {
		can = fmt.Sprintf(" and can lose %s in a window", s.window)
	}
	fmt.Fprintf(w, "  one user counts in %s%s; budget %s pays\n", groups, can, s.Budget)
	if m := s.MaxWindows; m != nil {
		first := "one"
		if m.Each > 1 {
			first = fmt.Sprint(m.Each)
		}
		fmt.Fprintf(w, "  one user counts in at most %s of any %s: in each stretch of %s, the first %s in which they appear\n", cli.Plural(m.Count, "window"), m.Per, m.Block, first)
		if m.Share < 1 {
			fmt.Fprintf(w, "  of users with something in every window, one in %.0f counts in each; those who come rarely all count\n", math.Ceil(1/m.Share))
		}
	}
	if s.Overlap > 1 && len(s.Releases) > 0 {
		fmt.Fprintf(w, "  one event falls into up to %d windows, which cost its user at most %s\n", s.Overlap, s.event)
	}
	if s.Besides != "" {
		fmt.Fprintf(w, "  its %s cost one user at most %s in a period of the budget, beside the windows\n", s.Besides, s.watches)
	}
}

// printReleases writes the table of what is drawn in every window, if anything is.
func (s examinedStream) printReleases(w *bytes.Buffer, width int) error {
	if len(s.Releases) == 0 {
		return nil
	}
	head := []string{"release", "statistic", "mechanism", "ε"}
	if s.MaxGroups > 1 {
		head = append(head, "charge per window")
	}
	head = append(head, "error, 95 %")
	if s.Users > 0 {
		head = append(head, "quality")
	}
	var rows [][]string
	for _, r := range s.Releases {
		common := []string{r.Statistic, mechanismText(r.Mechanism, r.Values[0].Figure), figures(r.Epsilon, r.Delta)}
		if s.MaxGroups > 1 {
			common = append(common, r.charge)
		}
		for i, v := range r.Values {
			if i > 0 {
				common = make([]string, len(common))
			}
			row := append(append([]string{v.Release}, common...), errorText(r.Mechanism, v.Figure, mechanisms.Statistic(r.Statistic).Unit(s.Unit)))
			if s.Users > 0 {
				row = append(row, qualityText(v.Figure))
			}
			rows = append(rows, row)
		}
	}
	if err := cli.WriteTable(w, width, head, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return nil
}

func (b examinedBudget) print(w *bytes.Buffer) {
	fmt.Fprintf(w, "budget %s (%s)\n", b.Budget, b.Where)
	which := "windows that end in any " + b.Per
	if b.Per == "forever" {
		which = "all windows together"
	}
	fmt.Fprintf(w, "  %s cost one user at most %s", which, loss(b.Epsilon, b.Delta))
	if b.Wanted != nil {
		fmt.Fprintf(w, "; the schedule needs %s", b.needs)
	}
	fmt.Fprintln(w)
	if b.WithDelta != nil {
		fmt.Fprintf(w, "  with delta: %s in the budget, the schedule would need ε %s\n", b.WithDelta.Delta, b.WithDelta.Epsilon)
	}
	if len(b.Streams) > 0 {
		fmt.Fprintf(w, "  %s\n", inspect.InAnyDay(b.day))
	}
	if b.Touched != nil {
		fmt.Fprintf(w, "  what one user does in any %s falls into up to %s,%s costing at most %s%s\n", b.Per, cli.Plural(*b.Touched, "window"), b.later, b.stretch, b.twice)
		if b.Pays && b.Wanted != nil && b.Wanted.GreaterThan(b.StretchEpsilon.Decimal) {
			fmt.Fprintln(w, "  the schedule needs more than that because the budget counts max_windows in whole periods, and rounds up")
		}
	}
	switch {
	case len(b.Streams) == 0:
		fmt.Fprintln(w, "  no stream uses it")
	case b.Pays:
		fmt.Fprintf(w, "  lasts %s\n", b.Lasts)
	default:
		fmt.Fprintf(w, "  lasts %s: it pays for %s and withholds those that it cannot pay for\n", b.Lasts, cli.Plural(b.Windows, "window"))
	}
	fmt.Fprintln(w)
}
