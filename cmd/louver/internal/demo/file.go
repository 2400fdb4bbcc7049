package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/stream/web"
	"github.com/louver/louver/windows"
)

// fileFlags choose the file that a demo shows, and how.
type fileFlags struct {
	CSV string `name:"csv" placeholder:"FILE" help:"Show the figures of a file instead of the simulated service's: CSV with a header, or JSON lines."`
	feed.FileColumns
	feed.DelimiterFlag
	feed.TimesFlags
	Window  time.Duration `placeholder:"DURATION" help:"Length of a window of the file, for example 3h. Absent: chosen to give a few dozen windows."`
	Epsilon cli.Number    `default:"4" placeholder:"E" help:"The most ε that one user of the file can lose in one window, all figures together."`
	Lower   cli.Number    `default:"0" placeholder:"X" help:"Lower bound of the file's values. Bounds are public: choose them without looking at the data."`
	Upper   *cli.Number   `placeholder:"X" help:"Upper bound of the file's values. Default: 1000000, or 100 if events are counted."`
	Step    cli.Number    `default:"1" placeholder:"X" help:"Distance between values that can be released."`
	Unit    string        `placeholder:"UNIT" help:"Unit of the file's values."`

	Contribution string `default:"last" enum:"first,last,min,max,random,sum,count,mean" placeholder:"NAME" help:"What a user counts with in a window: the first, last, min, max or random value, or the sum, mean or count of all. The bounds are those of this."`
}

// fileScene is the scene of a file. All events are sent before the stages start. So none is late, in any order, and
// windows can have the times of the file.
type fileScene struct {
	fileFlags
	columns replay.Columns
	upper   decimal.Decimal
	options replay.Options
	survey  *replay.Survey
	inputs  []string // topics of the stretches
}

// newFileScene checks the flags.
func newFileScene(f fileFlags) (*fileScene, error) {
	if _, err := os.Stat(f.CSV); errors.Is(err, fs.ErrNotExist) {
		return nil, feed.FileError(fmt.Errorf("--csv %s: no such file; want a CSV or JSON-lines file", f.CSV))
	}
	if f.Time == "" {
		return nil, cli.UsageError(fmt.Errorf("--csv %s without --time; want the column of times, because a demo "+
			"shows windows. For a file without times: louver release %[1]s --statistic median --value COLUMN --lower "+
			"X --upper X --step X --epsilon 1", f.CSV))
	}
	count := f.Contribution == string(windows.Count)
	if count && f.Value != "" {
		return nil, cli.UsageError(fmt.Errorf("--value %s with --contribution count, which counts events whatever "+
			"their values; want --contribution sum, or no --value", f.Value))
	}
	s := &fileScene{fileFlags: f, upper: decimal.NewFromInt(1_000_000)}
	switch {
	case f.Upper != nil:
		s.upper = f.Upper.Decimal
	case count:
		s.upper = decimal.NewFromInt(100)
	}
	var err error
	if s.columns, err = f.Columns(!count); err != nil {
		return nil, err
	}
	if s.options.Delimiter, err = f.Rune(); err != nil {
		return nil, err
	}
	if err = f.Fill(&s.options); err != nil {
		return nil, err
	}
	if f.Window < 0 || f.Window%time.Second != 0 {
		return nil, cli.UsageError(fmt.Errorf("--window %s; want whole seconds, such as 10s or 3h", f.Window))
	}
	return s, nil
}

// check refuses flags that need a file if there is none.
func (f fileFlags) check() error {
	adds := f.Contribution
	if adds == string(windows.Last) { // as without the flag
		adds = ""
	}
	for _, c := range []struct{ flag, value string }{{"--user", f.User}, {"--value", f.Value}, {"--time", f.Time},
		{"--group", f.Group}, {"--unit", f.Unit}, {"--zone", f.Zone}, {"--dates", f.Dates},
		{"--contribution", adds}} {
		if c.value != "" {
			return cli.UsageError(fmt.Errorf("%s %q without --csv; want --csv FILE too", c.flag, c.value))
		}
	}
	return nil
}

