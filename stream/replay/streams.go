package replay

import (
	_ "embed" // the template
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/shopspring/decimal"
)

// Demo says which streams file `louver demo --csv` runs on. Bounds are public choices: they must not be taken from the
// file, and here they are whatever the flags say.
type Demo struct {
	// Columns are those of the file. Required.
	Columns Columns
	// Survey is what is known of the file. Required.
	*Survey
	// Lower, Upper and Step are the grid. Required.
	Lower, Upper, Step decimal.Decimal
	// Epsilon is what one user can lose in one window. Required.
	Epsilon decimal.Decimal
	// Unit is shown with every value. Optional.
	Unit string
}

// demoOutput is the output topic of the streams.
const demoOutput = "demo.private"

//go:embed streams.yaml.tmpl
var streamsText string

var streamsTemplate = template.Must(template.New("streams").Funcs(template.FuncMap{"quote": quoteYAML, "indent": indent,
	"rfc3339": func(t time.Time) string { return t.Format(time.RFC3339) },
	"name":    func(stretch int) string { return demoName("demo", "-", stretch) },
	"input":   func(stretch int) string { return demoName("demo.events", ".", stretch) },
}).Parse(streamsText))

// Share is a part of ε, for one release of the template. Their shares add up to 1.
func (d Demo) Share(part string) (decimal.Decimal, error) {
	p, err := decimal.NewFromString(part)
	return d.Epsilon.Mul(p), err
}

// StreamsFor returns a streams file, YAML, for the records that this package makes of a file: a stream for each stretch,
// in order. Windows have the times of the file. What is wrong with the options, for example a step that does not divide
// the range, is told by whoever reads the streams file.
func StreamsFor(d Demo) (string, error) {
	windows := 0
	for _, s := range d.Stretches {
		windows += s.Windows
	}
	var b strings.Builder
	err := streamsTemplate.Execute(&b, struct {
		Demo
		Output string
		Size   string
		Limit  decimal.Decimal
	}{d, demoOutput, fmt.Sprintf("%ds", int64(d.Window/time.Second)), d.Epsilon.Mul(decimal.NewFromInt(int64(windows)))})
	if err != nil {
		return "", fmt.Errorf("streams file: %w", err)
	}
	return b.String(), nil
}

// demoName numbers what there is of each stretch, from the second on.
func demoName(name, separator string, stretch int) string {
	if stretch == 0 {
		return name
	}
	return fmt.Sprint(name, separator, stretch+1)
}

// indent moves lines to the right.
func indent(by int, text string) string {
	space := "\n" + strings.Repeat(" ", by)
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", space)
}
