// Package try finds out which windows and which ε make figures of a file useful: the command try.
package try

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/cmd/louver/internal/generate"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/replay"
)

// Command tries a file.
type Command struct {
	File string `arg:"" help:"CSV with a header, or JSON lines. May be compressed with gzip. -: standard input."`

	feed.FileColumns
	NoGroup   bool   `help:"Guess no column of groups, even if there may be one."`
	Delimiter string `placeholder:"C" help:"Character between the columns of a CSV file; \\t for a tab. Absent: found from the first line."`
	feed.TimesFlags
	feed.WhereFlag
	Window  time.Duration `placeholder:"DURATION" help:"Length of a window, such as 1h. Absent: several are tried."`
	Epsilon *cli.Number   `placeholder:"E" help:"The most ε that one user can lose in one window. Absent: several are tried."`
	Lower   *cli.Number   `placeholder:"X" help:"Lower bound of the values. Absent: chosen by the values."`
	Upper   *cli.Number   `placeholder:"X" help:"Upper bound of the values. Absent: chosen by the values."`
	Above   *cli.Number   `placeholder:"X" help:"Above which a value is high. Absent: chosen by the values."`
	Figure  string        `default:"" enum:"median,p90,mean,events," placeholder:"NAME" help:"What is said of the values: median, p90 or mean; or events, their number in place of values. Absent: what is useful."`
	Out     string        `default:"streams.yaml" placeholder:"FILE" help:"Streams file to write. An existing one is not replaced. -: none."`
}

// Help is the long help.
func (Command) Help() string {
	return `Needs no other flags. It guesses the columns, reads the file once, and draws figures for several windows and
several ε, with noise as a stream would draw it. A table says which part of the figures was useful. Windows that the
file covers only in part do not count. It chooses the shortest windows of which most were useful, and the least ε that
does, so that nobody loses more than ε 1 in any 24 hours if that is possible. A guessed column of groups is taken if
most of its figures are useful too. If medians are not, it may take the p90 or the mean. If no column has values, a user
counts with the number of their events, and the number of all events is the figure. Then it shows some of the figures
and writes a streams file for them:

  louver try requests.csv
  louver try requests.csv --figure events
  louver try orders.csv --user customer --value amount --window 24h
  louver check streams.yaml

To choose, it looks at the data. So what it prints is only for those who may see the file. In the streams file, a
comment marks each value that came from the data. louver check warns of each of them until you have chosen it anew.`
}

// fewestUsers is how many users a file needs. Among fewer, no figure can hide one of them and still say something.
const fewestUsers = 10

// Run tries the file.
func (c *Command) Run(app *cli.App) error {
	if err := c.free(); err != nil {
		return err
	}
	name, in, size, err := c.open(app)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	progress := feed.NewProgress(app)
	counted := feed.Counted(in, size, func(percent int64) {
		progress.Say(func() string { return fmt.Sprintf("reading %s, %d %%", name, percent) })
	})
	d, e, err := c.read(app, name, counted)
	progress.End()
	if err != nil {
		return err
	}
	if n := len(e.users); n < fewestUsers {
		d.Groups, d.Columns.Group = nil, c.Group
		if err := c.describe(app, d, e); err != nil {
			return err
		}
		return feed.FileError(fmt.Errorf("%s: only %s in column %s: noise that hides one of so few hides everything; "+
			"want --user with a column of at least %d, better hundreds", name, cli.Plural(n, "user"), d.Columns.User,
			fewestUsers))
	}
	sizes, eps := d.sizes(), epsilons
	if c.Window != 0 {
		sizes = []time.Duration{c.Window}
	}
	if c.Epsilon != nil {
		eps = []decimal.Decimal{c.Epsilon.Decimal}
	}
	found, err := c.weigh(app.Context, d, e, sizes, eps)
	if err != nil {
		return feed.FileError(err)
	}
	d = found.draft
	if err := c.describe(app, d, e); err != nil {
		return err
	}
	if err := d.show(app, found); err != nil {
		return err
	}
	return c.finish(app, d, found.best)
}

// free refuses flags that cannot be before the file is read, and an output that exists.
func (c *Command) free() error {
	switch {
	case c.Window < 0 || c.Window%time.Second != 0:
		return cli.UsageError(fmt.Errorf("--window %s; want whole seconds, such as 15m or 3h", c.Window))
	case c.Epsilon != nil && !c.Epsilon.IsPositive():
		return cli.UsageError(fmt.Errorf("--epsilon %s; want a number greater than 0", c.Epsilon))
	case c.Figure == numberOfEvents && c.Value != "":
		return cli.UsageError(fmt.Errorf("--figure events with --value %s; want it without, to count events whatever "+
			"their values", c.Value))
	case c.Out == "-":
		return nil
	}
	if _, err := os.Lstat(c.Out); err == nil {
		return exists(c.Out)
	}
	return nil
}

func exists(name string) error {
	return fmt.Errorf("%s already exists and is not replaced; want another name with --out, or --out - for none", name)
}

