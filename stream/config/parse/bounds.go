package parse

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/form"
)

// boundary holds bounds as they are read.
type boundary struct {
	lower, upper, step decimal.Decimal
	prior              string
	priorGiven         bool
	grid               *mechanisms.Grid
}

var boundsForm = form.Form{
	{Name: "lower", Required: true, Example: "0", Meaning: "the lowest value. Lower values count as this one",
		Value: form.Into(form.Number(mechanisms.Span{}), func(b *boundary, v decimal.Decimal) { b.lower = v })},
	{Name: "upper", Required: true, Example: "60000", Meaning: "the highest value. Higher values count as this one",
		Value: form.Into(form.Number(mechanisms.Span{}), func(b *boundary, v decimal.Decimal) { b.upper = v })},
	{Name: "step", Required: true, Example: "1",
		Meaning: "the distance between values that can be published. The range must be a multiple of it",
		Value: form.Into(form.Number(mechanisms.Span{Over: "0"}),
			func(b *boundary, v decimal.Decimal) { b.step = v })},
	{Name: "prior", Fallback: "adaptive", Example: "cells",
		Meaning: "which values are likely before any data is seen. `adaptive`: learnt from earlier published " +
			"values. `cells`: on a logarithmic scale away from zero. `tapered`: like `cells`, but values far from " +
			"zero are less likely. `uniform`: all values are equally likely. Where groups are found, the default is " +
			"`tapered`",
		Value: form.Into(form.OneOf("adaptive", "tapered", "cells", "uniform"),
			func(b *boundary, v string) { b.prior = v })},
}

// bounds also makes the grid. The grid is nil if there is a fault.
func bounds() form.Kind[boundary] {
	return form.MappingOf(boundsForm, func(m form.Mapping, b *boundary, ok bool) {
		if _, b.priorGiven = m.Values["prior"]; !ok {
			return
		}
		var err error
		if b.grid, err = mechanisms.NewGrid(b.lower, b.upper, b.step); err != nil {
			refuse(m, err)
		}
	})
}
