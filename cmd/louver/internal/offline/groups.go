package offline

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/groupname"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

// groupFlags say which names to look for.
type groupFlags struct {
	Group     string `for:"groups" group:"groups" placeholder:"COLUMN" help:"Column of the names. A user counts for each of at most --max-groups of their names, which are chosen by chance."`
	MaxGroups int    `rare:"" for:"groups" default:"1" group:"groups" placeholder:"N" help:"For how many names a user counts. Each costs them ε and δ."`
	AtLeast   int64  `rare:"" for:"groups" default:"1" group:"groups" placeholder:"N" help:"A name with fewer users is never found."`
}

// groups prints the names of a file that are found.
func (c *ReleaseCommand) groups(app *cli.App) error {
	m, err := c.finding()
	if err != nil {
		return cli.UsageError(err)
	}
	name, in, err := open(app, c.File, "a CSV file with a header")
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	users, err := c.usersByName(app, name, in)
	if err != nil {
		return err
	}
	found, err := c.find(app.Out, m, users)
	if err == nil && found == 0 {
		app.Say("louver: no group was found. A group of %s is found with a probability of 50 %%, "+
			"one of %s with 95 %%", cli.Plural(m.UsersFor(0.5), "user"), cli.Plural(m.UsersFor(0.95), "user"))
	}
	return err
}

// finding checks the flags.
func (c *ReleaseCommand) finding() (*mechanisms.TruncatedGeometric, error) {
	if err := without("--statistic groups", needed{"--user", c.User, "the column of the users"},
		needed{"--group", c.Group, "the column of the names"}); err != nil {
		return nil, err
	}
	if c.MaxGroups < 1 {
		return nil, fmt.Errorf("--max-groups %d; want at least 1", c.MaxGroups)
	}
	return c.Groups(c.Epsilon.Decimal, c.AtLeast)
}

// usersByName counts the users of each name.
//
// Privacy: a user counts at most once for each of at most --max-groups names, those of the least keyed hash, and so
// changes that many counts by 1. Which names those are depends on the user's own rows alone, and the key.
func (c *ReleaseCommand) usersByName(app *cli.App, file string, in io.Reader) (map[string]int64, error) {
	type row struct {
		user windows.UserHash
		name int
	}
	text, err := replay.Text(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	hasher, err := newHasher()
	if err != nil {
		return nil, err
	}
	var (
		rows  []row
		names []string
		index = map[string]int{}
		left  = &leftOut{file: file, where: c.where()}
	)
	err = c.eachRow(file, text, "group", c.Group, left, func(r fileRow) string {
		name, err := groupname.Canonical([]byte(r.field))
		if err != nil {
			return fmt.Sprintf("column %s: %v", c.Group, err)
		}
		i, known := index[string(name)]
		if !known {
			i = len(names)
			names = append(names, string(name))
			index[names[i]] = i
		}
		rows = append(rows, row{hasher.User([]byte(r.user)), i})
		return ""
	})
	if err != nil {
		return nil, err
	}
	if left.skipped > 0 && len(rows) == 0 {
		return nil, left.err()
	}
	left.say(app)
	if len(rows) == 0 {
		app.Say("louver: %s holds no users (this line is not private: do not publish it)", file)
	}
	bag := windows.NewBag(windows.BagSpec{Groups: names, MaxGroups: c.MaxGroups, Policy: windows.Last,
		Window: windows.Window{Start: 0, End: 1}, Hasher: hasher})
	for _, r := range rows {
		bag.Put(r.user, r.name, 0, 0)
	}
	users := map[string]int64{}
	bag.Visit(func(_ windows.UserHash, seen []windows.Contribution) {
		for _, s := range seen {
			users[names[s.Group]]++
		}
	})
	return users, nil
}

// foundGroup is a name that was found, in JSON, with the names of an output record.
type foundGroup struct {
	Group     string `json:"group"`
	Statistic string `json:"statistic"`
	Mechanism string `json:"mechanism"`
	Value     int64  `json:"value"`
	Threshold int64  `json:"threshold"`
	Error     int64  `json:"error_95"`
	*record.BandFields
	Epsilon json.Number `json:"epsilon"`
	Delta   json.Number `json:"delta"`
}

// find draws for each name, in their order by bytes, and prints what is found.
func (c *ReleaseCommand) find(out io.Writer, m *mechanisms.TruncatedGeometric,
	users map[string]int64) (found int, err error) {
	promise := m.Promise()
	for _, name := range slices.Sorted(maps.Keys(users)) {
		value, published, err := m.Draw(users[name], rand.Reader)
		switch {
		case err != nil:
			return found, err
		case !published:
			continue
		case c.JSON:
			err = json.NewEncoder(out).Encode(foundGroup{name, c.Statistic, m.Name(), value, m.Threshold(), m.Error95(),
				bandOfUsers(decimal.NewFromInt(value), decimal.NewFromInt(m.Error95())).Fields(),
				json.Number(promise.Epsilon.String()), json.Number(promise.Delta.String())})
		default:
			_, err = fmt.Fprintf(out, "%d %s\n", value, name)
		}
		if found++; err != nil {
			return found, err
		}
	}
	return found, nil
}
