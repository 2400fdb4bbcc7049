package check

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms/forecast"
)

// epsilons writes an ε, and the δ that goes with it if there is one.
func epsilons(epsilon, delta cli.Figure) string {
	if delta.IsZero() {
		return epsilon.String()
	}
	return fmt.Sprintf("%s, δ %s", epsilon, delta)
}

// users writes a number of users. Figures of 2⁵³ and more stand for no bound.
func users(n int64) string {
	if n >= 1<<53 {
		return "more users than can be counted"
	}
	return cli.Plural(n, "user")
}

// errorText says how far off a value may be for any data.
func errorText(mechanism string, f forecast.Figure, unit string) string {
	tenths := func(share float64, to func(float64) float64) string { return cli.Tenths(to(1000*share) / 10) }
	switch {
	case f.CountError != nil:
		return "± " + users(*f.CountError)
	case f.Lead != nil:
		return "none if it leads by " + users(*f.Lead)
	case f.ValueError != nil:
		return "± " + valueText(f.ValueError, unit)
	case strings.Contains(mechanism, "/") && f.Mechanism == "": // each draw chooses one of two
		return "depends on the number of users"
	case f.RankError == nil:
		return "depends on the data: see plan --shape"
	case f.Low != nil && f.High != nil:
		return fmt.Sprintf("percentiles %s to %s", tenths(*f.Low, math.Floor), tenths(*f.High, math.Ceil))
	}
	return "up to " + rankText(f) + " above or below"
}

// rankText is how many users lie between a value and the true one, at most.
func rankText(f forecast.Figure) string { return users(int64(math.Ceil(*f.RankError))) }

// mechanismText names the mechanism. If the draw chooses one, it names the likely choice or, if that is unknown, all of
// them.
func mechanismText(mechanism string, f forecast.Figure) string {
	return strings.ReplaceAll(cmp.Or(f.Mechanism, mechanism), "/", " or ")
}

func valueText(x *float64, unit string) string {
	if x == nil {
		return ""
	}
	return strings.TrimSpace(cli.Short(*x) + " " + unit)
}
