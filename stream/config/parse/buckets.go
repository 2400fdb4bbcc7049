package parse

import (
	"fmt"
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/config/form"
)

// histogramKeys are the keys of a histogram, and of a release that is computed from one.
type histogramKeys struct {
	from string
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
