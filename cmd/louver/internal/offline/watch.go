package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

// watch replays a file against a watch.
func (c *ReleaseCommand) watch(app *cli.App) error {
	w, schedule, err := c.watching()
	if err != nil {
		return cli.UsageError(err)
	}
	if n, most := c.ExpectedUsers, w.Most(c.ExpectedUsers); n > 0 && most < w.Excess95() {
		app.Say("louver: with %s, at most %s can be %s, but the watch needs %s; want more users or a larger ε",
			cli.Plural(n, "user"), cli.Tenths(most), cli.Direction(c.Watch), cli.Tenths(w.Excess95()))
	}
	bags, err := c.windowed(app, schedule)
	if err != nil {
		return err
	}
	grid, err := c.Grid(false)
	if err != nil {
		return err
	}
	samples := make(map[int64]*mechanisms.Sample, len(bags))
	for start, bag := range bags {
		samples[start] = mechanisms.NewSample(grid, bag.Sample(0))
	}
	f := &followed{watchFlags: c.watchFlags, json: c.JSON, out: app.Out, watch: w, samples: samples}
	return f.through(schedule)
}

// watching checks the flags.
func (c *ReleaseCommand) watching() (*watch.Watch, windows.Schedule, error) {
	var s windows.Schedule
	if err := without("--watch", append(c.columns(), needed{"--from", c.From, "the start of the first window"},
		needed{"--to", c.To, "the end of the last window"})...); err != nil {
		return nil, s, err
	}
	if c.AtMost < 1 || c.Hold < 0 || c.Per < c.Window {
		return nil, s, fmt.Errorf("--at-most %d, --hold %s, --per %s; want at least 1, at least 0s, and at least the "+
			"length of a window", c.AtMost, config.Duration(c.Hold), config.Duration(c.Per))
	}
	s, err := c.stretch(0)
	if err != nil {
		return nil, s, err
	}
	grid, err := c.Grid(false)
	if err != nil {
		return nil, s, err
	}
	w, err := cli.NewWatch(c.Watch, watch.Query{Epsilon: c.Epsilon.Decimal, FalseAlarms: c.FalseAlarms.Decimal,
		Windows: int64((c.Per-1)/c.Window) + 1, Grid: grid})
	return w, s, err
}

// stretch is that of the windows from --from to --to. If --to is absent, it is so long, unless usual is 0.
func (c *ReleaseCommand) stretch(usual time.Duration) (windows.Schedule, error) {
	s := windows.Schedule{Size: c.Window, Every: c.Window}
	var err error
	if s.Start, err = moment("--from", c.From); err != nil {
		return s, err
	}
	if s.End = s.Start + int64(usual); c.To != "" || usual == 0 {
		if s.End, err = moment("--to", c.To); err != nil {
			return s, err
		}
	}
	err = s.Validate()
	if wrong := (*windows.Error)(nil); errors.As(err, &wrong) {
		err = fmt.Errorf("%s %s", map[string]string{"start": "--from", "end": "--to", "size": "--window",
			"every": "--window"}[wrong.Field], wrong.Problem)
	}
	return s, err
}

// columns are those that a walk through windows needs.
func (c *ReleaseCommand) columns() []needed {
	all := []needed{{"--value", c.Value, "the column of the values"}, {"--user", c.User, "the column of the users"},
		{"--time", c.Time, "the column of the times"}}
	if c.counts() {
		all = all[1:]
	}
	return all
}

// moment reads the time of a flag.
func moment(flag, value string) (int64, error) {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil || at.Year() < 1970 || at.Year() > 2261 {
		return 0, fmt.Errorf("%s %s; want a time such as 2026-11-20T08:00:00Z", flag, value)
	}
	return at.UnixNano(), nil
}

// windowed reads the file into bags by the start of their window. A window without users has no bag. If there are no
// users at all, it says so.
func (c *ReleaseCommand) windowed(app *cli.App, s windows.Schedule) (map[int64]*windows.Bag, error) {
	name, in, err := open(app, c.File, "a CSV file with a header, or JSON lines")
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	left := &leftOut{file: name, where: c.where()}
	bags, times, err := c.bags(app.Context, name, in, s, left)
	if err == nil {
		err = left.err()
	}
	if err != nil {
		return nil, feed.FileError(err)
	}
	left.say(app)
	for _, about := range feed.AboutTimes(times, c.Time, c.times()) {
		app.Say("louver: %s: %s", name, about)
	}
	if len(bags) == 0 {
		app.Say("louver: %s holds no users from %s to %s (this line is not private: do not "+
			"publish it)", name, stamp(s.Start), stamp(s.End))
	}
	return bags, nil
}

