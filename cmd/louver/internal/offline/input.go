package offline

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

// valueFlags say where the values and users of a file are.
type valueFlags struct {
	Value string `for:"one,watch,since,active" group:"input" placeholder:"COLUMN" help:"Column of the values, in a CSV file with a header."`
	User  string `group:"input" placeholder:"COLUMN" help:"Column of the users. Absent: each row is another user."`
	feed.DelimiterFlag
	Where        []string `rare:"" sep:"none" group:"input" placeholder:"COLUMN=VALUE" help:"Only rows in which the column has the value, such as status=200, or is what a streams file says behind where, such as 'ms={above: 0}'. May be given several times: all must hold."`
	Contribution string   `for:"one,watch,since,active" default:"last" enum:"first,last,min,max,random,sum,count,mean" group:"input" placeholder:"NAME" help:"What a user counts with: the first, last (by row), min, max or random value, or the sum, mean or count of all."`
}

// where says which rows count.
func (c *valueFlags) where() feed.WhereFlag { return feed.WhereFlag{Where: c.Where} }

// counts reports whether rows are counted, whatever their values.
func (c *valueFlags) counts() bool { return c.Contribution == string(windows.Count) }

// seen makes a row count for its user, whatever is in it, if a number of users is asked for without a column of values.
func (c *valueFlags) seen() {
	if c.Value == "" && c.Contribution == string(windows.Last) {
		c.Contribution = string(windows.Count)
	}
}

// adding checks what a user adds up to. The stream says how rows are read and what their totals are on the grid.
func (c *valueFlags) adding(grid *mechanisms.Grid) (*config.Stream, error) {
	s := &config.Stream{Contribution: windows.Policy(c.Contribution), Grid: grid}
	if !s.Contribution.Adds() {
		return s, nil
	}
	if c.User == "" {
		return nil, fmt.Errorf("--contribution %s without --user; want the column of the users, whose rows are added up",
			c.Contribution)
	}
	if c.counts() && c.Value != "" {
		return nil, fmt.Errorf("--contribution count with --value %s: rows are counted, whatever their values; want "+
			"--contribution sum, or no --value", c.Value)
	}
	for _, b := range []decimal.Decimal{grid.Lower(), grid.Upper(), grid.Step()} {
		if c.counts() && (!b.IsInteger() || b.IsNegative()) {
			return nil, fmt.Errorf("bounds with %s and --contribution count; want whole numbers of rows, at least 0", b)
		}
	}
	_, err := grid.Units()
	return s, err
}

// needed is a flag that another one needs, and what its value is.
type needed struct{ flag, value, want string }

// without returns an error if a flag is missing that another one needs.
func without(flag string, all ...needed) error {
	for _, f := range all {
		if f.value == "" {
			return fmt.Errorf("%s without %s; want %s", flag, f.flag, f.want)
		}
	}
	return nil
}

// source is a file that is read, and tells how far it is if that takes long.
type source struct {
	io.Reader
	file     *os.File // nil: standard input
	progress *feed.Progress
}

