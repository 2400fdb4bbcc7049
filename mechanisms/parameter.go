package mechanisms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

// Form is how a parameter is written.
type Form uint8

// The forms.
const (
	Number  Form = iota // a decimal number
	Numbers             // a list of decimal numbers, one at least
	Pair                // a list of two whole numbers of at least 1
	Word                // one of the parameter's words
	Whole               // a whole number from 1 to Most
	Ends                // a list of decimal numbers, or a mapping with a scale
)

// Span limits a number: it is greater than Over, at least Least and less than Under; "" is no limit.
type Span struct{ Over, Least, Under string }

// Holds reports whether a number is within the limits.
func (s Span) Holds(d decimal.Decimal) bool {
	within := func(limit string, signs ...int) bool {
		return limit == "" || slices.Contains(signs, d.Cmp(decimal.RequireFromString(limit)))
	}
	return within(s.Over, 1) && within(s.Least, 0, 1) && within(s.Under, -1)
}

// Want is the rule in words: "a number greater than 0 and less than 1".
func (s Span) Want() string {
	var rules []string
	for _, l := range []struct{ words, limit string }{{"greater than", s.Over}, {"of at least", s.Least},
		{"less than", s.Under}} {
		if l.limit != "" {
			rules = append(rules, l.words+" "+l.limit)
		}
	}
	return strings.TrimSpace("a number " + strings.Join(rules, " and "))
}

// Parameter is a further setting of a query, besides its statistic and its ε. Parameters are declared nowhere else:
// streams files, flags and their documents follow from here.
type Parameter struct {
	Name string
	// Statistics are those that take it. If there are none, it belongs to mechanisms, for any statistic.
	Statistics []Statistic
	// Required says that the statistics that take it must have it.
	Required bool
	Form     Form
	Span     Span     // of its numbers
	Most     int64    // of a whole number
	Words    []string // its possible values
	// Default is the default, as written in a file. If it is "", Absent says what happens without the parameter.
	Default, Absent string
	// Example is a sample value, as written in a file.
	Example string
	// Meaning begins in lower case and has no full stop at its end. Names and values are in backquotes.
	Meaning string
	set     func(q *Query, v Setting)
	given   func(q *Query) bool
	text    func(q *Query) string
}

// Setting is the value of a parameter: numbers, a word or buckets.
type Setting struct {
	Numbers []decimal.Decimal
	Word    string
	Buckets *Bucketing
}

// Set puts a value into a query. The error is an [Error].
func (p Parameter) Set(q *Query, v Setting) error {
	for _, n := range v.Numbers {
		if !p.Span.Holds(n) {
			return parameter.Wrong(p.Name, parameter.Shown(n), "%s", p.Span.Want())
		}
	}
	if p.Form == Word && !slices.Contains(p.Words, v.Word) {
		return parameter.Wrong(p.Name, v.Word, "%s", strings.Join(p.Words, " or "))
	}
	if n := v.Numbers; p.Form == Whole &&
		(!n[0].IsInteger() || n[0].Sign() <= 0 || n[0].Cmp(decimal.NewFromInt(p.Most)) > 0) {
		return parameter.Wrong(p.Name, parameter.Shown(n[0]), "a whole number from 1 to %d", p.Most)
	}
	if p.Form == Pair && len(v.Numbers) != 2 {
		return parameter.Wrong(p.Name, listed(v.Numbers), "two whole numbers, for example %s", p.Example)
	}
	p.set(q, v)
	return nil
}

