package replay

import (
	_ "embed" // the template
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/shopspring/decimal"
)

// Demo says which streams file `louver demo --csv` runs on. Bounds are public choices and must not be taken from the
// file. The person who runs the demo sets them.
type Demo struct {
	// Columns are the columns of the file. Required.
	Columns Columns
	// Survey describes the file. Required.
	*Survey
	// Lower, Upper and Step are the grid. Required.
	Lower, Upper, Step decimal.Decimal
	// Epsilon is the most that one user can lose in one window. Required.
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

// Share returns the ε of one release of the template. The shares add up to 1.
func (d Demo) Share(part string) (decimal.Decimal, error) {
	p, err := decimal.NewFromString(part)
	return d.Epsilon.Mul(p), err
}

// StreamsFor returns a streams file, YAML, for the records that this package makes of a file: a stream for each
// stretch, in order. Windows have the times of the file. StreamsFor does not check the options. Reading the streams
// file does, and finds for example a step that does not divide the range.
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

// demoName adds the number of a stretch to a name, from the second stretch on.
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
