package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/outputs"
)

// figure is a decimal that is a number in JSON, not a string.
type figure struct{ decimal.Decimal }

// MarshalJSON implements [json.Marshaler].
func (f figure) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(f.String())) }

// examinedValue is one released figure and its error.
type examinedValue struct {
	Release string `json:"release"`
	forecast.Figure
}

// loss says what a user loses.
func loss(epsilon, delta figure) string { return "ε " + figures(epsilon, delta) }

func figures(epsilon, delta figure) string {
	if delta.IsZero() {
		return epsilon.String()
	}
	return fmt.Sprintf("%s, δ %s", epsilon, delta)
}

// errorText says how far off a value may be for any data.
func errorText(mechanism string, f forecast.Figure, unit string) string {
	switch {
	case f.CountError != nil:
		return "± " + plural(*f.CountError, "user")
	case f.Lead != nil:
		return "none if it leads by " + plural(*f.Lead, "user")
	case f.ValueError != nil:
		return "± " + valueText(f.ValueError, unit)
	case chooses(mechanism) && f.Mechanism == "":
		return "depends on the number of users"
	case f.RankError == nil:
		return "depends on the data: see plan --shape"
	case f.Low != nil && f.High != nil:
		return fmt.Sprintf("p%.3g–p%.3g (± %s)", *f.Low*100, *f.High*100, withUnit(fmt.Sprintf("%.4g", *f.RankError), "ranks"))
	}
	return "± " + withUnit(fmt.Sprintf("%.4g", *f.RankError), "ranks")
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
	return strings.TrimSpace(short(*x) + " " + unit)
}

// short writes a number with at least three significant digits and no exponent.
func short(x float64) string {
	digits := max(0, 2-int(math.Floor(math.Log10(max(math.Abs(x), 1e-9)))))
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// certainty writes a probability with enough digits to distinguish it from 100 %.
func certainty(p float64) string {
	for digits := 1; digits <= 6; digits++ {
		if text := strconv.FormatFloat(100*p, 'f', digits, 64); !strings.HasPrefix(text, "100") {
			return text + " %"
		}
	}
	return nearlyAll
}

// nearlyAll is a belief that leaves no doubt worth writing.
const nearlyAll = "practically 100 %"

// sure says how sure somebody can become.
func sure(p float64) string {
	if text := certainty(p); text != nearlyAll {
		return "at most " + text + " sure"
	}
	return nearlyAll + " sure"
}

// bound writes what is known about the value's error.
func bound(r outputs.Record) string {
	switch {
	case r.Value == nil:
		return ""
	case r.PLow != nil && r.PHigh != nil:
		return fmt.Sprintf("p%s–p%s", percent(*r.PLow), percent(*r.PHigh))
	case r.RankError95 != nil:
		return "± " + withUnit(r.RankError95.String(), "ranks")
	case r.Error95 != nil:
		return "± " + r.Error95.String()
	}
	return ""
}

// percent writes a probability in percent, as for percentiles.
func percent(p json.Number) string {
	d, err := decimal.NewFromString(p.String())
	if err != nil {
		return p.String()
	}
	return d.Shift(2).Round(1).String()
}

func decimalOf(n int64) decimal.Decimal { return decimal.NewFromInt(n) }
