package parse

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/config/form"
)

// histogramKeys are the keys of a histogram, and of a release that is computed from one.
type histogramKeys struct {
	from      string
	objective decimal.Decimal // 0: none
}

var bucketed = form.When{Key: "statistic", Is: []string{string(mechanisms.Histogram)}}

var histogramForm = form.Form{
	{Name: "rollup", Absent: "none", Only: bucketed,
		Example: "[1h, 1d]",
		Meaning: "adds up what was drawn over longer periods, at no further cost: `latency.1h` is the histogram of " +
			"an hour of windows, and so for each figure `from` it, such as `p99.1h`. Each is a multiple of " +
			"`window.every`, and begins at multiples of itself since 1970, in UTC. So 7d begins on Thursdays. " +
			"With a `zone`, whole days are those of the zone. A user who is there in ten windows counts ten times",
		Value: form.Into(lengths(), func(r *releaseNode, v []time.Duration) { r.Rollups = v })},
	{Name: "last", Absent: "none", Only: bucketed,
		Example: "[1h]",
		Meaning: "adds up what was drawn over the newest time, anew with every window and at no further cost: " +
			"`latency.last_1h` is the histogram of the windows of the last hour, and so for each figure `from` it, such " +
			"as `p99.last_1h`. Each is a multiple of `window.every`. Over more than 288 windows, the oldest ones leave in " +
			"blocks. A user who is there in ten windows counts ten times",
		Value: form.Into(lengths(), func(r *releaseNode, v []time.Duration) { r.Last = v })},
	{Name: "objective", Absent: "none", Only: form.When{Key: "statistic", Is: []string{string(mechanisms.Share)}},
		Example: "0.999",
		Meaning: "which share of the users should not be above the limit: with 0.999, at most 0.1 % may. Louver adds " +
			"up the users above and all users over the newest windows (`louver_slo_bad_users`, `louver_slo_users`), " +
			"and `louver rules --slo` writes alerts that noise alone hardly raises. It costs nothing. An edit " +
			"changes no figure and no charge. It changes no sum either, unless the groups or the histogram change too: write " +
			"the rules anew",
		Value: form.Into(form.Number(aShare), func(r *releaseNode, v decimal.Decimal) { r.objective = v })},
}

func lengths() form.Kind[[]time.Duration] {
	return form.ListOf(form.Duration(time.Second), "durations, for example [1h, 1d]", 1, 5)
}

// bucketForm has the keys of a mapping in place of a list of ends.
var bucketForm = form.Form{
	{Name: "scale", Required: true, Example: "3",
		Meaning: "how fine the buckets are: 2^scale of them in each doubling of the value, as in Prometheus' native " +
			"histograms",
		Value: form.Into(scale(), func(b *mechanisms.Bucketing, v int) { b.Native, b.Scale = true, v })},
}

func scale() form.Kind[int] {
	words := make([]string, histogram.MostScale+1)
	for i := range words {
		words[i] = fmt.Sprint(i)
	}
	s := form.Spec{Name: "whole number", Want: fmt.Sprintf("a whole number from 0 to %d", histogram.MostScale),
		Schema: form.Schema{"type": "integer", "minimum": 0, "maximum": histogram.MostScale}}
	return form.Scalar(s, func(text string) (int, error) {
		if i := slices.Index(words, text); i >= 0 {
			return i, nil
		}
		return 0, form.ErrUnwanted
	})
}

// ends reads a list of ends, or a mapping with a scale.
func ends(p mechanisms.Parameter) form.Kind[mechanisms.Bucketing] {
	list := form.ListOf(form.Number(p.Span), "numbers, for example [100, 250, 800]", 1, histogram.Most)
	mapping := form.MappingOf[mechanisms.Bucketing](bucketForm, nil)
	s := form.Spec{Name: "list, or mapping", Want: "a list such as [100, 250, 800], or {scale: 3}", Keys: bucketForm,
		Schema: form.Schema{"anyOf": []any{list.Schema, mapping.Schema}}}
	return form.Kind[mechanisms.Bucketing]{Spec: s, Read: func(n form.Node) (mechanisms.Bucketing, bool) {
		switch {
		case n.IsMapping():
			return mapping.Read(n)
		case n.IsList():
			ends, ok := list.Read(n)
			return mechanisms.Bucketing{Ends: ends}, ok
		}
		n.Refuse("%s; want %s", n.Shown(), s.Want)
		return mechanisms.Bucketing{}, false
	}}
}
