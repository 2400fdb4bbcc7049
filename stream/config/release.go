package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

var statistics = []mechanisms.Statistic{mechanisms.Median, mechanisms.Quantile, mechanisms.Quantiles, mechanisms.Mode,
	mechanisms.Mean, mechanisms.TrimmedMean, mechanisms.Count, mechanisms.Outside}

// special are the keys that belong to some statistics only.
var special = []struct {
	key  string
	with []mechanisms.Statistic
}{
	{"p", []mechanisms.Statistic{mechanisms.Quantile, mechanisms.Quantiles}},
	{"trim", []mechanisms.Statistic{mechanisms.TrimmedMean}},
	{"above", []mechanisms.Statistic{mechanisms.Count}},
	{"below", []mechanisms.Statistic{mechanisms.Count}},
	{"tilt", []mechanisms.Statistic{mechanisms.Median, mechanisms.Quantile}},
	{"interval", []mechanisms.Statistic{mechanisms.Median, mechanisms.Quantile}},
}

func (s *streamNode) readReleases(m mapping) {
	v, ok := m.require("releases", "a list of releases")
	if !ok {
		return
	}
	items, ok := v.items("releases, such as {name: p50, statistic: median, epsilon: 0.05}")
	if ok && len(items) == 0 {
		v.refuse("the list is empty; want at least one release")
	}
	seen := map[string]bool{}
	for _, item := range items {
		item.path = item.named(v.path)
		r, ok := item.release(s)
		if ok && seen[r.Name] {
			item.refuse("the name %q is there twice; want another name", r.Name)
		}
		seen[r.Name] = true
		s.Releases = append(s.Releases, r)
	}
}

func (n node) release(s *streamNode) (r Release, ok bool) {
	m, ok := n.mapping("name", "statistic", "epsilon", "delta", "p", "trim", "above", "below", "mechanism", "tilt", "calibration", "beta", "gamma", "interval")
	if !ok {
		return r, false
	}
	before := len(n.errs)
	r.Where = n.where()
	const nameWant = "a name of 1–200 characters without / and ."
	if v, ok := m.require("name", nameWant); ok {
		if r.Name, ok = v.text(nameWant); ok && (strings.ContainsAny(r.Name, "/.") || len([]rune(r.Name)) > 200) {
			v.refuse("%q; want %s", r.Name, nameWant)
		}
	}
	r.Query = mechanisms.Query{Grid: s.Grid, Prior: s.Prior, ExpectedUsers: s.ExpectedUsers}
	n.query(m, &r.Query)
	if len(n.errs) > before || s.Grid == nil {
		return r, false
	}
	var err error
	if r.Mechanism, err = mechanisms.New(r.Query); err != nil {
		n.refuseMechanism(m, err)
	}
	return r, err == nil
}

// refuseMechanism passes on why there is no such mechanism, at the key that the reason begins with.
func (n node) refuseMechanism(m mapping, err error) {
	first, rest, _ := strings.Cut(err.Error(), " ")
	if v, ok := m.get(strings.TrimSuffix(first, ":")); ok {
		v.refuseErr(errors.New(rest))
		return
	}
	n.refuseErr(err)
}

// query reads what is asked for.
func (n node) query(m mapping, q *mechanisms.Query) {
	statistic, ok := m.require("statistic", list(texts(statistics), "or"))
	if ok {
		var word string
		if word, ok = statistic.oneOf(texts(statistics)...); ok {
			q.Statistic = mechanisms.Statistic(word)
			for _, k := range special {
				if v, there := m.get(k.key); there && !slices.Contains(k.with, q.Statistic) {
					v.refuse("%s has no %s; want none, it is for %s", word, k.key, list(texts(k.with), "and"))
				}
			}
		}
	}
	const epsilonWant = "a number greater than 0: what a user loses by one window"
	if v, ok := m.require("epsilon", epsilonWant); ok {
		q.Epsilon = v.positive(epsilonWant)
	}
	if v, ok := m.get("delta"); ok {
		q.Delta, _ = v.number("a number from 0 to 1")
	}
	n.readP(m, q)
	if q.Statistic == mechanisms.TrimmedMean {
		const want = "the fraction cut from each end, from 0 to less than 0.5"
		if v, ok := m.require("trim", want); ok {
			q.Trim, ok = v.number(want)
			if ok && (q.Trim.Sign() < 0 || q.Trim.Cmp(decimal.New(5, -1)) >= 0) {
				v.refuse("%q; want %s", q.Trim, want)
			}
		}
	}
	for _, f := range []struct {
		key, want string
		to        **decimal.Decimal
	}{
		{"above", "a number: users with a greater value count", &q.Above},
		{"below", "a number: users with a smaller value count", &q.Below},
		{"interval", "a level between 0 and 1, such as 0.95", &q.Interval},
	} {
		if v, ok := m.get(f.key); ok {
			if d, ok := v.number(f.want); ok {
				*f.to = &d
			}
		}
	}
	if v, ok := m.get("mechanism"); ok {
		q.Mechanism, _ = v.text("the name of a mechanism")
	}
	if v, ok := m.get("calibration"); ok {
		q.Calibration, _ = v.oneOf("tight", "published")
		if q.Calibration == "tight" {
			q.Calibration = ""
		}
	}
	if v, ok := m.get("gamma"); ok {
		q.Gamma = v.positive("a number greater than 1")
	}
	if v, ok := m.get("beta"); ok {
		q.Beta = v.positive("a number greater than 0")
	}
	if v, ok := m.get("tilt"); ok {
		q.Tilt = v.tilt()
	}
}

func (n node) readP(m mapping, q *mechanisms.Query) {
	const want = "a number between 0 and 1, such as 0.9"
	switch q.Statistic {
	case mechanisms.Quantile:
		if v, ok := m.require("p", want); ok {
			if p, ok := v.probability(want); ok {
				q.P = []decimal.Decimal{p}
			}
		}
	case mechanisms.Quantiles:
		v, ok := m.require("p", "a list of numbers between 0 and 1, such as [0.9, 0.99]")
		if !ok {
			return
		}
		items, ok := v.items("numbers between 0 and 1, such as [0.9, 0.99]")
		if ok && len(items) == 0 {
			v.refuse("the list is empty; want numbers between 0 and 1, such as [0.9, 0.99]")
		}
		for _, item := range items {
			p, ok := item.probability(want)
			if last := len(q.P) - 1; ok && last >= 0 && p.Cmp(q.P[last]) <= 0 {
				item.refuse("%q does not follow %s; want each number once, ascending", p, q.P[last])
			}
			q.P = append(q.P, p)
		}
	}
}

func (n node) probability(want string) (decimal.Decimal, bool) {
	p, ok := n.number(want)
	if ok && (p.Sign() <= 0 || p.Cmp(decimal.NewFromInt(1)) >= 0) {
		n.refuse("%q; want %s", p, want)
		return p, false
	}
	return p, ok
}

func (n node) tilt() (tilt [2]int64) {
	const want = "two whole numbers of at least 1, such as [1, 2]"
	items, ok := n.items("two whole numbers of at least 1, such as [1, 2]")
	if ok && len(items) != 2 {
		n.refuse("the list has %s; want %s", plural(len(items), "item"), want)
		return tilt
	}
	for i, item := range items {
		tilt[i], _ = item.whole("a whole number of at least 1")
	}
	return tilt
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
