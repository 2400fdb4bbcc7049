package try

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/cmd/louver/internal/generate"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
)

// describe says what was guessed and what is in the file.
func (c *Command) describe(app *cli.App, d draft, e *events) error {
	guessed := func(flag, value string) string {
		if flag != "" {
			return value
		}
		return value + " (guessed)"
	}
	stamp := func(at int64) string { return time.Unix(0, at).UTC().Format("2006-01-02 15:04") }
	var b strings.Builder
	fmt.Fprintf(&b, "This is for those who may see %s: to choose, its values were looked at.\n\n", d.File)
	group := ""
	if d.Columns.Group != "" {
		group = ", group " + guessed(c.Group, d.Columns.Group)
	}
	clock := ""
	if d.Columns.Clock != "" {
		clock = " and " + guessed(c.Clock, d.Columns.Clock)
	}
	value := ", value " + guessed(c.Value, d.Columns.Value)
	if d.Counts() {
		value = ""
	}
	fmt.Fprintf(&b, "  user %s%s, time %s%s%s\n", guessed(c.User, d.Columns.User), value, guessed(c.Time, d.Columns.Time),
		clock, group)
	if c.User == "" && !generate.NamesUser(d.Columns.User) {
		fmt.Fprintf(&b, "  no name of a column says who people are: %s is taken because its values come again, and --user "+
			"takes another\n", d.Columns.User)
	}
	fmt.Fprintf(&b, "  %s of %s, %s to %s\n", cli.Plural(len(e.all), "row"), cli.Plural(len(e.users), "user"),
		stamp(e.first), stamp(e.last))
	if d.Counts() {
		if c.Figure != numberOfEvents {
			fmt.Fprintf(&b, "  no column has numbers to use as values, so events are counted: --value takes one all the same\n")
		}
		fmt.Fprintf(&b, "  one user counts with up to %s in a window, and with more as with so many\n",
			cli.Plural(int(d.Upper.IntPart()), "event"))
	} else {
		fmt.Fprintf(&b, "  values from %s to %s, in steps of %s; beyond a bound they count as the bound\n", d.Lower, d.Upper,
			d.Step)
	}
	if e.cut {
		fmt.Fprintf(&b, "  only the first %s rows were read\n", humanize.Comma(mostEvents))
	}
	if e.skipped > 0 {
		fmt.Fprintf(&b, "  %s\n", c.Skipped(e.skipped, len(e.all)+e.left))
	}
	if e.left > 0 {
		fmt.Fprintf(&b, "  %s left out, %s\n", cli.Plural(e.left, "row"), e.why)
	}
	for _, about := range feed.AboutTimes(e.times, d.Columns.Time, c.TimesFlags) {
		fmt.Fprintf(&b, "  %s\n", about)
	}
	return app.Print(b.String())
}

// show prints the table of plans and some figures of the best one.
func (d draft) show(app *cli.App, found *trial) error {
	rows, best := found.rows, found.best
	head := []string{"window"}
	for _, c := range rows[0] {
		head = append(head, "ε "+c.epsilon.String())
	}
	var cells [][]string
	for _, row := range rows {
		line := []string{config.Duration(row[0].window)}
		for _, c := range row {
			text := fmt.Sprintf("%.0f %%", 100*c.share())
			if c == best {
				text += " ←"
			}
			line = append(line, text)
		}
		cells = append(cells, line)
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "\nThis part of the figures was useful, with ε for each window, in draws with real noise:\n")
	if err := cli.WriteTable(out, app.Width(), head, cells); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s%s%s", best.verdict(), d.worth(found.worth, best.about), found.groups)
	fmt.Fprintf(out, "\nThe last figures, each within its band with a probability of 95 %%:\n")
	head, cells = d.last(best)
	if err := cli.WriteTable(out, app.Width(), head, cells); err != nil {
		return err
	}
	return app.Print(out.String())
}

// verdict says what was chosen, and what it costs: a line for each.
func (c *cell) verdict() string {
	text := fmt.Sprintf("Chosen: windows of %s with ε %s each.\n  %.0f %% of the figures were useful.\n",
		config.Duration(c.window), c.epsilon, 100*c.share())
	text += fmt.Sprintf("  One person can lose %s in any 24 h.\n  That is: %s.\n", c.day, c.day.Odds("somebody was there"))
	if !c.most() {
		text += "  It is the best of those tried. Few users in a window are the usual cause.\n" +
			"  Longer windows or fewer groups help. So does a larger ε, which protects people less.\n"
	}
	return text
}

// worth says which part of each figure about the values was useful, each drawn with the same ε, and which was taken.
func (d draft) worth(shares []float64, chosen about) string {
	var parts []string
	for i, a := range d.abouts() {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", a, 100*shares[i]))
	}
	say := "how large values are"
	if d.Counts() {
		say = "how many events there are, or one user has"
	}
	return fmt.Sprintf("  Useful of the figures that say %s: %s. Chosen: %s.\n", say, strings.Join(parts, ", "), chosen)
}

// last are the last figures, a line for each window and group.
func (d draft) last(c *cell) (head []string, lines [][]string) {
	const most, figuresOfALine = 12, 3
	head = []string{"window from"}
	if len(d.Groups) > 0 {
		head = append(head, d.Columns.Group)
	}
	switch {
	case !d.Counts():
		head = append(head, "users", "above "+d.High.String(), fmt.Sprintf("%s of %s", c.about, d.Columns.Value))
	case c.about == total:
		head = append(head, "users", "above "+d.High.String(), numberOfEvents)
	default:
		head = append(head, "users", "above "+d.High.String(), fmt.Sprintf("%s of a user's events", c.about))
	}
	for line := range slices.Chunk(c.figures, figuresOfALine) {
		cells := []string{line[0].WindowStart.Format("2006-01-02 15:04")}
		if len(d.Groups) > 0 {
			cells = append(cells, line[0].Group)
		}
		for _, f := range line {
			cells = append(cells, text(f))
		}
		lines = append(lines, cells)
	}
	return head, lines[max(0, len(lines)-most):]
}

// text is a figure with its band.
func text(f record.Value) string {
	if f.Quality == "noise" || f.AtMost() {
		return cli.NoiseText(f)
	}
	bound := cli.BoundInWords(f)
	if _, known := f.Band(); !known && bound != "" {
		bound = "(" + bound + ")" // such as percentiles
	}
	return strings.TrimSpace(cli.Value(f) + " " + bound)
}