func (s *fileScene) streams(ctx context.Context, say func(string)) ([]*config.Stream, error) {
	file, closer, err := s.open(say, "reading")
	if err != nil {
		return nil, err
	}
	defer func() { _ = closer.Close() }() // only read
	if s.survey, err = replay.NewSurvey(ctx, file, s.Window, s.columns); err != nil {
		return nil, feed.FileError(err)
	}
	if r := s.survey.Trial.Rejected(); s.left() == s.survey.Events {
		return nil, feed.FileError(fmt.Errorf("%s:%d: %s, and no other line can be used either; want other columns",
			s.CSV, r[0].First, feed.Meaning(r[0].Reason, s.columns)))
	}
	if _, err := mechanisms.NewGrid(s.Lower.Decimal, s.upper, s.Step.Decimal); err != nil {
		return nil, cli.UsageError(err)
	}
	if !s.Epsilon.IsPositive() {
		return nil, cli.UsageError(fmt.Errorf("--epsilon %s; want a number greater than 0", s.Epsilon))
	}
	text, err := replay.StreamsFor(s.file(demoApp, false))
	if err != nil {
		return nil, err
	}
	parsed, err := parse.File("the demo's streams", []byte(text), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for _, st := range parsed.Streams {
		s.inputs = append(s.inputs, st.Input.Topic)
	}
	return parsed.Streams, nil
}

// file says which streams file is for the file.
func (s *fileScene) file(name string, oneTopic bool) replay.Demo {
	return replay.Demo{Name: name, OneTopic: oneTopic, Columns: s.columns, Survey: s.survey, Lower: s.Lower.Decimal,
		Upper: s.upper, Step: s.Step.Decimal, Contribution: windows.Policy(s.Contribution), Epsilon: s.Epsilon.Decimal,
		Unit: s.Unit}
}

// next is a finished streams file for the file, and how to run it.
func (s *fileScene) next() string {
	if s.survey == nil {
		return ""
	}
	base, _, _ := strings.Cut(filepath.Base(s.CSV), ".")
	name := strings.Trim(unnamed.ReplaceAllString(strings.ToLower(base), "-"), "-")
	d := s.file(cmp.Or(name[:min(len(name), 40)], "events"), true)
	text, err := replay.StreamsFor(d)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`A streams file for these events:

%s
Saved as streams.yaml, it publishes figures of the same windows to Kafka:

  louver broker & sleep 1
  louver replay %s --topic %s \
   %s
  louver run --streams streams.yaml
`, text, feed.Quoted(s.CSV), d.Topic(0), feed.Flags(s.columns, feed.WhereFlag{}, s.TimesFlags, s.Delimiter))
}

// unnamed are the characters that the name of a stream made of a file's does not have.
var unnamed = regexp.MustCompile(`[^a-z0-9]+`)

// left returns how many lines are left out because a stream cannot use them.
func (s *fileScene) left() (n int) {
	for _, r := range s.survey.Trial.Rejected() {
		n += r.Count
	}
	return n
}

func (s *fileScene) begin(ctx context.Context, conn *kafkaconn.Conn, say func(string)) error {
	for i, stretch := range s.survey.Stretches {
		file, closer, err := s.open(say, "sending")
		if err != nil {
			return err
		}
		_, err = feed.SendRecords(ctx, conn, zap.NewNop(), within(stretch, file.Records(ctx)), s.inputs[i], nil)
		if err := errors.Join(err, closer.Close()); err != nil {
			return err
		}
	}
	return nil
}

// within yields the records of a stretch.
func within(s replay.Stretch, records iter.Seq2[replay.Record, error]) iter.Seq2[replay.Record, error] {
	return func(yield func(replay.Record, error) bool) {
		for r, err := range records {
			if (err != nil || s.Contains(r.Time)) && !yield(r, err) {
				return
			}
		}
	}
}

func (s *fileScene) feed(context.Context, func(string)) error { return nil }

func (s *fileScene) time() clock.Clock { return nil }

func (s *fileScene) published(outputs.Record) {}

func (s *fileScene) needed() time.Time { return time.Time{} }

