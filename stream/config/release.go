package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/mechanisms"
)

// releaseNode is a release and its place. Its mechanism is made later.
type releaseNode struct {
	Release
	mapping
	changeKeys
	sound bool // it has no faults of its own
}

var releaseForm = append(form{
	{name: "name", required: true, example: "p50", meaning: "the name of the figure. Those of `quantiles` are published as NAME.p90, NAME.p99 and so on",
		value: into(name("name", "a name of 1–200 characters without / and .", `^[^/.]+$`, 200), func(r *releaseNode, v string) { r.Name = v })},
	{name: "statistic", required: true, example: "median", meaning: "what is computed from the users' values. `count`: the number of users. `outside`: the number of users whose value lies beyond the bounds",
		value: into(statistic(), func(r *releaseNode, v string) { r.Query.Statistic = mechanisms.Statistic(v) })},
	{name: "epsilon", required: true, example: "0.05", meaning: "what one draw costs a user, in ε. A window costs this once for each of the `max_groups`. There is no default",
		value: into(number(mechanisms.Span{Over: "0"}), func(r *releaseNode, v decimal.Decimal) { r.Query.Epsilon = v })},
	{name: "mechanism", absent: "the statistic's own", example: "margin", meaning: "how the figure is drawn. `deploy/STATISTICS.md` says which mechanisms each statistic has. A count is drawn by `gaussian` where the budget has a δ, and by `geometric` otherwise. `gaussian` is more exact. But no ε bounds its privacy loss for certain: that of the budget holds except with a probability of δ. A budget without δ refuses it",
		value: into(mechanism(), func(r *releaseNode, v string) { r.Query.Mechanism = v })},
}, append(parameters(), changeForm...)...)

// parameters are the keys for the further query parameters in the catalogue of statistics.
func parameters() (keys form) {
	for _, p := range mechanisms.Parameters() {
		k := key{name: p.Name, required: p.Required, fallback: p.Default, absent: p.Absent, example: p.Example, meaning: p.Meaning, value: parameter(p)}
		if len(p.Statistics) > 0 {
			k.only = when{"statistic", texts(p.Statistics)}
		}
		keys = append(keys, k)
	}
	return keys
}

// parameter reads the value of a parameter.
func parameter(p mechanisms.Parameter) value {
	set := func(r *releaseNode, v mechanisms.Setting) {
		_ = p.Set(&r.Query, v) // the kinds below refuse everything that it would
	}
	switch p.Form {
	case mechanisms.Numbers:
		return into(listOf(number(p.Span), "numbers"+strings.TrimPrefix(p.Span.Want(), "a number")+", for example "+p.Example, 1, most),
			func(r *releaseNode, v []decimal.Decimal) { set(r, mechanisms.Setting{Numbers: v}) })
	case mechanisms.Pair:
		return into(listOf(whole(""), "two whole numbers, for example "+p.Example, 2, 2), func(r *releaseNode, v []int64) {
			var s mechanisms.Setting
			for _, n := range v {
				s.Numbers = append(s.Numbers, decimal.NewFromInt(n))
			}
			set(r, s)
		})
	case mechanisms.Word:
		return into(oneOf(p.Words...), func(r *releaseNode, v string) { set(r, mechanisms.Setting{Word: v}) })
	}
	one := into(number(p.Span), func(r *releaseNode, v decimal.Decimal) { set(r, mechanisms.Setting{Numbers: []decimal.Decimal{v}}) })
	lists := slices.IndexFunc(mechanisms.Parameters(), func(o mechanisms.Parameter) bool { return o.Name == p.Name && o.Form == mechanisms.Numbers })
	if lists < 0 {
		return one
	}
	read := one.read
	one.read = func(n node, into any) {
		if n.yaml.Kind == yaml.SequenceNode {
			n.refuse("a list; want one number, or statistic: %s", list(texts(mechanisms.Parameters()[lists].Statistics), "or"))
			return
		}
		read(n, into)
	}
	return one
}

func release() kind[releaseNode] {
	return mappingOf(releaseForm, func(m mapping, r *releaseNode, ok bool) {
		r.Where, r.mapping, r.sound = m.where(), m, ok
		for i := 1; i < len(r.Query.P); i++ {
			if last, p := r.Query.P[i-1], r.Query.P[i]; ok && p.Cmp(last) <= 0 {
				at := m.values["p"]
				at.child(at.yaml.Content[i], fmt.Sprintf("%s[%d]", at.path, i)).refuse("%s follows %s; want ascending numbers, each once", p, last)
				r.sound = false
			}
		}
		r.checkChange()
	})
}

// draw makes the mechanism of a sound release, on the stream's grid.
func (r *releaseNode) draw(s *Stream) {
	r.Query.Grid, r.Query.Prior, r.Query.ExpectedUsers = s.Grid, s.Prior, s.ExpectedUsers
	var err error
	if r.Mechanism, err = mechanisms.New(r.Query); err == nil {
		return
	}
	if v, given := r.values["mechanism"]; given {
		available := mechanisms.Available(r.Query.Statistic)
		if near := nearest(r.Query.Mechanism, available); near != "" && !slices.Contains(available, r.Query.Mechanism) {
			v.refuse("%q is not a mechanism of %s; did you mean %q?", r.Query.Mechanism, r.Query.Statistic, near)
			return
		}
	}
	r.refuseErr(err)
}

// mechanism is the name of a mechanism. [releaseNode.draw] checks that the statistic has it.
func mechanism() kind[string] {
	var names []string
	for _, s := range mechanisms.Statistics() {
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

// Names returns the names of a release's published values: its own name, or for quantiles NAME.p90, NAME.p99 and so on,
// in the order of p.
func (r *Release) Names() []string {
	if r.Query.Statistic.Each() == r.Query.Statistic {
		return []string{r.Name}
	}
	names := make([]string, len(r.Query.P))
	for i, p := range r.Query.P {
		names[i] = r.Name + "." + quantileName(p)
	}
	return names
}

// quantileName is p90 for 0.9 and p999 for 0.999: the decimals of p, at least two.
func quantileName(p decimal.Decimal) string {
	_, digits, _ := strings.Cut(p.String(), ".")
	for len(digits) < 2 {
		digits += "0"
	}
	return "p" + digits
}
