package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

var statistics = []mechanisms.Statistic{mechanisms.Median, mechanisms.Quantile, mechanisms.Quantiles, mechanisms.Mode,
	mechanisms.Mean, mechanisms.Sum, mechanisms.TrimmedMean, mechanisms.Count, mechanisms.Outside}

// releaseNode is a release and where it is written; its mechanism is still to be made.
type releaseNode struct {
	Release
	mapping
	sound bool // right by itself
}

// of limits a key to some statistics.
func of(some ...mechanisms.Statistic) when { return when{"statistic", texts(some)} }

var probability = number(span{over: "0", under: "1"})

var releaseForm = form{
	{name: "name", required: true, example: "p50", meaning: "the name of the figure. Those of `quantiles` are published as NAME.p90, NAME.p99 and so on",
		value: into(name("name", "a name of 1–200 characters without / and .", `^[^/.]+$`, 200), func(r *releaseNode, v string) { r.Name = v })},
	{name: "statistic", required: true, example: "median", meaning: "what is asked of the users' values. `count`: how many users there are. `outside`: how many of them have a value beyond the bounds",
		value: into(oneOf(texts(statistics)...), func(r *releaseNode, v string) { r.Query.Statistic = mechanisms.Statistic(v) })},
	{name: "epsilon", required: true, example: "0.05", meaning: "what one draw costs a user, in ε: a window costs this for each of the `max_groups`. There is no default",
		value: into(number(span{over: "0"}), func(r *releaseNode, v decimal.Decimal) { r.Query.Epsilon = v })},
	{name: "delta", fallback: "0", example: "0.0000001", meaning: "the δ of the draw, for the mechanisms `smooth_laplace` and `smooth_gaussian`",
		value: into(number(span{least: "0", under: "1"}), func(r *releaseNode, v decimal.Decimal) { r.Query.Delta = v })},
	{name: "p", required: true, only: of(mechanisms.Quantile), example: "0.99", meaning: "which quantile: 0.99 is the value that 99 % of the users do not exceed",
		value: into(probability, func(r *releaseNode, v decimal.Decimal) { r.Query.P = []decimal.Decimal{v} })},
	{name: "p", required: true, only: of(mechanisms.Quantiles), example: "[0.9, 0.99]", meaning: "which quantiles, ascending. They share one ε",
		value: into(listOf(probability, "numbers greater than 0 and less than 1, for example [0.9, 0.99]", 1, most), func(r *releaseNode, v []decimal.Decimal) { r.Query.P = v })},
	{name: "trim", required: true, only: of(mechanisms.TrimmedMean), example: "0.05", meaning: "the fraction of the users that is cut off at each end",
		value: into(number(span{least: "0", under: "0.5"}), func(r *releaseNode, v decimal.Decimal) { r.Query.Trim = v })},
	{name: "clip", only: of(mechanisms.Mean, mechanisms.Sum, mechanisms.TrimmedMean), absent: "the mechanism finds an interval", example: "none",
		meaning: "`none`: every value counts as it is, within the bounds. It is better where the bounds are the data's own range, where few users make up much of the sum, and for fewer than about 40/ε users. Otherwise a part of the ε finds an interval that few users lie outside of, and values are cut to it",
		value:   into(oneOf("none"), func(r *releaseNode, v string) { r.Query.Clip = v })},
	{name: "above", only: of(mechanisms.Count), absent: "no limit", example: "800", meaning: "count only users whose value is greater than this",
		value: into(number(span{}), func(r *releaseNode, v decimal.Decimal) { r.Query.Above = &v })},
	{name: "below", only: of(mechanisms.Count), absent: "no limit", example: "100", meaning: "count only users whose value is less than this",
		value: into(number(span{}), func(r *releaseNode, v decimal.Decimal) { r.Query.Below = &v })},
	{name: "mechanism", absent: "the statistic's own", example: "margin", meaning: "how the figure is drawn. The README's table says which mechanisms each statistic has",
		value: into(mechanism(), func(r *releaseNode, v string) { r.Query.Mechanism = v })},
	{name: "tilt", only: of(mechanisms.Median, mechanisms.Quantile), absent: "by `p`", example: "[1, 3]", meaning: "the weights of the users below and above, for the mechanism `margin`",
		value: into(listOf(whole(""), "two whole numbers, for example [1, 3]", 2, 2), func(r *releaseNode, v []int64) { copy(r.Query.Tilt[:], v) })},
	{name: "calibration", fallback: "tight", example: "published", meaning: "how the mechanisms `smooth_*` set their noise: as low as can be proved here, or by the papers' formulas",
		value: into(oneOf("tight", "published"), func(r *releaseNode, v string) { r.Query.Calibration = strings.TrimPrefix(v, "tight") })},
	{name: "beta", absent: "the mechanism's own", example: "0.02", meaning: "how fast the sensitivity of `smooth_*` may fall with the distance of samples",
		value: into(number(span{over: "0"}), func(r *releaseNode, v decimal.Decimal) { r.Query.Beta = v })},
	{name: "gamma", absent: "2", example: "3", meaning: "the exponent of the noise of `smooth_cauchy`",
		value: into(number(span{over: "1"}), func(r *releaseNode, v decimal.Decimal) { r.Query.Gamma = v })},
	{name: "interval", only: of(mechanisms.Median, mechanisms.Quantile), absent: "no interval", example: "0.95",
		meaning: "the level of an interval that is published with the value. It is paid for with half of the ε",
		value:   into(probability, func(r *releaseNode, v decimal.Decimal) { r.Query.Interval = &v })},
}