func (s *fileScene) tell(*picture) {}

func (s *fileScene) demo() web.Demo { return nil }

// open opens the file and shows the progress of reading it.
func (s *fileScene) open(say func(string), doing string) (*replay.File, io.Closer, error) {
	f, err := os.Open(s.CSV)
	if err != nil {
		return nil, nil, feed.FileError(fmt.Errorf("%w; want a CSV or JSON-lines file", err))
	}
	info, err := f.Stat()
	if err == nil {
		var events *replay.File
		in := feed.Counted(f, info.Size(), func(percent int64) {
			say(fmt.Sprintf("%s %s, %d %%", doing, filepath.Base(s.CSV), percent))
		})
		if events, err = replay.New(s.CSV, in, s.columns, s.options); err == nil {
			return events, f, nil
		}
	}
	_ = f.Close() // only read
	return nil, nil, feed.FileError(err)
}

func (s *fileScene) text() sceneText {
	value := s.columns.Value
	switch s.Contribution {
	case string(windows.Count):
		value = "events"
	case string(windows.Sum), string(windows.Mean):
		value = s.Contribution + " of " + value
	}
	title := fmt.Sprintf("Louver demo: %s of each %s", value, s.columns.User)
	if s.columns.Group != "" {
		title += " by " + s.columns.Group
	}
	t := sceneText{
		title:  title + ", " + filepath.Base(s.CSV),
		remark: "The times are the file's own. A real stream declares its windows and groups.",
		news:   s.news,
		pace:   2 * time.Second,
		layout: "2006-01-02 15:04",
	}
	if s.survey.Window < time.Minute {
		t.layout += ":05"
	}
	for _, stretch := range s.survey.Stretches {
		t.windows += stretch.Windows
	}
	for _, left := range []struct {
		count int
		why   string
	}{{s.left(), "a stream would reject them"}, {s.survey.Ungrouped, "no group"},
		{s.survey.Unfinished, "their window is not over"}} {
		if left.count > 0 {
			t.remark += fmt.Sprintf(" Left out: %s (%s).", cli.Part(left.count, s.survey.Events, "line"), left.why)
		}
	}
	for _, about := range feed.AboutTimes(s.survey.Times, s.Time, s.TimesFlags) {
		t.remark += " " + strings.ToUpper(about[:1]) + about[1:] + "."
	}
	return t
}

// news says how many values are beyond the bounds, or why there is little to see. It uses released figures only.
func (s *fileScene) news(p picture, _ time.Time) (text string, alarm bool) {
	noise := 0
	for _, r := range p.records {
		if r.Quality == "noise" {
			noise++
		}
	}
	if 2*noise > len(p.records) {
		fewer := ""
		if len(p.stream.Groups) > 1 {
			fewer = "no --group, "
		}
		return fmt.Sprintf("Too few users. Try %sa longer --window or a larger --epsilon.", fewer), true
	}
	bounds := fmt.Sprintf("%s … %s", s.Lower, s.upper)
	users := map[string]outputs.Record{}
	for _, r := range p.records {
		if r.Statistic == "count" {
			users[r.Group] = r
		}
	}
	most, where := 0., ""
	for _, r := range p.records {
		beyond, significant := significantCount(r)
		all, some := significantCount(users[r.Group])
		if r.Statistic == "outside" && significant && some && beyond/all > most {
			most, where = beyond/all, r.Group
		}
	}
	if most == 0 {
		return fmt.Sprintf("No sign of values outside %s (--lower and --upper).", bounds), false
	}
	who := strings.TrimSpace(where + " users")
	return fmt.Sprintf("About %.0f %% of %s have values outside %s (--lower and --upper).", 100*min(most, 1), who,
			bounds),
		most > 0.05
}

// significantCount returns a released count, and whether it is greater than its noise can explain.
func significantCount(r outputs.Record) (count float64, ok bool) {
	if r.Value == nil || r.Error95 == nil {
		return 0, false
	}
	count, err := r.Value.Float64()
	noise, err2 := r.Error95.Float64()
	return count, err == nil && err2 == nil && count > noise
}
