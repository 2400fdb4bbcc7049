package parse

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

var releaseForm = append(form.Form{
	{Name: "name", Required: true, Example: "p50",
		Meaning: "the name of the figure. Those of `quantiles` are published as NAME.p90, NAME.p99 and so on",
		Value:   form.Into(figureName(), func(r *releaseNode, v string) { r.Name = v })},
	{Name: "statistic", Required: true, Example: "median",
		Meaning: "what is computed from the users' values. `count`: the number of users. `outside`: the number of " +
			"users whose value lies beyond the bounds. `histogram`: the numbers of users in `buckets`. `share`: the " +
			"share of the users above a limit, `from` a histogram",
		Value: form.Into(statistic(), func(r *releaseNode, v string) { r.Query.Statistic = mechanisms.Statistic(v) })},
	{Name: "from", Absent: "drawn for itself", Example: "latency",
		Meaning: "the name of a histogram of this stream. The figure is computed from it and costs nothing. It is a " +
			"`quantile`, `median`, `share`, `count`, `outside` or `mode`, has an honest interval or error, and is " +
			"withheld with the histogram",
		Value: form.Into(form.Prose(), func(r *releaseNode, v string) { r.from = v })},
	{Name: "epsilon", Required: true, Unless: "from", Example: "0.05",
		Meaning: "what one draw costs a user, in ε. A window costs this once for each of the `max_groups`. There is " +
			"no default",
		Value: form.Into(form.Number(positive), func(r *releaseNode, v decimal.Decimal) { r.Query.Epsilon = v })},
	{Name: "mechanism", Absent: "the statistic's own", Unless: "from", Example: "margin",
		Meaning: "how the figure is drawn. `deploy/STATISTICS.md` says which mechanisms each statistic has. A count " +
			"is drawn by `gaussian` where the budget has a δ, and by `geometric` otherwise. `gaussian` is more " +
			"exact. But no ε bounds its privacy loss for certain: that of the budget holds except with a " +
			"probability of δ. A budget without δ refuses it",
		Value: form.Into(mechanism(), func(r *releaseNode, v string) { r.Query.Mechanism = v })},
}, slices.Concat(parameters(), kindForms())...)

// parameters are the keys for the further query parameters in the catalogue of statistics.
func parameters() (keys form.Form) {
	for _, p := range mechanisms.Parameters() {
		k := form.Key{Name: p.Name, Required: p.Required, Fallback: p.Default, Absent: p.Absent, Example: p.Example,
			Meaning: p.Meaning, Value: parameter(p)}
		if len(p.Statistics) > 0 {
			k.Only = form.When{Key: "statistic", Is: texts(p.Statistics)}
		}
		if drawn := !slices.Contains([]string{"p", "above", "below"}, p.Name); drawn && mayBeFree(p.Statistics) {
			k.Unless = "from"
		}
		keys = append(keys, k)
	}
	return keys
}

// mayBeFree reports whether any of the statistics that take a parameter may be computed from a histogram.
func mayBeFree(statistics []mechanisms.Statistic) bool {
	return len(statistics) == 0 || slices.ContainsFunc(statistics, func(s mechanisms.Statistic) bool {
		return slices.Contains(mechanisms.ComputedStatistics(), s)
	})
}