// Parameters returns all parameters, in the order of the documents. Two may have one name, for different statistics.
func Parameters() []Parameter {
	list := []Parameter{
		{Name: "delta", Span: Span{Least: "0", Under: "0.1"}, Default: "0", Example: "0.0000001",
			Meaning: "the δ of the draw, for the mechanisms `smooth_laplace` and `smooth_gaussian`",
			set:     func(q *Query, v Setting) { q.Delta = v.Numbers[0] },
			given:   func(q *Query) bool { return !q.Delta.IsZero() },
			text:    func(q *Query) string { return parameter.Shown(q.Delta) }},
		{Name: "p", Required: true, Span: Span{Over: "0", Under: "1"}, Example: "0.99",
			Meaning: "which quantile: 0.99 is the value that 99 % of the users do not exceed",
			set:     func(q *Query, v Setting) { q.P = v.Numbers },
			given:   func(q *Query) bool { return len(q.P) > 0 },
			text:    func(q *Query) string { return listed(q.P) }},
		{Name: "p", Required: true, Form: Numbers, Span: Span{Over: "0", Under: "1"}, Example: "[0.9, 0.99]",
			Meaning: "which quantiles, ascending. They share one ε",
			set:     func(q *Query, v Setting) { q.P = v.Numbers },
			given:   func(q *Query) bool { return len(q.P) > 0 },
			text:    func(q *Query) string { return listed(q.P) }},
		{Name: "trim", Required: true, Span: Span{Least: "0", Under: "0.5"}, Example: "0.05",
			Meaning: "the fraction of the users that is left out at each end",
			set:     func(q *Query, v Setting) { q.Trim = v.Numbers[0] },
			given:   func(q *Query) bool { return !q.Trim.IsZero() },
			text:    func(q *Query) string { return parameter.Shown(q.Trim) }},
		{Name: "clip", Form: Word, Words: []string{"none"}, Absent: "the mechanism finds an interval", Example: "none",
			Meaning: "`none`: values are clipped to the bounds only. This is better where the bounds are close to " +
				"the range of the data, where a few users make up much of the sum, and for fewer than about 70/ε " +
				"users. Otherwise a part of the ε finds an interval that few users lie outside of, and values are " +
				"clipped to it",
			set:   func(q *Query, v Setting) { q.Clip = v.Word },
			given: func(q *Query) bool { return q.Clip != "" },
			text:  func(q *Query) string { return q.Clip }},
		{Name: "above", Absent: "no limit", Example: "800",
			Meaning: "count only users whose value is greater than this",
			set:     func(q *Query, v Setting) { q.Above = &v.Numbers[0] },
			given:   func(q *Query) bool { return q.Above != nil },
			text:    func(q *Query) string { return parameter.Shown(*q.Above) }},
		{Name: "below", Absent: "no limit", Example: "100", Meaning: "count only users whose value is less than this",
			set:   func(q *Query, v Setting) { q.Below = &v.Numbers[0] },
			given: func(q *Query) bool { return q.Below != nil },
			text:  func(q *Query) string { return parameter.Shown(*q.Below) }},
		{Name: "buckets", Required: true, Form: Ends, Example: "{scale: 3}",
			Meaning: "where the buckets of a histogram end: a list such as `[100, 250, 800]`, or `{scale: 3}` for " +
				"the buckets of Prometheus' native histograms, of which 2^scale are in each doubling. Finer ones " +
				"have no more noise in quantiles of many users. Scale 2 is better below 500/ε users, 3 above. A " +
				"bucket for the values above `upper` is added, and one for each limit of a figure that is computed " +
				"from it",
			set:   func(q *Query, v Setting) { q.Buckets = v.Buckets },
			given: func(q *Query) bool { return q.Buckets != nil },
			text:  func(q *Query) string { return q.Buckets.String() }},
		{Name: "levels", Form: Whole, Most: 2, Absent: "2 from 40 buckets on", Example: "1",
			Meaning: "`2`: groups of neighbouring buckets are counted too, each with half of the ε. With many " +
				"buckets this makes sums of them more exact",
			set:   func(q *Query, v Setting) { q.Levels = int(v.Numbers[0].IntPart()) },
			given: func(q *Query) bool { return q.Levels != 0 },
			text:  func(q *Query) string { return strconv.Itoa(q.Levels) }},
		{Name: "tilt", Form: Pair, Span: Span{Least: "1"}, Absent: "by `p`", Example: "[1, 3]",
			Meaning: "how much the users below and above weigh, for the mechanism `margin`",
			set: func(q *Query, v Setting) {
				q.Tilt = [2]int64{v.Numbers[0].IntPart(), v.Numbers[1].IntPart()}
			},
			given: func(q *Query) bool { return q.Tilt != [2]int64{} },
			text:  func(q *Query) string { return fmt.Sprintf("[%d, %d]", q.Tilt[0], q.Tilt[1]) }},
		{Name: "calibration", Form: Word, Words: []string{"tight", "published"}, Default: "tight", Example: "published",
			Meaning: "how the mechanisms `smooth_*` set the scale of their noise. `tight`: as low as Louver's proof " +
				"allows. `published`: by the formulas of the papers",
			set:   func(q *Query, v Setting) { q.Calibration = strings.TrimPrefix(v.Word, "tight") },
			given: func(q *Query) bool { return q.Calibration != "" },
			text:  func(q *Query) string { return q.Calibration }},
		{Name: "beta", Span: Span{Over: "0"}, Absent: "the mechanism's own", Example: "0.02",
			Meaning: "how fast the smooth sensitivity of `smooth_*` falls as samples differ more",
			set:     func(q *Query, v Setting) { q.Beta = v.Numbers[0] },
			given:   func(q *Query) bool { return !q.Beta.IsZero() },
			text:    func(q *Query) string { return parameter.Shown(q.Beta) }},
		{Name: "gamma", Span: Span{Over: "1"}, Absent: "2", Example: "3",
			Meaning: "the exponent of the noise of `smooth_cauchy`",
			set:     func(q *Query, v Setting) { q.Gamma = v.Numbers[0] },
			given:   func(q *Query) bool { return !q.Gamma.IsZero() },
			text:    func(q *Query) string { return parameter.Shown(q.Gamma) }},
		{Name: "interval", Span: Span{Over: "0", Under: "1"}, Absent: "no interval", Example: "0.95",
			Meaning: "the level of a confidence interval that is published with the value. It costs half of the ε",
			set:     func(q *Query, v Setting) { q.Interval = &v.Numbers[0] },
			given:   func(q *Query) bool { return q.Interval != nil },
			text:    func(q *Query) string { return parameter.Shown(*q.Interval) }},
	}
	for i := range list {
		for _, r := range catalogue() {
			several := r.statistic.Each() != r.statistic
			if slices.Contains(r.takes, list[i].Name) && (list[i].Name != "p" || several == (list[i].Form == Numbers)) {
				list[i].Statistics = append(list[i].Statistics, r.statistic)
			}
		}
	}
	return list
}

// Takes reports whether a statistic has the parameter.
func (p Parameter) Takes(s Statistic) bool {
	return len(p.Statistics) == 0 || slices.Contains(p.Statistics, s)
}

// Error says which parameter of a query or grid is wrong: its name as in streams files, its value, and what is wanted.
type Error = parameter.Error

// oneOf lists words: "a, b or c".
func oneOf[S ~string](words []S) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// listed writes numbers as a list.
func listed(numbers []decimal.Decimal) string {
	if len(numbers) == 1 {
		return parameter.Shown(numbers[0])
	}
	var texts []string
	for _, n := range numbers {
		texts = append(texts, parameter.Shown(n))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
