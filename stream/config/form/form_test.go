package form

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// plot is a vegetable plot, for forms know nothing of streams.
type plot struct {
	name   string
	crops  []string
	every  time.Duration
	litres decimal.Decimal
}

var plotForm = Form{
	{Name: "name", Required: true, Example: "south", Meaning: "the plot: a name without blanks",
		Value: Into(Name("name", "a name", PlainName, 20), func(p *plot, v string) { p.name = v })},
	{Name: "crops", Absent: "none", Example: "[beans]", Meaning: "what grows there",
		Value: Into(ListOf(OneOf("beans", "leeks"), "crops", 1, Most), func(p *plot, v []string) { p.crops = v })},
	{Name: "water", Fallback: "rain", Example: "hose", Meaning: "where its water comes from",
		Value: Into(OneOf("rain", "hose"), func(*plot, string) {})},
	{Name: "every", Required: true, Only: When{"water", []string{"hose"}}, Example: "2d",
		Meaning: "how often it is watered",
		Value:   Into(Duration(time.Minute), func(p *plot, v time.Duration) { p.every = v })},
	{Name: "litres", Only: When{"water", []string{"hose"}}, Fallback: "5", Example: "7.5", Meaning: "how much it gets",
		Value: Into(Number(mechanisms.Span{Over: "0"}), func(p *plot, v decimal.Decimal) { p.litres = v })},
}

func readPlot(text string) (plot, error) {
	s := NewSource("plot.yaml", func(name string) (string, bool) { return "leeks", name == "CROP" })
	root, ok := s.Document([]byte(text))
	if !ok {
		return plot{}, errors.Join(s.Errors()...)
	}
	p, _ := MappingOf[plot](plotForm, nil).Read(root)
	return p, errors.Join(s.Errors()...)
}

func TestForm(t *testing.T) {
	p, err := readPlot("name: south\ncrops: [beans, \"${CROP}\"]\nwater: hose\nevery: 36h\n")
	if err != nil || p.name != "south" || strings.Join(p.crops, " ") != "beans leeks" || p.every != 36*time.Hour ||
		p.litres.String() != "5" {
		t.Errorf("read %+v, %v", p, err)
	}
}

func TestFormRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "1: the file is empty; want a streams file in YAML",
		"crops: [beans]":         "1: name: missing; add it, for example name: south (the plot)",
		"name: a\ncrop: [beans]": `2: crop: unknown key; did you mean "crops"?`,
		"name: South plot": `1: name: "South plot" has other characters than a–z, 0–9 and -; write ` +
			`south-plot`,
		"name: a\ncrops: beans":          `2: crops: "beans" is not a list; write [beans]`,
		"name: a\ncrops: [beans, beans]": `2: crops[1]: "beans" is in the list twice; remove one`,
		"name: a\ncrops: [bean]":         `2: crops[0]: "bean" is unknown; did you mean "beans"?`,
		"name: a\nevery: 1h": "2: every: it means nothing without water: hose; " +
			"add that, or remove it",
		"name: a\nwater: rain\nevery: 1h": "3: every: rain has no every; remove it, or use water: hose",
		"name: a\nwater: hose": "1: every: missing; add it, for example every: 2d " +
			"(how often it is watered)",
		"{name: a, water: hose, every: 2}":               "1: every: 2 has no unit; write 2s, 2m, 2h or 2d",
		"{name: a, water: hose, every: 1h, litres: 2,5}": "1: litres: 2,5 is not a number; write 2.5",
		"name: ${NOBODY}": "1: name: the environment variable NOBODY is not set; set it, or write the " +
			"value instead of ${NOBODY}",
		"{name: a, water: hose, every: 1d12h}": "1: every: 1d12h is not a duration; write 36h",
		"colour: green":                        "1: not a streams file; want YAML that begins with version: 1",
	} {
		if _, err := readPlot(text); err == nil || err.Error() != "plot.yaml:"+want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestFormShowsItsKeys(t *testing.T) {
	for _, row := range []string{
		"| `name` | name | required | The plot: a name without blanks. | `south` |",
		"| `every` | duration | required | Only with `water` `hose`. How often it is watered. | `2d` |",
	} {
		if got := plotForm.Reference(); !strings.Contains(got, row) {
			t.Errorf("no row %s in\n%s", row, got)
		}
	}
	if water := plotForm.JSONSchema("plot")["properties"].(Schema)["water"].(Schema); water["default"] != "rain" {
		t.Errorf("the schema of water is %v", water)
	}
}