// times says how the times of the file are written.
func (c *ReleaseCommand) times() feed.TimesFlags {
	return feed.TimesFlags{Zone: c.Zone, Dates: c.Dates}
}

// bags reads a file into bags, and says what it noticed about times.
func (c *ReleaseCommand) bags(ctx context.Context, name string, in io.Reader, s windows.Schedule,
	left *leftOut) (bags map[int64]*windows.Bag, times replay.Times, err error) {
	columns := replay.Columns{User: c.User, Value: c.Value, Time: c.Time, Clock: c.Clock}
	options := replay.Options{}
	if options.Delimiter, err = c.Rune(); err != nil {
		return nil, times, err
	}
	if err = c.times().Fill(&options); err != nil {
		return nil, times, err
	}
	if options.Where, err = c.where().Conditions(); err != nil {
		return nil, times, err
	}
	// a plain count of users needs no bounds; a watch without them is refused before
	grid, err := c.Grid(true)
	if err != nil {
		return nil, times, err
	}
	of, err := c.adding(grid)
	if err != nil {
		return nil, times, cli.UsageError(err)
	}
	of.Input.Spec = codec.Spec{Format: "json", User: c.User, Value: c.Value, Time: c.Time,
		MaxFuture: config.DefaultMaxFuture}
	decoder, err := codec.New(of.Codec())
	if err != nil {
		return nil, times, err
	}
	file, err := replay.New(name, in, columns, options)
	if err != nil {
		return nil, times, err
	}
	hasher, err := newHasher()
	if err != nil {
		return nil, times, err
	}
	bags = map[int64]*windows.Bag{}
	for record, err := range file.Records(ctx) {
		if err != nil {
			return nil, times, err
		}
		var e codec.Event
		reason := decoder.Decode(codec.Record{Value: record.Value, Time: record.Time.UnixNano()}, &e)
		if reason != codec.OK {
			left.add(record.Line, "column "+feed.Meaning(reason, columns))
			continue
		}
		left.used++
		for w := range s.Containing(e.Time) {
			bag := bags[w.Start]
			if bag == nil {
				bag = windows.NewBag(windows.BagSpec{Groups: []string{""}, MaxGroups: 1,
					Policy: of.Contribution, Window: w, Hasher: hasher, Adding: of.Adding()})
				bags[w.Start] = bag
			}
			bag.Add(hasher.User(e.User), 0, e.Time, e.Value)
		}
	}
	times, left.skipped = file.Times(), file.Skipped()
	if n := times.Untimed; n.Count > 0 {
		left.addAll(n.Count, n.First, "column "+feed.Meaning(codec.BadTime, columns))
	}
	return bags, times, nil
}

// watchFlags say what to watch for, and when.
type watchFlags struct {
	Watch       string        `for:"watch" group:"watch" placeholder:"CONDITION" help:"Watch for a condition in one window after another, such as \"above: 2000, more_than: 0.01\". ε is paid once, until it fires."`
	Time        string        `for:"watch,since,active" group:"watch" placeholder:"COLUMN" help:"Column of the time."`
	Clock       string        `rare:"" for:"watch,since,active" name:"time-of-day" group:"watch" placeholder:"COLUMN" help:"Column of the time of day, if that of --time has only the date."`
	Dates       string        `rare:"" for:"watch,since,active" default:"dmy" enum:"dmy,mdy" group:"watch" placeholder:"ORDER" help:"Dates such as 03/04/2026: dmy has the day first, mdy the month. It is public: the file does not decide it."`
	From        string        `for:"watch,since,active" group:"watch" placeholder:"TIME" help:"Start of the first window, such as 2026-11-20T00:00:00Z; with --since any time in the period. It is public: never take it from the data."`
	To          string        `rare:"" for:"watch,active" group:"watch" placeholder:"TIME" help:"End of the last window. Absent: with --active, 24 hours after --from."`
	Window      time.Duration `rare:"" for:"watch,since,active" default:"1m" group:"watch" placeholder:"D" help:"Length of a window."`
	FalseAlarms cli.Number    `rare:"" for:"watch" default:"0.05" group:"watch" placeholder:"P" help:"Probability of any false alarm in the time of --per."`
	Per         time.Duration `rare:"" for:"watch" default:"30d" group:"watch" placeholder:"D" help:"Time that --false-alarms is for."`
	Hold        time.Duration `rare:"" for:"watch" group:"watch" placeholder:"D" help:"How long after firing it is armed again, which costs ε again."`
	AtMost      int           `rare:"" for:"watch" default:"1" group:"watch" placeholder:"N" help:"How many times it is armed at most. This is what a user can lose: N times ε."`
}