// Close closes the file.
func (s source) Close() error {
	s.progress.End()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// open opens the file, or standard input if it is absent or -. want says what it should be.
func open(app *cli.App, file, want string) (name string, in io.ReadCloser, err error) {
	s := source{Reader: app.In, progress: feed.NewProgress(app)}
	if file == "" || file == "-" {
		return "stdin", s, nil
	}
	if s.file, err = os.Open(file); err != nil {
		return "", nil, fmt.Errorf("%w; want %s", err, want)
	}
	s.Reader = s.file
	if info, err := s.file.Stat(); err == nil && info.Mode().IsRegular() {
		s.Reader = feed.Counted(s.file, info.Size(), func(percent int64) {
			if s.progress.Say(func() string { return fmt.Sprintf("reading %s, %d %%", file, percent) }); percent == 100 {
				s.progress.End() // what follows is said on a line of its own
			}
		})
	}
	return file, s, nil
}

// read makes a sample from a file, with one value for each user. It tells on standard error what it leaves out. Its
// errors do not repeat values, which are personal.
func (c *valueFlags) read(app *cli.App, name string, in io.Reader, grid *mechanisms.Grid) (*mechanisms.Sample, error) {
	text, err := replay.Text(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.Value == "" && !c.counts() {
		return readList(name, text, grid)
	}
	left := &leftOut{file: name, where: c.where()}
	sample, err := c.readCSV(name, text, grid, left)
	if err == nil {
		err = left.err()
	}
	if err == nil {
		left.say(app)
	}
	return sample, err
}

// readList reads numbers separated by spaces or lines. It has no cells that may be empty: anything else is a mistake.
func readList(name string, in io.Reader, grid *mechanisms.Grid) (*mechanisms.Sample, error) {
	users := map[int64]int64{} // by grid index
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	line := 1
	for ; lines.Scan(); line++ {
		for field := range strings.FieldsSeq(lines.Text()) {
			i, err := grid.Parse([]byte(field))
			if err != nil {
				return nil, fmt.Errorf("%s:%d: not a number; want numbers such as 12 or -3.5, or --value COLUMN "+
					"for CSV", name, line)
			}
			users[i]++
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	points := make([]mechanisms.Point, 0, len(users))
	for i, n := range users {
		points = append(points, mechanisms.Point{Index: i, Count: n})
	}
	return mechanisms.NewSample(grid, points), nil
}

// readCSV reads rows; a row's number stands for its time.
func (c *valueFlags) readCSV(name string, in *bufio.Reader, grid *mechanisms.Grid,
	left *leftOut) (*mechanisms.Sample, error) {
	s, err := c.adding(grid)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	hasher, err := newHasher()
	if err != nil {
		return nil, err
	}
	bag := windows.NewBag(windows.BagSpec{Groups: []string{""}, MaxGroups: 1, Policy: s.Contribution,
		Window: windows.Window{Start: 0, End: 1}, Hasher: hasher, Adding: s.Adding()})
	key, column, values := "value", c.Value, s.Codec().Grid
	if c.counts() {
		key, column = "user", c.User
	}
	err = c.eachRow(name, in, key, column, left, func(r fileRow) string {
		if c.counts() {
			bag.Add(hasher.User([]byte(r.user)), 0, r.number, 1)
			return ""
		}
		number := strings.TrimSpace(r.field)
		i, err := values.Parse([]byte(number))
		switch {
		case number == "":
			return fmt.Sprintf("column %s: empty; want a number such as 12 or -3.5", c.Value)
		case err != nil:
			return fmt.Sprintf("column %s: not a number; want one such as 12 or -3.5", c.Value)
		}
		bag.Add(hasher.User([]byte(r.user)), 0, r.number, i)
		return ""
	})
	if err != nil {
		return nil, err
	}
	return mechanisms.NewSample(grid, bag.Sample(0)), nil
}

// newHasher returns a hasher of a key that is nowhere else.
func newHasher() (*windows.Hasher, error) {
	var key [16]byte
	_, err := rand.Read(key[:])
	return windows.NewHasher(key), err
}

// fileRow is a row of a CSV file.
type fileRow struct {
	number int64  // from 1
	line   int    // of the field
	user   string // the number of the row, if the file has no column of users
	field  string
}

// eachRow calls visit with the user and one further field of each row. The column is called so, and key says what it
// holds, as a streams file does. Rows without a user are left out, and those of which visit says why.
func (c *valueFlags) eachRow(name string, in *bufio.Reader, key, column string, left *leftOut,
	visit func(fileRow) (why string)) error {
	delimiter, err := c.Rune()
	if err != nil {
		return err
	}
	rows := replay.NewCSV(in, delimiter)
	header, err := replay.ReadHeader(rows)
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	field, err := header.Find(key, column)
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	user := -1
	if c.User != "" {
		if user, err = header.Find("user", c.User); err != nil {
			return fmt.Errorf("%s:%w", name, err)
		}
	}
	conditions, err := c.where().Conditions()
	if err != nil {
		return err
	}
	where, err := codec.NewRows(conditions, func(name string) (int, error) { return header.Find("where", name) })
	if err != nil {
		return fmt.Errorf("%s:%w", name, err)
	}
	rows.ReuseRecord = true
	for number := int64(1); ; number++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s:%w", name, replay.LineError(err))
		}
		if !where.Meets(row) {
			left.skipped++
			continue
		}
		line, _ := rows.FieldPos(field)
		id := fmt.Sprint(number)
		if user >= 0 {
			id = row[user]
		}
		why := fmt.Sprintf("column %s is empty; want a user in every row", c.User)
		if id != "" {
			why = visit(fileRow{number, line, id, row[field]})
		}
		if why == "" {
			left.used++
		} else {
			left.add(line, why)
		}
	}
}
