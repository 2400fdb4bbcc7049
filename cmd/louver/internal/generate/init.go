package generate

import (
	"bytes"
	_ "embed" // the template
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
)

// InitCommand writes a streams file to begin with.
type InitCommand struct {
	cli.KafkaSettings
	File  string `arg:"" optional:"" help:"File to write, such as streams.yaml. Absent or -: standard output."`
	Topic string `placeholder:"TOPIC" help:"Input topic. The file gets the names and types of the fields in a few records, never their values."`
	Users int64  `placeholder:"N" help:"Users that you expect in a window of an hour, from what you know and not from the data. Proposes a window and an ε for them, with the error that they give."`
	Force bool   `help:"Replace the file if it exists."`
}

// Help is the long help.
func (InitCommand) Help() string {
	return `Writes a streams file with comments. Keys that you have to choose are empty, and louver check lists them:

  louver init streams.yaml --topic checkout.events
  louver check streams.yaml

With --users, it proposes a window and an ε: the shortest window in which the number of users is off by a tenth at most,
while nobody loses more than ε 1 in a day. A comment says the errors of both figures. If no record has a number, users
count with their events, and the second figure is the number of all events.

With --topic, it reads a few records to learn the names and types of their fields. Nothing else about them reaches the
file. Bounds, groups and ε are published, so they must not come from the data. If records are of the past, standard
error says of which days, and which start and end would count them.`
}

//go:embed init.yaml.tmpl
var draftText string

var draftTemplate = template.Must(template.New("init").Parse(draftText))

// Run writes the file.
func (c *InitCommand) Run(app *cli.App) error {
	d, past := emptyDraft(), ""
	if c.Topic != "" {
		sample, err := sampleOf(app, c.KafkaSettings, c.Topic)
		if err != nil {
			return err
		}
		if d, err = newDraft(c.Topic, sample); err != nil {
			return err
		}
		past = sample.past(d.time, time.Now())
	}
	switch {
	case c.Users < 0:
		return cli.UsageError(fmt.Errorf("--users %d; want at least 1", c.Users))
	case c.Users > 0:
		var err error
		if d.Proposed, err = propose(c.Users); err != nil {
			return fmt.Errorf("init --users %d: %w", c.Users, err)
		}
	}
	defer func() {
		if past != "" {
			app.Say("louver: %s", past)
		}
	}()
	var text bytes.Buffer
	if err := draftTemplate.Execute(&text, d); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if c.File == "" || c.File == "-" {
		_, err := app.Out.Write(text.Bytes())
		return err
	}
	if err := c.write(text.Bytes()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(app.Out, "Wrote %s. Fill in the empty keys; louver check %s lists them.\n", c.File, c.File)
	return err
}

// proposal is a window and an ε for some users.
type proposal struct {
	Users         int64 // expected in a window of an hour, and so in a longer one at least
	Size          string
	Count, Median decimal.Decimal // ε of both figures: of the users, and of the median or the number of events
	Error         int64           // of the number of users, with a probability of 95 %
	Low, High     string          // the percentiles between which the released median lies, with the same probability
}

// steps is for how many steps between the bounds the median's error is forecast: the bounds are not chosen yet. With
// ten times as many it grows by about a fifth.
const steps = 100_000

// Sum is how many times the upper bound the number of events is off by, with a probability of 95 %: noise of Laplace's
// law with the scale 1/ε is beyond ln(20)/ε in one case of 20.
func (p *proposal) Sum() string { return fmt.Sprintf("%.0f", math.Log(20)/p.Median.InexactFloat64()) }

// Steps is that number for a comment.
func (p *proposal) Steps() string { return humanize.Comma(steps) }

// Enough is from how many users on their number is useful: its error is at most a tenth of it.
func (p *proposal) Enough() int64 { return 10 * p.Error }

// Rough reports whether fewer are expected.
func (p *proposal) Rough() bool { return p.Users < p.Enough() }

// forecastMedian fills in the error of the median.
func (p *proposal) forecastMedian() error {
	grid, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(steps), decimal.NewFromInt(1))
	if err != nil {
		return err
	}
	q := mechanisms.Query{Statistic: mechanisms.Median, Grid: grid, Epsilon: p.Median}
	m, err := mechanisms.New(q)
	if err != nil {
		return err
	}
	figures, err := forecast.Of(q, m, forecast.Public{Users: p.Users, CountEpsilon: p.Count.InexactFloat64()})
	if err != nil {
		return err
	}
	low, high := 0., 1. // no better bound than the data themselves
	if f := figures[0]; f.Low != nil && f.High != nil {
		low, high = *f.Low, *f.High
	}
	p.Low, p.High = fmt.Sprintf("%.0f", math.Floor(100*low)), fmt.Sprintf("%.0f", math.Ceil(100*high))
	return nil
}

// propose returns the shortest window in which the number of users is useful while all windows of a day cost ε 1 at
// most, or else one of a day. It knows the number of expected users alone.
func propose(users int64) (*proposal, error) {
	const day = 24 * time.Hour
	p := &proposal{Users: users}
	for _, size := range []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day} {
		whole := decimal.NewFromInt(1).Div(decimal.NewFromInt(int64(day / size))).Truncate(3)
		p.Size, p.Count = config.Duration(size), whole.Mul(decimal.New(25, -2)).Truncate(3)
		p.Median = whole.Sub(p.Count) // it needs the most
		p.Error = mechanisms.NoisyCount{Epsilon: p.Count.InexactFloat64()}.Error95()
		if !p.Rough() {
			break
		}
	}
	return p, p.forecastMedian()
}

// write makes the file. It replaces an existing one only with --force.
func (c *InitCommand) write(text []byte) error {
	err := WriteFile(c.File, text, c.Force)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; choose another name, or replace it with --force", err)
	}
	return err
}

// WriteFile makes a file for somebody. It replaces an existing one only if force says so: else the error is
// [fs.ErrExist].
func WriteFile(name string, text []byte, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(name, flags, 0o644)
	if at, e := os.Stat(name); err != nil && e == nil && at.IsDir() {
		return fmt.Errorf("%s is a directory; want the name of a file, such as %s", name,
			filepath.Join(name, "streams.yaml"))
	}
	if errors.Is(err, fs.ErrExist) {
		return existsError(name)
	} else if err != nil {
		return fmt.Errorf("%w; want a file in a directory that exists and that you may write to", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// existsError says that a file of that name exists.
type existsError string

func (e existsError) Error() string { return string(e) + " already exists" }

func (e existsError) Is(target error) bool { return target == fs.ErrExist }
