package check

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
)

// choiceReport compares the two ways to several quantiles for the same cost: each one is drawn by itself, or all are
// computed from a histogram.
type choiceReport struct {
	Epsilon cli.Digits     `json:"epsilon"` // of the histogram
	Buckets string         `json:"buckets"`
	Values  []choiceFigure `json:"values"`

	drawn bool // the stream draws them, and else it computes them
}

type choiceFigure struct {
	Release  string      `json:"release"`
	Epsilon  cli.Digits  `json:"epsilon"` // if it is drawn by itself, or together with the one before
	Drawn    shapedError `json:"drawn"`
	Computed shapedError `json:"computed"`

	together bool // it is drawn with the one before
}

// shapedError is an error under a shape; null: more than half of the values, or 1 in 20, are withheld.
type shapedError struct {
	Typical *float64 `json:"typical_error"`
	Error95 *float64 `json:"error_95"`
}

func errorOf(f forecast.Figure) shapedError { return shapedError{f.TypicalError, f.Error95} }

// describeChoices compares for each histogram of a stream, or else for all quantiles that it draws if there are
// several. It needs a shape, because how wide a bucket is among the values decides, and no more users than a shape is
// drawn for.
func describeChoices(s *config.Stream, of *streamReport, public forecast.Public) (choices []choiceReport, err error) {
	if public.Shape == nil || public.Users == 0 || public.Users > forecast.MostUsers {
		return nil, nil
	}
	histograms := false
	for _, r := range of.Releases {
		if mechanisms.Buckets(r.of.Mechanism) == nil {
			continue
		}
		histograms = true
		x, err := choiceOfHistogram(s, r.of, of.Free, public)
		if err != nil {
			return nil, fmt.Errorf("release %s: %w", r.Release, err)
		}
		choices = append(choices, x)
	}
	if histograms {
		return choices, nil
	}
	x, found, err := choiceOfDrawn(s, of.Releases, public)
	if err == nil && found {
		choices = append(choices, x)
	}
	return choices, err
}

// choiceOfHistogram compares the quantiles of a histogram with those that are drawn for an equal part of its cost each.
// A histogram without quantiles has the usual three.
func choiceOfHistogram(s *config.Stream, h *config.Release, free []freeReport, public forecast.Public) (x choiceReport,
	err error) {
	x = choiceReport{Epsilon: cli.NewDigits(h.Query.Epsilon), Buckets: h.Query.Buckets.String()}
	var names []string
	var figures []mechanisms.Query
	for _, f := range free {
		if q := f.of.Query; f.From == h.Name && q.Statistic.Family() == mechanisms.OfRanks {
			names, figures = append(names, f.Release), append(figures, q)
		}
	}
	if names == nil {
		names = []string{"p50", "p90", "p99"}
		for _, p := range []int64{50, 90, 99} {
			figures = append(figures, quantileAt(decimal.New(p, -2)))
		}
	}
	computed, err := forecast.Computed(h.Query, h.Mechanism, figures, public)
	if err != nil {
		return x, err
	}
	n := float64(len(figures))
	each := h.Query.Epsilon.InexactFloat64() / n
	if h.Query.ZCDP { // a quantile costs ε²/8 of ρ, and no more
		each = math.Sqrt(8 * h.Mechanism.Promise().Rho.InexactFloat64() / n)
	}
	for i, q := range figures {
		q = quantileAt(q.Probabilities()[0])
		q.Grid, q.Prior, q.ZCDP, q.ExpectedUsers = s.Grid, s.Prior, h.Query.ZCDP, public.Users
		q.Epsilon = twoDigits(each)
		m, err := mechanisms.New(q)
		if err != nil {
			return x, err
		}
		drawn, err := forecast.Of(q, m, public)
		if err != nil {
			return x, err
		}
		x.Values = append(x.Values,
			choiceFigure{names[i], cli.NewDigits(q.Epsilon), errorOf(drawn[0]), errorOf(computed[i]), false})
	}
	return x, nil
}