// parameter reads the value of a parameter.
func parameter(p mechanisms.Parameter) form.Value {
	set := func(r *releaseNode, v mechanisms.Setting) {
		_ = p.Set(&r.Query, v) // the kinds below refuse everything that it would
	}
	switch p.Form {
	case mechanisms.Numbers:
		what := "numbers" + strings.TrimPrefix(p.Span.Want(), "a number") + ", for example " + p.Example
		return form.Into(form.ListOf(form.Number(p.Span), what, 1, form.Most),
			func(r *releaseNode, v []decimal.Decimal) { set(r, mechanisms.Setting{Numbers: v}) })
	case mechanisms.Pair:
		pair := form.ListOf(form.Whole(""), "two whole numbers, for example "+p.Example, 2, 2)
		return form.Into(pair, func(r *releaseNode, v []int64) {
			var s mechanisms.Setting
			for _, n := range v {
				s.Numbers = append(s.Numbers, decimal.NewFromInt(n))
			}
			set(r, s)
		})
	case mechanisms.Word:
		return form.Into(form.OneOf(p.Words...),
			func(r *releaseNode, v string) { set(r, mechanisms.Setting{Word: v}) })
	case mechanisms.Whole:
		return form.Into(form.WholeUpTo("", p.Most), func(r *releaseNode, v int64) {
			set(r, mechanisms.Setting{Numbers: []decimal.Decimal{decimal.NewFromInt(v)}})
		})
	case mechanisms.Ends:
		return form.Into(ends(p), func(r *releaseNode, v mechanisms.Bucketing) {
			set(r, mechanisms.Setting{Buckets: &v})
		})
	}
	return form.Into(single(p), func(r *releaseNode, v decimal.Decimal) {
		set(r, mechanisms.Setting{Numbers: []decimal.Decimal{v}})
	})
}

// single reads one number. If other statistics take a list of numbers under the same name, the error for a list says
// so.
func single(p mechanisms.Parameter) form.Kind[decimal.Decimal] {
	one := form.Number(p.Span)
	for _, o := range mechanisms.Parameters() {
		if o.Name != p.Name || o.Form != mechanisms.Numbers {
			continue
		}
		number := one.Read
		one.Read = func(n form.Node) (decimal.Decimal, bool) {
			if n.IsList() {
				n.Refuse("a list; want one number, or statistic: %s", form.List(texts(o.Statistics), "or"))
				return decimal.Decimal{}, false
			}
			return number(n)
		}
	}
	return one
}

func release() form.Kind[releaseNode] {
	return form.MappingOf(releaseForm, func(m form.Mapping, r *releaseNode, ok bool) {
		r.Head.Where, r.Mapping, r.sound = m.Where(), m, ok
		for i := 1; i < len(r.Query.P); i++ {
			if last, p := r.Query.P[i-1], r.Query.P[i]; ok && p.Cmp(last) <= 0 {
				m.Values["p"].Item(i).Refuse("%s follows %s; want ascending numbers, each once", p, last)
				r.sound = false
			}
		}
		for _, k := range releaseKinds() {
			if k.check != nil {
				k.check(r)
			}
		}
	})
}

// free reports whether the release is computed from a histogram.
func (r *releaseNode) free() bool {
	_, given := r.Values["from"]
	return given
}

// draw makes the mechanism of a sound release, on the stream's grid.
func (r *releaseNode) draw(s *config.Stream) {
	r.Query.Grid, r.Query.Prior, r.Query.ExpectedUsers = s.Grid, s.Prior, s.ExpectedUsers
	var err error
	if r.Mechanism, err = mechanisms.New(r.Query); err == nil {
		return
	}
	if v, given := r.Values["mechanism"]; given {
		available := mechanisms.Available(r.Query.Statistic)
		if near := form.Nearest(r.Query.Mechanism, available); near != "" &&
			!slices.Contains(available, r.Query.Mechanism) {
			v.Refuse("%q is not a mechanism of %s; did you mean %q?", r.Query.Mechanism, r.Query.Statistic, near)
			return
		}
	}
	refuse(r.Mapping, err)
}

// mechanism is the name of a mechanism. [releaseNode.draw] checks that the statistic has it.
func mechanism() form.Kind[string] {
	var names []string
	for _, s := range mechanisms.Statistics() {
		names = append(names, mechanisms.Available(s)...)
	}
	for _, k := range releaseKinds() {
		names = append(names, k.mechanisms...)
	}
	slices.Sort(names)
	s := form.Spec{Name: "name", Want: "the name of a mechanism",
		Schema: form.Schema{"type": "string", "enum": slices.Compact(names)}}
	return form.Scalar(s, func(text string) (string, error) {
		if text == "" {
			return "", form.ErrUnwanted
		}
		return text, nil
	})
}
