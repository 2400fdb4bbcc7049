package offline

import (
	"bufio"
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

// valueFlags say where the values and users of a file are.
type valueFlags struct {
	Value string `group:"input" placeholder:"COLUMN" help:"Column of the values, in a CSV file with a header."`
	User  string `group:"input" placeholder:"COLUMN" help:"Column of the users. Absent: each row is another user."`
	feed.DelimiterFlag
	Contribution string `default:"last" enum:"first,last,min,max,random" group:"input" placeholder:"NAME" help:"Which value of a user counts: first, last (by row), min, max or random."`
}

// read makes a sample from a file, with one value for each user. Its errors do not repeat values, which are personal.
func (c *valueFlags) read(name string, in io.Reader, grid *mechanisms.Grid) (*mechanisms.Sample, error) {
	text, err := replay.Text(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.Value == "" {
		return readList(name, text, grid)
	}
	return c.readCSV(name, text, grid)
}

// readList reads numbers separated by spaces or lines.
func readList(name string, in io.Reader, grid *mechanisms.Grid) (*mechanisms.Sample, error) {
	users := map[int64]int64{} // by grid index
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	line := 1
	for ; lines.Scan(); line++ {
		for field := range strings.FieldsSeq(lines.Text()) {
			i, err := grid.Parse([]byte(field))
			if err != nil {
				return nil, fmt.Errorf("%s:%d: not a number; want numbers such as 12 or -3.5, or --value COLUMN for CSV", name,
					line)
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
func (c *valueFlags) readCSV(name string, in io.Reader, grid *mechanisms.Grid) (*mechanisms.Sample, error) {
	rows := csv.NewReader(in)
	rows.TrimLeadingSpace = true
	var err error
	if rows.Comma, err = c.Rune(); err != nil {
		return nil, err
	}
	header, err := replay.ReadHeader(rows)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	value, err := header.Find("value", c.Value)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	user := -1
	if c.User != "" {
		if user, err = header.Find("user", c.User); err != nil {
			return nil, fmt.Errorf("%s:%w", name, err)
		}
	}
	var key [16]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	hasher := windows.NewHasher(key)
	bag := windows.NewBag(windows.BagSpec{Groups: []string{""}, MaxGroups: 1, Policy: windows.Policy(c.Contribution),
		Window: windows.Window{Start: 0, End: 1}, Hasher: hasher})
	rows.ReuseRecord = true
	for number := int64(1); ; number++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s:%w", name, replay.LineError(err))
		}
		line, _ := rows.FieldPos(value)
		i, err := grid.Parse([]byte(strings.TrimSpace(row[value])))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: column %s: not a number; want one such as 12 or -3.5", name, line, c.Value)
		}
		id := fmt.Sprint(number)
		if user >= 0 {
			if id = strings.TrimSpace(row[user]); id == "" {
				return nil, fmt.Errorf("%s:%d: column %s is empty; want a user in every row", name, line, c.User)
			}
		}
		bag.Add(hasher.User([]byte(id)), 0, number, i)
	}
	return mechanisms.NewSample(grid, bag.Sample(0)), nil
}
