package inspect

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/remedy"
)

// watchLines writes figures in columns. On a terminal each window has a line of its own with its figures below.
// Elsewhere every figure is one line. It is not safe for concurrent use.
type watchLines struct {
	out    io.Writer
	live   bool
	width  func() int // of the terminal
	series int        // width of the column of names
	window string     // the last one that was written
	last   struct {   // the figure that was written last
		stream string
		end    time.Time
	}
	mu       sync.Mutex // guards silences, which learn from figures that are not printed too
	silences *silences
	// all are the streams of all budgets, also where one stream is shown.
	all []*config.Stream
}

func newWatchLines(app *cli.App, streams []*config.Stream) *watchLines {
	l := &watchLines{out: app.Out, width: app.Width, silences: newSilences(streams), all: streams}
	if f, ok := app.Out.(*os.File); ok {
		l.live = cli.IsScreen(f)
	}
	for _, s := range streams {
		for _, g := range s.Groups {
			for _, name := range namesOf(s) {
				l.series = max(l.series, text.StringWidth(l.name(outputs.Record{Stream: s.Name, Group: g,
					Release: name})))
			}
		}
	}
	return l
}

// name returns the series of a figure, without an empty group. On a terminal the line above names the stream.
func (l *watchLines) name(r outputs.Record) string {
	if l.live {
		return strings.TrimPrefix(r.Group+"/"+r.Release, "/")
	}
	return r.Label()
}

// widestName is how wide the column of names becomes for names that are found: longer ones stand out.
const widestName = 48

// ahead makes room for the names of figures that come next: names that are found are not known before.
func (l *watchLines) ahead(all []shownFigure) {
	for _, f := range all {
		if width := text.StringWidth(l.name(f.Record)); width <= widestName {
			l.series = max(l.series, width)
		}
	}
}

// learn takes in a figure that is not printed.
func (l *watchLines) learn(r outputs.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silences.tracker.Add(r)
}

// remark says whether hardly anybody is in the stream of the last figure any more. All figures of its window are there.
func (l *watchLines) remark() error {
	l.mu.Lock()
	remarks := l.silences.remarks(l.last.stream, l.last.end)
	l.mu.Unlock()
	for _, x := range remarks {
		line := fmt.Sprintf("%s  %s  %s\n", l.last.end.Format(time.RFC3339), text.Pad(x.name, l.series, ' '), x.text)
		if l.live {
			line = fmt.Sprintf("  %s: %s\n", x.name, x.text)
		}
		if _, err := io.WriteString(l.out, line); err != nil {
			return err
		}
	}
	return nil
}

// print writes a figure.
func (l *watchLines) print(r outputs.Record) error {
	if l.last.stream != "" && (l.last.stream != r.Stream || !l.last.end.Equal(r.WindowEnd)) {
		if err := l.remark(); err != nil {
			return err
		}
	}
	l.last.stream, l.last.end = r.Stream, r.WindowEnd
	l.learn(r)
	name := text.Pad(l.name(r), l.series, ' ')
	if !l.live {
		_, err := fmt.Fprintf(l.out, "%s  %s  %s  %s%s%s\n", r.WindowEnd.Format(time.RFC3339), name, figureColumns(r),
			spending(r), l.remedy(r), incomplete(r))
		return err
	}
	window := fmt.Sprintf("%s  %s  %s%s", r.WindowEnd.Format(time.RFC3339), r.Stream, spending(r), incomplete(r))
	columns := strings.TrimRight(figureColumns(r), " ")
	if r.Value != nil && r.Quality == record.Quality(mechanisms.Noise) { // the value would only mislead
		if columns = cli.NoiseText(r); l.remedy(r) != "" {
			columns += ":" + l.remedy(r)[1:]
		}
	}
	line := "  " + name + "  " + columns
	if text.StringWidth(line) > l.width() {
		line = "  " + l.name(r) + "\n      " + columns
	}
	if window != l.window {
		line = window + "\n" + line
		l.window = window
	}
	_, err := fmt.Fprintln(l.out, line)
	return err
}

// incomplete says whether part of a window's input was lost.
func incomplete(r outputs.Record) string {
	if r.Incomplete {
		return "  incomplete: part of the input was lost"
	}
	return ""
}

// reasons say in words why a figure is withheld.
var reasons = map[string]string{record.BudgetExhausted: "the budget is exhausted", record.TooFewUsers: "too few users",
	record.NotArmed: "not armed again yet"}

// why says why a figure is withheld. A watch or a figure on change is mostly withheld because it was armed as often as
// its at_most allows, while the budget has plenty left. Its record has the same reason for both.
func why(r outputs.Record) string {
	if *r.Reason == record.BudgetExhausted && (r.Statistic == record.StatisticWatch || r.Changed != nil) {
		return "at_most or the budget allows no more"
	}
	return cmp.Or(reasons[*r.Reason], *r.Reason)
}

// remedy says what would make a figure readable that is only noise.
func (l *watchLines) remedy(r outputs.Record) string {
	if found, ok := remedy.Of(l.all, r); ok {
		return "  " + found.Sentence
	}
	return ""
}

// figureColumns writes a figure's value, error and quality, or why it is withheld.
func figureColumns(r outputs.Record) string {
	value, off, quality := "withheld", "", ""
	switch {
	case r.Value != nil && r.Statistic == record.StatisticWatch:
		value, off, quality = "silent", "", "-"
		if r.Since != nil {
			value, off = "firing", "since "+sinceClock(*r.Since, r.WindowEnd)
		}
	case r.Value != nil && r.Statistic == record.StatisticGroups && r.Group == "":
		value, off, quality = cli.Value(r), "on the list", "-" // not drawn: it follows from what was found
	case r.Value != nil:
		value = cli.Value(r)
		if off = cli.BoundInWords(r); off == "" {
			off = "no band"
		}
		if quality = string(r.Quality); quality == "" {
			quality = "-"
		}
		if r.Changed != nil && !*r.Changed && r.Since != nil {
			quality = "since " + sinceClock(*r.Since, r.WindowEnd)
		}
	case r.Reason != nil:
		off = why(r)
	}
	return fmt.Sprintf("%s  %s  %s", text.Pad(value, 14, ' '), text.Pad(off, 23, ' '), text.Pad(quality, 6, ' '))
}

// spending writes the ε that one person can have lost, and the budget's limit. Records of earlier releases say only
// what counts against it.
func spending(r outputs.Record) string {
	lost := r.BudgetSpent
	if r.LossFields != nil {
		lost = r.BudgetLost
	}
	if lost == nil {
		return "ε unbounded of " + r.BudgetLimit.String()
	}
	return "ε " + lost.String() + " of " + r.BudgetLimit.String()
}
