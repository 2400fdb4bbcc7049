package try

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/cmd/louver/internal/generate"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/stream/shape"
)

// complete fills in the columns that no flag names: by names and types as `louver init` guesses them, and where these
// leave a choice, by a look at the values. If events are counted, or no column has numbers that measure something,
// there is no column of values.
func complete(name string, c replay.Columns, look *replay.Look, counts bool) (replay.Columns, error) {
	var fields []shape.Field
	for _, column := range look.Columns {
		fields = append(fields, column.Field)
	}
	if !slices.ContainsFunc(look.Columns, func(c replay.Column) bool { return c.Filled > 0 }) {
		return c, feed.FileError(fmt.Errorf("%s: the file has no events; want at least one below the header", name))
	}
	g := guesser{look: look, Guess: generate.Candidates(fields),
		taken: []string{c.User, c.Value, c.Time, c.Clock, c.Group}}
	for _, part := range []struct {
		flag, what string
		to         *string
		guess      func() string
	}{
		{"--time", "times, such as 2026-11-20T08:00:00Z", &c.Time, g.time},
		{"--user", "users: somebody's id, the same in each of their rows", &c.User, g.user},
	} {
		if *part.to != "" {
			continue
		}
		if *part.to = part.guess(); *part.to == "" {
			want := fmt.Sprintf("%s with one of %s", part.flag, strings.Join(g.names(), ", "))
			if part.to == &c.Time {
				want += ". Figures of a file without times: louver help release"
			}
			return c, cli.UsageError(fmt.Errorf("%s: no column looks like one of %s; want %s", name, part.what, want))
		}
		g.taken = append(g.taken, *part.to)
		if part.to == &c.Time && c.Clock == "" {
			c.Clock = g.clock(c.Time)
			g.taken = append(g.taken, c.Clock)
		}
	}
	if c.Value == "" && !counts {
		c.Value = g.value()
	}
	return c, nil
}

const (
	// mostGuessed is how many different values a guessed column of groups has at most at the beginning of the file, and
	// rowsOfGroup how many rows there are for each of them at least.
	mostGuessed, rowsOfGroup = 12, 50
)

// groupName are usual names of columns that say of what kind something is.
var groupName = regexp.MustCompile(`(?i)(^|[._-])(region|country|continent|group|section|category|segment|type|kind|` +
	`method|status|platform|device|os|browser|city|state|carrier|airline|origin|genre|plan|tier|store|shop|department|` +
	`channel|language|gender|sex|class)([._-]|$)`)

// group guesses the column of the groups: one of a few different texts, with something in every row. Of several, it is
// the first whose name says so, or else the one with the fewest.
func group(c replay.Columns, look *replay.Look) string {
	g := guesser{look: look, taken: []string{c.User, c.Value, c.Time, c.Clock}}
	rows := 0
	for _, column := range look.Columns {
		rows = max(rows, column.Filled)
	}
	best, fewest := "", mostGuessed+1
	for _, column := range g.free() {
		if column.Type != shape.String || column.Filled < rows || column.Distinct < 2 || column.Distinct > mostGuessed ||
			rows < rowsOfGroup*column.Distinct || column.Times > 0 || generate.Identifies(column.Path) {
			continue
		}
		if groupName.MatchString(column.Path) {
			return column.Path
		}
		if column.Distinct < fewest {
			best, fewest = column.Path, column.Distinct
		}
	}
	return best
}

// guesser guesses columns.
type guesser struct {
	generate.Guess
	look  *replay.Look
	taken []string // for other parts
}

func (g *guesser) names() (all []string) {
	for _, c := range g.free() {
		all = append(all, c.Path)
	}
	return all
}

// free are the columns that can still be chosen.
func (g *guesser) free() (all []replay.Column) {
	for _, c := range g.look.Columns {
		if !c.Hidden && c.Filled > 0 && !slices.Contains(g.taken, c.Path) {
			all = append(all, c)
		}
	}
	return all
}

// column says whether a column is one that is looked for.
type column = func(replay.Column) bool

// first returns the first free column of which the first possible wish is true.
func (g *guesser) first(wishes ...column) string {
	for _, wish := range wishes {
		for _, c := range g.free() {
			if wish(c) {
				return c.Path
			}
		}
	}
	return ""
}

// time is a column of times from 1990 on.
func (g *guesser) time() string {
	times := func(c replay.Column) bool { return 2*c.Times > c.Filled }
	return g.first(func(c replay.Column) bool { return times(c) && slices.Contains(g.Times, c.Path) }, times)
}

// clock is the column of the time of day, or of the hour, if that of the time has dates alone.
func (g *guesser) clock(time string) string {
	dates := func(c replay.Column) bool { return c.Path == time && c.Dates == c.Times && c.Dates > 0 }
	if !slices.ContainsFunc(g.look.Columns, dates) {
		return ""
	}
	return g.first(func(c replay.Column) bool { return 2*c.Clocks > c.Filled }, func(c replay.Column) bool {
		return strings.EqualFold(c.Path, "hour") && c.Type == shape.Number && c.Places == 0 && c.Distinct <= 24
	})
}

// value is a column of different numbers: of those with usual names, the one whose name says most. One that mostly
// repeats one number comes after the others. Numbers that are only names for something, such as a status, are no
// values.
func (g *guesser) value() string {
	numbers := func(c replay.Column) bool { return 2*c.Numbers > c.Filled && c.Distinct > 1 }
	varied := func(c replay.Column) bool { return numbers(c) && 2*c.Most <= c.Filled }
	candidate := func(c replay.Column) bool { return slices.Contains(g.Values, c.Path) && !codeName.MatchString(c.Path) }
	var wishes []column
	for _, path := range g.Measured() {
		wishes = append(wishes, func(c replay.Column) bool { return varied(c) && candidate(c) && c.Path == path })
	}
	return g.first(append(wishes, func(c replay.Column) bool { return varied(c) && candidate(c) },
		func(c replay.Column) bool { return numbers(c) && candidate(c) })...)
}

// codeName are names of numbers with which nobody reckons.
var codeName = regexp.MustCompile(`(?i)(^|[ ._-])(status|code|zip|port|version|lat|lon|latitude|longitude|phone)([ ._-]|$)`)

// user is a column of ids that come again. Of several, it is the one with the most of them. The id of a thing, such as
// an order, is taken only if there is nothing else. The last resort is a text that is the same in all rows that were
// looked at: such files are sorted by it.
func (g *guesser) user() string {
	again := func(c replay.Column) bool {
		return c.Distinct < c.Filled && c.Distinct > 1 && 2*c.Times <= c.Filled && c.Places == 0
	}
	person := func(c replay.Column) bool { return again(c) && !generate.IsThing(c.Path) }
	for _, wish := range []column{
		func(c replay.Column) bool { return slices.Contains(g.Users, c.Path) },
		func(c replay.Column) bool { return person(c) && generate.Identifies(c.Path) },
		func(c replay.Column) bool { return person(c) && c.Type != shape.Number },
		func(c replay.Column) bool { return again(c) && generate.Identifies(c.Path) },
		func(c replay.Column) bool { return again(c) && c.Type != shape.Number },
		func(c replay.Column) bool { return generate.Identifies(c.Path) },
		func(c replay.Column) bool { return c.Distinct == 1 && c.Filled > 1 && c.Type == shape.String },
	} {
		best, most := "", 0
		for _, c := range g.free() {
			if wish(c) && c.Distinct > most {
				best, most = c.Path, c.Distinct
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}
