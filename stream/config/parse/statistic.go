package parse

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/form"
)

// otherNames are the names that other systems have for a statistic.
var otherNames = map[string]mechanisms.Statistic{
	"avg": mechanisms.Mean, "average": mechanisms.Mean,
	"total":      mechanisms.Sum,
	"percentile": mechanisms.Quantile, "percentiles": mechanisms.Quantiles,
	"std": mechanisms.StdDev, "stdev": mechanisms.StdDev, "standard_deviation": mechanisms.StdDev,
	"var":      mechanisms.Variance,
	"distinct": mechanisms.Count, "cardinality": mechanisms.Count, "users": mechanisms.Count,
	"most_common": mechanisms.Mode,
}

// percentile is a quantile as dashboards write it: p95, p99.9 or p999.
var percentile = regexp.MustCompile(`^p([0-9]{1,2})(?:[._]([0-9]+)|([0-9]?))$`)

// MeantStatistic says which statistic a wrong name probably stands for, and how to write it; "" if it resembles none.
func MeantStatistic(name string) string {
	name = strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(name))
	if digits := percentile.FindStringSubmatch(name); digits != nil && name != "p100" {
		whole := strings.Repeat("0", 2-len(digits[1])) + digits[1]
		if p := strings.TrimRight(whole+digits[2]+digits[3], "0"); p != "" {
			return fmt.Sprintf("%s with p 0.%s", mechanisms.Quantile, p)
		}
	}
	if s, found := otherNames[name]; found {
		return string(s)
	}
	switch name {
	case "min", "minimum": // one user alone decides it, so noise that hides one user leaves nothing of it
		return fmt.Sprintf("%s with p 0.01 (a single user decides a minimum)", mechanisms.Quantile)
	case "max", "maximum", "p100":
		return fmt.Sprintf("%s with p 0.99 (a single user decides a maximum)", mechanisms.Quantile)
	}
	return form.Nearest(name, texts(mechanisms.Statistics()))
}

// statistic is the name of a statistic.
func statistic() form.Kind[string] {
	names := form.OneOf(texts(mechanisms.Statistics())...)
	return form.Scalar(names.Spec, func(text string) (string, error) {
		for _, s := range mechanisms.Statistics() {
			if text == string(s) {
				return text, nil
			}
		}
		if meant := MeantStatistic(text); meant != "" {
			return "", fmt.Errorf("is not a statistic; did you mean %s?", meant)
		}
		return "", form.ErrUnwanted
	})
}

func texts(statistics []mechanisms.Statistic) []string {
	all := make([]string, len(statistics))
	for i, s := range statistics {
		all[i] = string(s)
	}
	return all
}
