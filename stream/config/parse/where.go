package parse

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config/form"
)

const aWhere = "{type: checkout, status: [200, 201], total: {above: 0}, tenant: {not: test}, coupon: {exists: true}}"

// testForm has the keys of a condition that is neither a value nor a list of values.
var testForm = form.Form{
	{Name: "not", Absent: "see the others", Example: "test",
		Meaning: "a value, or a list of values, that the field does not have. An event without the field counts",
		Value:   form.Into(operands(), func(c *codec.Condition, v []codec.Operand) { c.Not = v })},
	{Name: "above", Absent: "no limit", Example: "0", Meaning: "the field is a number above this one",
		Value: form.Into(form.Number(anyNumber),
			func(c *codec.Condition, v decimal.Decimal) { c.Above = numberOf(v) })},
	{Name: "below", Absent: "no limit", Example: "100", Meaning: "the field is a number below this one",
		Value: form.Into(form.Number(anyNumber),
			func(c *codec.Condition, v decimal.Decimal) { c.Below = numberOf(v) })},
	{Name: "exists", Absent: "see the others", Example: "true",
		Meaning: "`true`: the event has the field, whatever is in it. `false`: it does not. A null, a message that is " +
			"not set and an empty cell of CSV count as missing",
		Value: form.Into(form.Boolean(), func(c *codec.Condition, v bool) { c.Exists, c.Missing = v, !v })},
}

func numberOf(v decimal.Decimal) codec.Operand { return codec.Operand{Text: v.String(), Number: true} }

const (
	wantCondition = "a text, a number, a list of these, or a mapping such as {above: 0}"
	mostOperands  = 100
)

// operands reads one value or a list of values.
func operands() form.Kind[[]codec.Operand] {
	one := form.AnyLiteral()
	several := form.ListOf(one, "texts and numbers", 1, mostOperands)
	s := form.Spec{Name: "text or number, or list", Want: "a text, a number or a list of these",
		Schema: form.Schema{"anyOf": []any{one.Schema, several.Schema}}}
	return form.Kind[[]codec.Operand]{Spec: s, Read: func(n form.Node) (all []codec.Operand, ok bool) {
		literals := make([]form.Literal, 1)
		switch {
		case n.IsList():
			literals, ok = several.Read(n)
		case n.IsMapping():
			n.Refuse("%s; want %s", n.Shown(), s.Want)
		default:
			literals[0], ok = one.Read(n)
		}
		for _, l := range literals {
			all = append(all, codec.Operand(l))
		}
		return all, ok
	}}
}

// condition reads what a field must be.
func condition() form.Kind[codec.Condition] {
	values := operands()
	test := form.MappingOf(testForm, func(m form.Mapping, c *codec.Condition, ok bool) {
		given := func(key string) bool { _, given := m.Values[key]; return given }
		kinds := 0
		for _, there := range []bool{given("not"), given("above") || given("below"), given("exists")} {
			if there {
				kinds++
			}
		}
		switch {
		case !ok:
		case kinds != 1:
			m.Refuse("%s; want not, exists, or above and below", form.Plural(kinds, "test"))
		case given("above") && given("below") && limit(c.Above).GreaterThanOrEqual(limit(c.Below)):
			m.Refuse("no number is above %s and below %s; want above less than below", c.Above, c.Below)
		}
	})
	s := form.Spec{Name: "condition", Want: wantCondition, Keys: testForm,
		Schema: form.Schema{"anyOf": []any{values.Schema, test.Schema}}}
	return form.Kind[codec.Condition]{Spec: s, Read: func(n form.Node) (c codec.Condition, ok bool) {
		switch {
		case n.IsMapping():
			return test.Read(n)
		case n.IsList() || n.IsText():
			c.Is, ok = values.Read(n)
			return c, ok
		}
		n.Refuse("%s; want %s", n.Shown(), wantCondition)
		return c, false
	}}
}

func limit(o codec.Operand) decimal.Decimal { return decimal.RequireFromString(o.Text) }

// where reads which events count.
func where() form.Kind[[]codec.Condition] {
	open := form.OpenOf(condition(), "a mapping of fields and what they must be, for example {type: checkout}",
		codec.MaxConditions, func(key string) error {
			switch {
			case strings.HasPrefix(key, "$"):
				return errors.New("is no field; want a field of the event")
			case slices.Contains(codec.Path(key), ""):
				return errors.New("has an empty part; want a field, for example user.id")
			}
			return nil
		})
	return form.Kind[[]codec.Condition]{Spec: open.Spec, Read: func(n form.Node) (all []codec.Condition, ok bool) {
		entries, ok := open.Read(n)
		for _, e := range entries {
			c := e.Value
			c.Field = e.Key
			all = append(all, c)
		}
		return all, ok
	}}
}

// Where reads conditions that a command line names one by one: a field, an equals sign, and what a streams file has
// behind the field, such as status=200 or total={above: 0}.
func Where(flags []string) ([]codec.Condition, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	var text strings.Builder
	for _, f := range flags {
		field, value, ok := strings.Cut(f, "=")
		if !ok || field == "" || strings.ContainsAny(f, "\r\n") {
			return nil, fmt.Errorf("%q; want a field and what it must be, such as status=200", f)
		}
		key, _ := json.Marshal(field) // every text has a form in JSON, which YAML reads
		fmt.Fprintf(&text, "%s: %s\n", key, value)
	}
	source := form.NewSource("", func(string) (string, bool) { return "", false })
	root, ok := source.Document([]byte(text.String()))
	var all []codec.Condition
	if ok {
		all, _ = where().Read(root)
	}
	if mistakes := source.Errors(); len(mistakes) > 0 {
		return nil, errors.New(form.Mistakes(mistakes[0])[0].Text())
	}
	return all, nil
}
