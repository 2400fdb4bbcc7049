package feed

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows/period"
)

// FileColumns name the columns of a file of events.
type FileColumns struct {
	User  string `for:"one" placeholder:"COLUMN" help:"Column of the user. In JSON lines a column is a field; dots lead into objects."`
	Value string `for:"one" placeholder:"COLUMN" help:"Column of the value."`
	Time  string `for:"one" placeholder:"COLUMN" help:"Column of the time."`
	Clock string `for:"one" name:"time-of-day" placeholder:"COLUMN" help:"Column of the time of day, if that of --time has only the date."`
	Group string `for:"one" placeholder:"COLUMN" help:"Column of the group, if there are groups."`
}

// Columns returns the columns that the flags name. Without values only events are counted.
func (c FileColumns) Columns(values bool) (replay.Columns, error) {
	var missing []string
	for _, f := range []struct{ flag, value string }{{"--user", c.User}, {"--value", c.Value}, {"--time", c.Time}} {
		if f.value == "" && (values || f.flag != "--value") {
			missing = append(missing, f.flag)
		}
	}
	if missing != nil {
		return replay.Columns{}, cli.UsageError(fmt.Errorf("%s missing; want the names of these columns of the file",
			strings.Join(missing, ", ")))
	}
	return replay.Columns{User: c.User, Value: c.Value, Time: c.Time, Group: c.Group, Clock: c.Clock}, nil
}

// WhereFlag says which rows count.
type WhereFlag struct {
	Where []string `for:"one" sep:"none" placeholder:"COLUMN=VALUE" help:"Only rows in which the column has the value, such as status=200, or is what a streams file says behind where, such as 'ms={above: 0}'. May be given several times: all must hold."`
}

// Conditions reads the flags.
func (f WhereFlag) Conditions() ([]codec.Condition, error) {
	where, err := parse.Where(f.Where)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("--where %w", err))
	}
	return where, nil
}

// Skipped says that some rows do not meet the conditions, of which others do.
func (f WhereFlag) Skipped(skipped, others int) string {
	where, _ := parse.Where(f.Where) // read before
	return fmt.Sprintf("%s of %s skipped: only those with %s count", humanize.Comma(int64(skipped)),
		cli.Plural(skipped+others, "row")+are(skipped), codec.InWords(where))
}

// None is the error where no row meets the conditions.
func (f WhereFlag) None(name string) error {
	where, _ := parse.Where(f.Where) // read before
	return FileError(fmt.Errorf("%s: no row has %s; want other conditions in --where. Texts are compared byte by byte",
		name, codec.InWords(where)))
}

// Flags writes the flags of a command line that reads these columns, each with a space before it.
func Flags(c replay.Columns, where WhereFlag, times TimesFlags, delimiter string) (flags string) {
	if delimiter == "\t" {
		delimiter = `\t`
	}
	for _, f := range []struct{ name, value, absent string }{{"user", c.User, ""}, {"value", c.Value, ""},
		{"time", c.Time, ""}, {"time-of-day", c.Clock, ""}, {"group", c.Group, ""}, {"zone", times.Zone, ""},
		{"dates", times.Dates, ""}, {"delimiter", delimiter, ","}} {
		if f.value != f.absent {
			flags += fmt.Sprintf(" --%s %s", f.name, Quoted(f.value))
		}
	}
	for _, w := range where.Where {
		flags += " --where " + Quoted(w)
	}
	return flags
}

// Quoted is a word of a command line.
func Quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:-]+$`)

// Meaning puts a reason for rejecting a record in terms of a file's columns.
func Meaning(r codec.Reason, c replay.Columns) string {
	switch r {
	case codec.BadValue:
		return c.Value + " is missing or not a number such as 12 or -3.5"
	case codec.BadUser:
		return c.User + " is empty or missing"
	case codec.BadTime:
		if c.Clock != "" {
			return fmt.Sprintf("%s with the time of day in %s is missing or not a time after 1970", c.Time, c.Clock)
		}
		return c.Time + " is missing or not a time after 1970"
	case codec.Future:
		return fmt.Sprintf("%s is more than %s ahead of now", c.Time, config.Duration(config.DefaultMaxFuture))
	}
	return "a stream cannot read the line"
}

// DelimiterFlag says what separates the columns of a CSV file.
type DelimiterFlag struct {
	Delimiter string `default:"," placeholder:"C" help:"Character between columns; \\t for a tab."`
}

// Rune is the character.
func (d DelimiterFlag) Rune() (rune, error) {
	r := []rune(d.Delimiter)
	switch {
	case d.Delimiter == `\t`:
		return '\t', nil
	case len(r) != 1 || strings.ContainsRune("\"\r\n\ufffd", r[0]):
		return 0, cli.UsageError(fmt.Errorf("--delimiter %q; want one character, such as ;", d.Delimiter))
	}
	return r[0], nil
}

// TimesFlags say how the times of a file are written.
type TimesFlags struct {
	Zone  string `for:"one" placeholder:"NAME" help:"Time zone of times that name none, such as Europe/Berlin. Absent: UTC."`
	Dates string `for:"one" default:"" enum:"dmy,mdy," placeholder:"ORDER" help:"Dates such as 03/04/2026: dmy has the day first, mdy the month. Absent: by the first date in the file that can be read in one way only."`
}

// Fill puts the choices into the options of a replay.
func (f TimesFlags) Fill(o *replay.Options) (err error) {
	if f.Dates == replay.MonthFirst.String() {
		o.Dates = replay.MonthFirst
	} else if f.Dates != "" {
		o.Dates = replay.DayFirst
	}
	o.Zone, err = Location(f.Zone)
	return err
}

// Location reads a --zone.
func Location(name string) (*time.Location, error) {
	calendar, err := period.NewCalendar(period.Midnight, name)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("--zone %w", err))
	}
	return calendar.Zone, nil
}

// AboutTimes says what the owner of a file should know about the times in a column of it, in sentences without a full
// stop.
func AboutTimes(t replay.Times, column string, flags TimesFlags) (all []string) {
	if flags.Zone == "" && t.Zoneless.Count > 0 {
		some := ""
		if t.Zoneless.Count < t.Events {
			some = "some "
		}
		all = append(all, fmt.Sprintf("%stimes in column %s name no zone and are taken as UTC; --zone NAME takes them "+
			"as those of another, such as Europe/Berlin", some, column))
	}
	if n := t.Either; n.Count > 0 && flags.Dates == "" {
		all = append(all, fmt.Sprintf("dates in column %s could have the day or the month first, as on line %d, and no "+
			"line says which; they are taken with the day first, and --dates mdy takes the month", column, n.First))
	}
	if n := t.Early; n.Count > 0 {
		all = append(all, fmt.Sprintf("%s before 1990, first on line %d; want a column of times, and numbers in "+
			"seconds, milli-, micro- or nanoseconds since 1970", cli.Part(n.Count, t.Events, "event")+are(n.Count),
			n.First))
	}
	return all
}

// are is the verb of a number of things.
func are(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// FileError gives an error about a file its exit code.
func FileError(err error) error {
	var exit *cli.ExitError
	if errors.As(err, &exit) {
		return err
	}
	return &cli.ExitError{Code: cli.ExitInvalid, Err: err}
}