// choiceOfDrawn compares the quantiles that a stream draws with those of a histogram for the sum of their costs. It has
// none for fewer than two.
func choiceOfDrawn(s *config.Stream, all []releaseReport, public forecast.Public) (x choiceReport, found bool,
	err error) {
	x.drawn = true
	q := mechanisms.Query{Statistic: mechanisms.Histogram, Grid: s.Grid}
	var figures []mechanisms.Query
	var rho float64
	for _, r := range all {
		drawn := r.of.Query
		if drawn.Statistic.Family() != mechanisms.OfRanks {
			continue
		}
		q.Epsilon, q.ZCDP = q.Epsilon.Add(drawn.Epsilon), drawn.ZCDP
		rho += r.of.Mechanism.Promise().Rho.InexactFloat64()
		for j, p := range drawn.Probabilities() {
			figures = append(figures, quantileAt(p))
			x.Values = append(x.Values, choiceFigure{r.Values[j].Release, r.Epsilon, errorOf(r.Values[j].Figure),
				shapedError{}, j > 0})
		}
	}
	if len(figures) < 2 {
		return x, false, nil
	}
	if q.ZCDP {
		q.Epsilon = twoDigits(math.Sqrt(2 * rho))
	}
	scale := 3
	if q.Epsilon.InexactFloat64()*float64(public.Users) < 500 {
		scale = 2
	}
	var m mechanisms.Mechanism
	for ; m == nil && scale >= 0; scale-- { // fewer buckets where there would be too many
		q.Buckets = &mechanisms.Bucketing{Native: true, Scale: scale}
		if m, err = mechanisms.New(q); err == nil {
			break
		}
	}
	if m == nil {
		return x, false, nil
	}
	computed, err := forecast.Computed(q, m, figures, public)
	if err != nil {
		return x, false, err
	}
	x.Epsilon, x.Buckets = cli.NewDigits(q.Epsilon), q.Buckets.String()
	for i, f := range computed {
		x.Values[i].Computed = errorOf(f)
	}
	return x, true, nil
}

func quantileAt(p decimal.Decimal) mechanisms.Query {
	return mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{p}}
}

// twoDigits rounds an ε down, so that it costs no more.
func twoDigits(x float64) decimal.Decimal {
	d := decimal.NewFromFloat(x)
	places := int32(math.Floor(math.Log10(x))) - 1
	return d.RoundFloor(-places)
}

func (x choiceReport) print(w *bytes.Buffer, width int, unit string) error {
	var names []string
	head := []string{"figure", "ε if drawn", "typical error, drawn", "computed", "19 of 20 within, drawn", "computed"}
	var rows [][]string
	for _, v := range x.Values {
		names = append(names, v.Release)
		epsilon := v.Epsilon.String()
		if v.together {
			epsilon = "" // as in the row above
		}
		rows = append(rows, []string{v.Release, epsilon, choiceText(v.Drawn.Typical, unit),
			choiceText(v.Computed.Typical, unit), choiceText(v.Drawn.Error95, unit),
			choiceText(v.Computed.Error95, unit)})
	}
	if all := english.WordSeries(names, "and"); x.drawn {
		cli.Fprintf(w, "  For the same cost, %s can be computed from a histogram with buckets: %s and ε %s:\n", all,
			x.Buckets, x.Epsilon)
	} else {
		cli.Fprintf(w, "  %s computed from the histogram with buckets: %s and ε %s, or drawn one by one for the same "+
			"cost:\n", all, x.Buckets, x.Epsilon)
	}
	if err := cli.WriteTable(w, width, head, rows); err != nil {
		return err
	}
	cli.Fprintf(w, "  %s A histogram also gives any other quantile, shares, counts, roll-ups and a heat map at no "+
		"further cost.\n", x.verdict())
	return nil
}

func choiceText(x *float64, unit string) string {
	if x == nil {
		return "withheld"
	}
	return valueText(x, unit)
}

// verdict says by which way each figure is closer.
func (x choiceReport) verdict() string {
	var drawn, computed []string
	for _, v := range x.Values {
		switch {
		case v.Computed.closer(v.Drawn):
			computed = append(computed, v.Release)
		case v.Drawn.closer(v.Computed):
			drawn = append(drawn, v.Release)
		}
	}
	is := func(names []string) string {
		if len(names) == 1 {
			return "is"
		}
		return "are"
	}
	series := func(names []string) string { return english.WordSeries(slices.Clone(names), "and") }
	switch {
	case drawn == nil && computed == nil:
		return "Neither is clearly closer."
	case computed == nil:
		return fmt.Sprintf("%s %s closer if drawn one by one.", series(drawn), is(drawn))
	case drawn == nil:
		return fmt.Sprintf("%s %s closer from the histogram.", series(computed), is(computed))
	}
	return fmt.Sprintf("%s %s closer from the histogram, %s if drawn one by one.", series(computed), is(computed),
		series(drawn))
}

// closer reports whether an error is less than another: in one figure by a tenth or more, and in none greater.
func (e shapedError) closer(than shapedError) bool {
	less := false
	for _, pair := range [][2]*float64{{e.Typical, than.Typical}, {e.Error95, than.Error95}} {
		a, b := math.Inf(1), math.Inf(1)
		if pair[0] != nil {
			a = *pair[0]
		}
		if pair[1] != nil {
			b = *pair[1]
		}
		if a > b {
			return false
		}
		less = less || a < b/1.1
	}
	return less
}
