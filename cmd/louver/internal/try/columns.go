package try

import (
	"errors"
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
// leave a choice, by a look at the values.
func complete(c replay.Columns, look *replay.Look) (replay.Columns, error) {
	var fields []shape.Field
	for _, column := range look.Columns {
		fields = append(fields, column.Field)
	}
	if !slices.ContainsFunc(look.Columns, func(c replay.Column) bool { return c.Filled > 0 }) {
		return c, feed.FileError(errors.New("the file has no events; want at least one below the header"))
	}
	g := guesser{look: look, Guess: generate.Candidates(fields), taken: []string{c.User, c.Value, c.Time, c.Group}}
	for _, part := range []struct {
		flag, what string
		to         *string
		guess      func() string
	}{
		{"--time", "times, such as 2026-11-20T08:00:00Z", &c.Time, g.time},
		{"--user", "users: somebody's id, the same in each of their rows", &c.User, g.user},
		{"--value", "numbers", &c.Value, g.value},
	} {
		if *part.to != "" {
			continue
		}
		if *part.to = part.guess(); *part.to == "" {
			without := ""
			if part.to == &c.Time {
				without = ". Figures of a file without times: louver help release"
			}
			return c, cli.UsageError(fmt.Errorf("no column looks like one of %s; want %s with one of %s%s", part.what,
				part.flag, strings.Join(g.names(), ", "), without))
		}
		g.taken = append(g.taken, *part.to)
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

// first returns the first free column that fits, among those named if there is one, and else among all.
func (g *guesser) first(named []string, fits func(replay.Column) bool) string {
	for _, anywhere := range []bool{false, true} {
		for _, c := range g.free() {
			if (anywhere || slices.Contains(named, c.Path)) && fits(c) {
				return c.Path
			}
		}
	}
	return ""
}

// time is a column of times from 1990 on.
func (g *guesser) time() string {
	return g.first(g.Times, func(c replay.Column) bool { return 2*c.Times > c.Filled })
}

// value is a column of different numbers.
func (g *guesser) value() string {
	numbers := func(c replay.Column) bool { return 2*c.Numbers > c.Filled && c.Distinct > 1 }
	if path := g.first(g.Measured(), func(c replay.Column) bool {
		return numbers(c) && slices.Contains(g.Measured(), c.Path)
	}); path != "" {
		return path
	}
	return g.first(nil, numbers)
}

// user is a column of ids that come again. Of several, it is the one with the most of them.
func (g *guesser) user() string {
	ids := func(of func(c replay.Column) bool) (best string) {
		most := 0
		for _, c := range g.free() {
			if of(c) && c.Distinct > most {
				best, most = c.Path, c.Distinct
			}
		}
		return best
	}
	again := func(c replay.Column) bool { return c.Distinct < c.Filled && c.Distinct > 1 && 2*c.Times <= c.Filled }
	for _, of := range []func(replay.Column) bool{
		func(c replay.Column) bool { return slices.Contains(g.Users, c.Path) },
		func(c replay.Column) bool { return again(c) && generate.Identifies(c.Path) },
		func(c replay.Column) bool { return again(c) && c.Type != shape.Number },
		func(c replay.Column) bool { return generate.Identifies(c.Path) },
	} {
		if path := ids(of); path != "" {
			return path
		}
	}
	return ""
}