// open opens the file or standard input.
func (c *Command) open(app *cli.App) (name string, in io.ReadCloser, size int64, err error) {
	if c.File == "-" {
		return "stdin", io.NopCloser(app.In), 0, nil
	}
	f, err := os.Open(c.File)
	if err != nil {
		return "", nil, 0, feed.FileError(fmt.Errorf("%w; want a CSV or JSON-lines file", err))
	}
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	return c.File, f, size, nil
}

// read guesses the columns, reads the events and chooses bounds.
func (c *Command) read(app *cli.App, name string, in io.Reader) (d draft, e *events, err error) {
	var options replay.Options
	if c.Delimiter != "" {
		if options.Delimiter, err = (feed.DelimiterFlag{Delimiter: c.Delimiter}).Rune(); err != nil {
			return d, nil, err
		}
	}
	if err = c.Fill(&options); err != nil {
		return d, nil, err
	}
	if options.Where, err = c.Conditions(); err != nil {
		return d, nil, err
	}
	look, text, err := replay.LookAt(name, in, options.Delimiter)
	if err != nil {
		return d, nil, feed.FileError(err)
	}
	options.Delimiter = look.Delimiter
	d = draft{File: filepath.Base(name), Name: streamName(name), Delimiter: look.Delimiter, Chosen: chosen{
		Lower: c.Lower != nil, Upper: c.Upper != nil, Above: c.Above != nil, Window: c.Window != 0,
		Epsilon: c.Epsilon != nil}}
	d.Columns = replay.Columns{User: c.User, Value: c.Value, Time: c.Time, Clock: c.Clock, Group: c.Group}
	if d.Columns, err = complete(name, d.Columns, look, c.Figure == numberOfEvents); err != nil {
		return d, nil, err
	}
	guessed := c.Group == "" && !c.NoGroup
	if guessed {
		d.Columns.Group = group(d.Columns, look)
	}
	places := 0
	for _, column := range look.Columns {
		if column.Path == d.Columns.Value {
			places = column.Places
		}
	}
	if e, err = read(app.Context, name, text, d.Columns, options, places, guessed); errors.Is(err, errSkipped) {
		return d, nil, c.None(name)
	} else if err != nil {
		return d, nil, err
	}
	if d.First, d.Last, d.Groups = e.first, e.last, e.groups; guessed && len(e.groups) < 2 {
		d = d.whole()
	}
	d, err = c.bound(d, e)
	return d, e, err
}

// bound chooses bounds by the values, and replaces these by points of the grid between them. Where events are counted,
// bounds depend on the windows, so only the flags are checked.
func (c *Command) bound(d draft, e *events) (draft, error) {
	d.Figure = c.Figure
	for _, f := range []struct {
		name  string
		value *cli.Number
		to    *decimal.Decimal
	}{{"--lower", c.Lower, &d.Lower}, {"--upper", c.Upper, &d.Upper}, {"--above", c.Above, &d.High}} {
		if f.value == nil {
			continue
		}
		if *f.to = f.value.Decimal; d.Counts() && (!f.to.IsInteger() || f.to.IsNegative()) {
			return d, cli.UsageError(fmt.Errorf("%s %s, but events are counted; want a whole number of one user's events "+
				"in a window, at least 0", f.name, f.to))
		}
	}
	if d.Counts() {
		d.Chosen.Lower, d.Chosen.Step = true, true
		d = d.sized(e, d.sizes()[0])
	} else {
		d = d.bounded(e, e.sample())
	}
	grid, err := mechanisms.NewGrid(d.Lower, d.Upper, d.Step)
	if err != nil {
		return d, cli.UsageError(err)
	}
	if d.Chosen.Above && (d.High.LessThan(d.Lower) || d.High.GreaterThanOrEqual(d.Upper)) {
		return d, cli.UsageError(fmt.Errorf("--above %s; want a value from %s to less than %s", d.High, d.Lower, d.Upper))
	}
	if d.Counts() {
		return d, nil
	}
	return d, e.encode(grid)
}

// streamName makes the name of a stream from that of a file.
func streamName(file string) string {
	base, _, _ := strings.Cut(filepath.Base(file), ".")
	name := generate.StreamName(base)
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// finish writes the streams file and says what to do next.
func (c *Command) finish(app *cli.App, d draft, best *cell) error {
	text, err := d.write(best.plan)
	if err != nil {
		return err
	}
	if c.Out == "-" {
		return nil
	}
	if err := generate.WriteFile(c.Out, []byte(text), false); errors.Is(err, fs.ErrExist) {
		return exists(c.Out)
	} else if err != nil {
		return err
	}
	delimiter := string(d.Delimiter)
	if d.Delimiter == 0 {
		delimiter = ","
	}
	out := feed.Quoted(c.Out)
	_, err = fmt.Fprintf(app.Out, `
Wrote %s. It marks what came from the data. Next:
  louver check %s
      says what one user can lose, and which values to choose anew
  louver broker & sleep 1
  louver replay %s --topic %s \
   %s
  louver run --streams %s
      publishes the figures to Kafka and shows them on a page
`, c.Out, out, feed.Quoted(c.File), d.topic(), feed.Flags(d.Columns, c.WhereFlag, c.TimesFlags, delimiter), out)
	return err
}
