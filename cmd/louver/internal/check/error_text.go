package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms/forecast"
)

// loss says what a user loses.
func loss(epsilon, delta cli.Figure) string { return "ε " + figures(epsilon, delta) }

func figures(epsilon, delta cli.Figure) string {
	if delta.IsZero() {
		return epsilon.String()
	}
	return fmt.Sprintf("%s, δ %s", epsilon, delta)
}

// errorText says how far off a value may be for any data.
func errorText(mechanism string, f forecast.Figure, unit string) string {
	switch {
	case f.CountError != nil:
		return "± " + cli.Plural(*f.CountError, "user")
	case f.Lead != nil:
		return "none if it leads by " + cli.Plural(*f.Lead, "user")
	case f.ValueError != nil:
		return "± " + valueText(f.ValueError, unit)
	case chooses(mechanism) && f.Mechanism == "":
		return "depends on the number of users"
	case f.RankError == nil:
		return "depends on the data: see plan --shape"
	case f.Low != nil && f.High != nil:
		return fmt.Sprintf("p%.3g–p%.3g (± %s)", *f.Low*100, *f.High*100, cli.WithUnit(fmt.Sprintf("%.4g", *f.RankError), "ranks"))
	}
	return "± " + cli.WithUnit(fmt.Sprintf("%.4g", *f.RankError), "ranks")
}

// mechanismText names the mechanism. If the draw chooses one, it names the likely choice or, if that is unknown, all of
// them.
func mechanismText(mechanism string, f forecast.Figure) string {
	return strings.ReplaceAll(cmp.Or(f.Mechanism, mechanism), "/", " or ")
}

// chooses reports whether a mechanism's name consists of two, of which each draw chooses one.
func chooses(mechanism string) bool { return strings.Contains(mechanism, "/") }

// qualityText is the quality to expect.
func qualityText(f forecast.Figure) string {
	if f.Quality == "" {
		return "unknown"
	}
	return string(f.Quality)
}

func valueText(x *float64, unit string) string {
	if x == nil {
		return ""
	}
	return strings.TrimSpace(cli.Short(*x) + " " + unit)
}
