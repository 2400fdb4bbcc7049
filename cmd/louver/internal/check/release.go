package check

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
)

// releaseReport describes a release of every window: how it is drawn, and what one draw costs.
type releaseReport struct {
	Release   string     `json:"release"`
	Statistic string     `json:"statistic"`
	Mechanism string     `json:"mechanism"`
	Epsilon   cli.Figure `json:"epsilon"`
	Delta     cli.Figure `json:"delta"`
	// Charge is ε times the number of groups that a user may be in.
	Charge cli.Figure    `json:"epsilon_per_window"`
	Values []valueReport `json:"values"`
	Needs  *needsReport  `json:"needs,omitempty"`
	charge string        // in words: a mechanism with a ρ has no ε of its own
}

// valueReport is one released figure and its error.
type valueReport struct {
	Release string `json:"release"`
	forecast.Figure
}

func describeRelease(s *config.Stream, r config.Release, public forecast.Public) (x releaseReport, err error) {
	promise, groups := r.Mechanism.Promise(), decimal.NewFromInt(int64(s.MaxGroups))
	x = releaseReport{Release: r.Name, Statistic: string(r.Query.Statistic), Mechanism: r.Mechanism.Name(),
		Epsilon: cli.NewFigure(promise.Epsilon), Delta: cli.NewFigure(promise.Delta),
		Charge: cli.NewFigure(promise.Epsilon.Mul(groups))}
	if x.charge = x.Charge.String(); promise.Kind == privacy.ZCDP {
		x.charge = "ρ " + promise.Rho.Mul(groups).String()
	}
	x.Values, err = describeValues(r, public)
	return x, err
}

// describeValues forecasts each value of a draw.
func describeValues(r config.Release, public forecast.Public) (all []valueReport, err error) {
	figures, err := forecast.Of(r.Query, r.Mechanism, public)
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", r.Name, err)
	}
	for i, name := range r.Names() {
		all = append(all, valueReport{name, figures[i]})
	}
	return all, nil
}

// printReleases writes the table of what is drawn in every window, if anything is.
func (s *streamReport) printReleases(w *bytes.Buffer, width int) error {
	if len(s.Releases) == 0 {
		return nil
	}
	head := []string{"release", "statistic", "mechanism", "ε"}
	if s.MaxGroups > 1 {
		head = append(head, "charge per window")
	}
	head = append(head, "error, 95 %")
	if s.Shape != "" {
		head = append(head, "typical error", "19 of 20 within")
	}
	if s.Users > 0 {
		head = append(head, "quality")
	}
	var rows [][]string
	for _, r := range s.Releases {
		drawn := []string{r.Statistic, mechanismText(r.Mechanism, r.Values[0].Figure), epsilons(r.Epsilon, r.Delta)}
		if s.MaxGroups > 1 {
			drawn = append(drawn, r.charge)
		}
		unit := mechanisms.Statistic(r.Statistic).Unit(s.Unit)
		for i, v := range r.Values {
			if i > 0 {
				drawn = make([]string, len(drawn))
			}
			row := append(append([]string{v.Release}, drawn...), errorText(r.Mechanism, v.Figure, unit))
			if s.Shape != "" {
				row = append(row, valueText(v.TypicalError, unit), valueText(v.Error95, unit))
			}
			quality := string(v.Quality)
			if quality == "" {
				quality = "unknown"
			}
			rows = append(rows, append(row, quality)[:len(head)])
		}
	}
	fmt.Fprintln(w)
	if err := cli.WriteTable(w, width, head, rows); err != nil {
		return err
	}
	if s.Shape != "" && s.Users > 0 {
		fmt.Fprintln(w, "  The errors are distances from the statistic of the users who took part, not from that of the shape.")
	}
	for _, r := range s.Releases {
		if r.Needs != nil {
			fmt.Fprintln(w, "  "+r.needsText(s.Users))
		}
	}
	return nil
}

func (r releaseReport) needsText(expected int64) string {
	var ways []string
	if n := r.Needs; n.Epsilon != nil {
		way := "ε " + n.Epsilon.String()
		if expected > 0 {
			way += " with " + users(expected)
		}
		ways = append(ways, way)
	}
	if n := r.Needs; n.Users != nil {
		ways = append(ways, fmt.Sprintf("%s with ε %s", users(*n.Users), r.Epsilon))
	}
	if ways == nil {
		return fmt.Sprintf("%s: an error of %s is out of reach, or cannot be forecast.", r.Release, r.Needs.Error)
	}
	return fmt.Sprintf("%s: an error of %s needs %s.", r.Release, r.Needs.Error, strings.Join(ways, ", or "))
}
