package check

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// printPlans writes forecasts as text.
func printPlans(app *cli.App, plans []*plannedStream) error {
	var out bytes.Buffer
	for i, p := range plans {
		if i > 0 {
			fmt.Fprintln(&out)
		}
		if err := p.print(&out, app.Width()); err != nil {
			return err
		}
	}
	_, err := io.WriteString(app.Out, app.Fold(out.String()))
	return err
}

func (p *plannedStream) print(w *bytes.Buffer, width int) error {
	var heads []string
	if p.Stream != "" {
		heads = append(heads, "stream "+p.Stream)
	}
	if p.Users > 0 {
		heads = append(heads, cli.Plural(p.Users, "user")+" in a window and group")
	}
	if p.Shape != "" {
		heads = append(heads, "values like "+p.Shape)
	}
	if heads != nil {
		fmt.Fprintln(w, strings.Join(heads, ", "))
	}
	head := []string{"release", "mechanism", "ε", "error, 95 %"}
	if p.Shape != "" {
		head = append(head, "typical error", "19 of 20 within")
	}
	if p.Users > 0 {
		head = append(head, "quality")
	}
	var rows [][]string
	for _, r := range p.Releases {
		mechanism, epsilon := mechanismText(r.Mechanism, r.Values[0].Figure), figures(r.Epsilon, r.Delta)
		unit := mechanisms.Statistic(r.Statistic).Unit(p.Unit)
		for _, v := range r.Values {
			row := []string{v.Release, mechanism, epsilon, errorText(r.Mechanism, v.Figure, unit)}
			if p.Shape != "" {
				row = append(row, valueText(v.TypicalError, unit), valueText(v.Error95, unit))
			}
			if p.Users > 0 {
				row = append(row, qualityText(v.Figure))
			}
			rows = append(rows, row)
			mechanism, epsilon = "", ""
		}
	}
	if len(rows) > 0 {
		if err := cli.WriteTable(w, width, head, rows); err != nil {
			return err
		}
	}
	if p.Shape != "" && p.Users > 0 {
		fmt.Fprintln(w, "The errors are distances from the statistic of the users who took part, not from that of the shape.")
	}
	for _, r := range p.Releases {
		if r.Needs != nil {
			fmt.Fprintln(w, r.needsText(p.Users))
		}
	}
	for _, x := range p.OnChange {
		x.print(w, "", p.Unit, p.Users)
	}
	for _, x := range p.Watches {
		x.print(w, "", p.Users)
	}
	if len(p.Releases) > 0 {
		p.printLosses(w)
	}
	return nil
}

// printLosses says in plain words what the ε means.
func (p *plannedStream) printLosses(w *bytes.Buffer) {
	groups := ""
	if p.MaxGroups > 1 {
		groups = fmt.Sprintf(", in %d groups", p.MaxGroups)
	}
	fmt.Fprintf(w, "One window costs a user %s%s. Somebody who gave it a 50:50 chance that the user took part can become %s.\n",
		p.Window.lost, groups, p.Window.sure())
	if p.Day == nil {
		if p.besides != "" {
			fmt.Fprintf(w, "What its %s cost comes on top.\n", p.besides)
		}
		return
	}
	with := ""
	if p.besides != "" {
		with = ", with its " + p.besides
	}
	who := fmt.Sprintf("A user in every window of a day (%s, one every %s%s) loses", cli.Plural(p.Day.Windows, "window"), config.Duration(p.every), with)
	if p.capped {
		who = fmt.Sprintf("A user counts in at most %s of a day%s, and then loses", cli.Plural(p.Day.Windows, "window"), with)
	}
	fmt.Fprintf(w, "%s at most %s: %s", who, p.Day.lost, p.Day.sure())
	if p.Advanced != nil && cli.Certainty(p.Advanced.Belief) != cli.NearlyAll {
		fmt.Fprintf(w, ". With delta: %s in the budget it is ε %s: %s", cost.Suggested, cli.Short(p.Advanced.Epsilon.InexactFloat64()), p.Advanced.sure())
	}
	fmt.Fprintln(w, ".")
}

// sure says how sure somebody can become who gave it a chance of 50:50.
func (l plannedLoss) sure() string {
	if l.Delta.IsPositive() {
		return cli.Sure(l.Belief) + ", except with a probability of about δ"
	}
	return cli.Sure(l.Belief)
}

func (r plannedRelease) needsText(users int64) string {
	var ways []string
	if n := r.Needs; n.Epsilon != nil {
		way := "ε " + n.Epsilon.String()
		if users > 0 {
			way += " with " + cli.Plural(users, "user")
		}
		ways = append(ways, way)
	}
	if n := r.Needs; n.Users != nil {
		ways = append(ways, fmt.Sprintf("%s with ε %s", cli.Plural(*n.Users, "user"), r.Epsilon))
	}
	if ways == nil {
		return fmt.Sprintf("%s: an error of %s is out of reach, or cannot be forecast.", r.Release, r.Needs.Error)
	}
	return fmt.Sprintf("%s: an error of %s needs %s.", r.Release, r.Needs.Error, strings.Join(ways, ", or "))
}
