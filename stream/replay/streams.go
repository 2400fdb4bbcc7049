package replay

import (
	_ "embed" // the template
	"fmt"
	"strings"
	"text/template"

	"github.com/shopspring/decimal"
)

// Demo says which streams file `louver demo --csv` runs on. Bounds are public choices: they must not be taken from the
// file, and here they are whatever the flags say.
type Demo struct {
	// Columns are those of the file. Required.
	Columns Columns
	// Lower, Upper and Step are the grid. They default, all three together, to 0, 100000 and 1.
	Lower, Upper, Step decimal.Decimal
	// Epsilon is what each release costs. Defaults to 0.5.
	Epsilon decimal.Decimal
	// Unit is shown with every value. Optional.
	Unit string
	// Groups are the names that the group column may hold; none: the stream has no groups.
	Groups []string
}

// What the streams file of StreamsFor calls its topics.
const (
	DemoInput  = "demo.events"
	DemoOutput = "demo.private"
)

//go:embed streams.yaml.tmpl
var streamsText string

var streamsTemplate = template.Must(template.New("streams").Funcs(template.FuncMap{"quote": quoteYAML, "indent": indent}).Parse(streamsText))

// StreamsFor returns a streams file, YAML, for the records that this package makes of a file. What is wrong with the
// options, such as a step that does not divide the range, is told by whoever reads the streams file.
func StreamsFor(d Demo) (string, error) {
	if d.Lower.IsZero() && d.Upper.IsZero() && d.Step.IsZero() {
		d.Upper, d.Step = decimal.NewFromInt(100000), decimal.NewFromInt(1)
	}
	if d.Epsilon.IsZero() {
		d.Epsilon = decimal.New(5, -1)
	}
	var b strings.Builder
	err := streamsTemplate.Execute(&b, struct {
		Demo
		Input, Output string
		Limit         decimal.Decimal
	}{d, DemoInput, DemoOutput, d.Epsilon.Mul(decimal.NewFromInt(releases * windows))})
	if err != nil {
		return "", fmt.Errorf("streams file: %w", err)
	}
	return b.String(), nil
}

// Of the template: what its budget must pay in ten minutes.
const (
	releases = 4
	windows  = 60
)

// indent moves lines to the right.
func indent(by int, text string) string {
	space := "\n" + strings.Repeat(" ", by)
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", space)
}