func release() kind[releaseNode] {
	return mappingOf(releaseForm, func(m mapping, r *releaseNode, ok bool) {
		r.Where, r.mapping, r.sound = m.where(), m, ok
		for i := 1; i < len(r.Query.P); i++ {
			if last, p := r.Query.P[i-1], r.Query.P[i]; ok && p.Cmp(last) <= 0 {
				at := m.values["p"]
				at.child(at.yaml.Content[i], fmt.Sprintf("%s[%d]", at.path, i)).refuse("%s follows %s; want each number once, ascending", p, last)
				r.sound = false
			}
		}
	})
}

// draw makes the mechanism of a release, which is right by itself, on the stream's grid.
func (r *releaseNode) draw(s *Stream) {
	r.Query.Grid, r.Query.Prior, r.Query.ExpectedUsers = s.Grid, s.Prior, s.ExpectedUsers
	var err error
	if r.Mechanism, err = mechanisms.New(r.Query); err == nil {
		return
	}
	first, rest, _ := strings.Cut(err.Error(), " ")
	if v, ok := r.values[strings.TrimSuffix(first, ":")]; ok { // the reason begins with the key that it is about
		v.refuseErr(errors.New(rest))
		return
	}
	r.refuseErr(err)
}

// mechanism is a name; whether the statistic has such a mechanism is left to [releaseNode.draw].
func mechanism() kind[string] {
	var names []string
	for _, s := range statistics {
		names = append(names, mechanisms.Available(s)...)
	}
	slices.Sort(names)
	return scalar(spec{name: "name", want: "the name of a mechanism", schema: schema{"type": "string", "enum": slices.Compact(names)}}, func(text string) (string, error) {
		if text == "" {
			return "", errUnwanted
		}
		return text, nil
	})
}

func texts(statistics []mechanisms.Statistic) []string {
	all := make([]string, len(statistics))
	for i, s := range statistics {
		all[i] = string(s)
	}
	return all
}

// Names are the names under which a release's values leave: its own, or for quantiles NAME.p90, NAME.p99 and so on,
// in the order of p.
func (r *Release) Names() []string {
	if r.Query.Statistic != mechanisms.Quantiles {
		return []string{r.Name}
	}
	names := make([]string, len(r.Query.P))
	for i, p := range r.Query.P {
		names[i] = r.Name + "." + quantileName(p)
	}
	return names
}

// quantileName is p90 for 0.9 and p999 for 0.999: the decimals of p, two at least.
func quantileName(p decimal.Decimal) string {
	_, digits, _ := strings.Cut(p.String(), ".")
	for len(digits) < 2 {
		digits += "0"
	}
	return "p" + digits
}
