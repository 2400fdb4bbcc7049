package try

import (
	_ "embed" // the template
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/replay"
)

// plan is what a streams file says of the figures.
type plan struct {
	window  time.Duration
	epsilon decimal.Decimal // of a window
	about   about           // the values; the zero value is the median
}

// about is a figure that says how large the values are.
type about int

const (
	median about = iota
	p90
	mean
	total // the number of events
)

// abouts are the figures about the values, the usual one first. Each costs half of a window's ε.
func (d draft) abouts() []about {
	if d.Counts() {
		return []about{total, median, p90, mean}
	}
	return []about{median, p90, mean}
}

// numberOfEvents is the name of the release of the number of events, and of the flag's value for it.
const numberOfEvents = "events"

// String is the name of the release.
func (a about) String() string { return [...]string{"median", "p90", "mean", numberOfEvents}[a] }

// keys say in a streams file what is released.
func (a about) keys() []string {
	return [...][]string{{"statistic: median"}, {"statistic: quantile", "p: 0.9"}, {"statistic: mean"},
		{"statistic: sum", "clip: none"}}[a]
}

// others are those in whose place a figure stands, as lines of a streams file.
func (d draft) others(a about, epsilon decimal.Decimal) (lines []string) {
	for _, other := range d.abouts() {
		if other != a {
			lines = append(lines, fmt.Sprintf("- {name: %s, %s, epsilon: %s}", other, strings.Join(other.keys(), ", "),
				epsilon))
		}
	}
	return lines
}

// draft is a streams file without its plan.
type draft struct {
	File, Name         string
	Columns            replay.Columns
	Groups             []string
	Lower, Upper, Step decimal.Decimal
	High               decimal.Decimal // about a quarter of the values are above
	First, Last        int64           // times of the first and the last event, Unix nanoseconds
	Delimiter          rune            // of a CSV file
	Figure             string          // what is said of the values; "": chosen by what is useful
	Chosen             chosen
}

// chosen says which values are from flags, or always the same, and not from the data.
type chosen struct{ Lower, Upper, Step, Above, Window, Epsilon bool }

// Counts reports whether events are counted, because no column has values. What one user counts with is then how many
// they have in a window, so bounds depend on the windows: see [draft.sized].
func (d draft) Counts() bool { return d.Columns.Value == "" }

// sized is the draft for windows of a length. Where events are counted, it chooses the bounds by how many events each
// user has in such a window.
func (d draft) sized(e *events, window time.Duration) draft {
	if d.Counts() {
		d = d.bounded(e, e.numbers(window, d.Columns.Group != ""))
	}
	return d
}

// bounded is the draft with bounds, a step and what is high by some values, apart from what flags give.
func (d draft) bounded(e *events, sample []int64) draft {
	given := func(of bool, value decimal.Decimal) *decimal.Decimal {
		if of {
			return &value
		}
		return nil
	}
	lower, upper, step, high := e.bounds(sample, given(d.Chosen.Lower, d.Lower), given(d.Chosen.Upper, d.Upper))
	if d.Counts() && d.Chosen.Above && !d.Chosen.Upper && d.High.GreaterThanOrEqual(upper) {
		upper = round(d.High.Add(step))
	}
	d.Lower, d.Upper, d.Step = lower, upper, step
	if !d.Chosen.Above {
		d.High = high
	}
	return d
}

//go:embed streams.yaml.tmpl
var streamsText string

var streamsTemplate = template.Must(template.New("try").Funcs(template.FuncMap{
	"quote":  replay.YAML,
	"indent": func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ") },
	"mark": func(chosen bool, value any) string {
		if chosen {
			return ""
		}
		return fmt.Sprintf(" # %s: %v", config.FromDataComment, value)
	},
}).Parse(streamsText))

// shareOfUsers is the part of a window's ε that each number of users gets. What is said of the values needs the most.
var shareOfUsers = decimal.New(25, -2)

// topic is the input topic.
func (d draft) topic() string { return d.Name + ".events" }

// bounds returns the first window's start, and the last one's end, for windows of that length.
func (d draft) span(window time.Duration) (start, end int64) {
	size := int64(window)
	return d.First / size * size, d.Last/size*size + size
}

// write writes the streams file for a plan.
func (d draft) write(p plan) (string, error) {
	const day = 24 * time.Hour
	start, end := d.span(p.window)
	stamp := func(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339) }
	users := p.epsilon.Mul(shareOfUsers)
	values, per := p.epsilon.Sub(users).Sub(users), max(day, p.window)
	var b strings.Builder
	err := streamsTemplate.Execute(&b, struct {
		draft
		Comment, Input, Size, Start, End, Per string
		Users, Values, Limit                  decimal.Decimal
		About                                 about
		Keys, Others                          []string
	}{draft: d, Comment: config.FromDataComment, Input: d.Columns.Input(d.topic()), Size: config.Duration(p.window),
		Start: stamp(start), End: stamp(end), Per: config.Duration(per), Users: users,
		Values: values, About: p.about, Keys: p.about.keys(), Others: d.others(p.about, values),
		Limit: p.epsilon.Mul(decimal.NewFromInt(int64((per-1)/p.window) + 1))})
	if err != nil {
		return "", fmt.Errorf("streams file: %w", err)
	}
	return b.String(), nil
}

// stream returns the stream that the file for a plan describes, and the file.
func (d draft) stream(p plan) (*config.Stream, *config.File, error) {
	text, err := d.write(p)
	if err != nil {
		return nil, nil, err
	}
	f, err := parse.File("the streams file", []byte(text), os.LookupEnv)
	if err != nil {
		return nil, nil, err
	}
	return f.Streams[0], f, nil
}
