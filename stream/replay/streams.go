package replay

import (
	_ "embed" // the template
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// Demo says what is in the streams file that `louver demo --csv` runs on, or leaves behind. Bounds are public choices
// and must not be taken from the file. The person who runs the demo sets them.
type Demo struct {
	// Name is the name of the first stream and of the budget. The names of the topics begin with it. Required.
	Name string
	// OneTopic says that all stretches are in one topic, as `louver replay` sends a file. If not, each has its own.
	OneTopic bool
	// Columns are the columns of the file. Required.
	Columns Columns
	// Survey describes the file. Required.
	*Survey
	// Lower, Upper and Step are the grid. Required.
	Lower, Upper, Step decimal.Decimal
	// Epsilon is the most that one user can lose in one window. Required.
	Epsilon decimal.Decimal
	// Contribution is what a user counts with. Required. With [windows.Count] the columns have no value.
	Contribution windows.Policy
	// Unit is shown with every value. Optional.
	Unit string
}

//go:embed streams.yaml.tmpl
var streamsText string

var streamsTemplate = template.Must(template.New("streams").Funcs(template.FuncMap{"quote": quoteYAML, "indent": indent,
	"rfc3339": func(t time.Time) string { return t.Format(time.RFC3339) }, "numbered": numbered,
}).Parse(streamsText))

// Topic is the input topic of a stretch.
func (d Demo) Topic(stretch int) string {
	if d.OneTopic {
		stretch = 0
	}
	return numbered(d.Name+".events", ".", stretch)
}

// Share returns the ε of one release of the template. The shares add up to 1.
func (d Demo) Share(part string) (decimal.Decimal, error) {
	p, err := decimal.NewFromString(part)
	return d.Epsilon.Mul(p), err
}

// Totals reports whether the sum of what users count with says something: it is that of all events.
func (d Demo) Totals() bool { return d.Contribution == windows.Sum || d.Contribution == windows.Count }

// StreamsFor returns a streams file, YAML, for the records that this package makes of a file: a stream for each
// stretch, in order. Windows have the times of the file. StreamsFor does not check d. Reading the streams file does,
// and finds for example a step that does not divide the range.
func StreamsFor(d Demo) (string, error) {
	windows := 0
	for _, s := range d.Stretches {
		windows += s.Windows
	}
	var b strings.Builder
	err := streamsTemplate.Execute(&b, struct {
		Demo
		Size  string
		Limit decimal.Decimal
	}{d, config.Duration(d.Window), d.Epsilon.Mul(decimal.NewFromInt(int64(windows)))})
	if err != nil {
		return "", fmt.Errorf("streams file: %w", err)
	}
	return b.String(), nil
}

// numbered adds the number of a stretch to a name, from the second stretch on.
func numbered(name, separator string, stretch int) string {
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
