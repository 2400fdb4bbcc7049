package demo

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// large shows the figure that stands for the stream, in all groups: few lines with a chart of these windows. It is nil
// if lines are too few; all figures are in the table.
func large(windows []picture, lines, width int) []string {
	p := windows[len(windows)-1]
	each := len(p.records) / len(p.stream.Groups)
	main := mainRelease(p.stream)
	high := min(3, (lines-1)/len(p.stream.Groups)) // of a group, with the space below
	if high < 1 {
		return nil
	}
	head := [3]string{"group", p.records[main].Release, "truth"}
	cells, wide := make([][3]string, len(p.stream.Groups)), [3]int{}
	if p.stream.Groups[0] == "" {
		head[0] = ""
	}
	if p.sim == nil {
		head[2] = ""
	}
	for i := range head {
		wide[i] = len(head[i])
	}
	for g, group := range p.stream.Groups {
		r := p.records[g*each+main]
		cells[g] = [3]string{text.Snip(group, 20, "…"), withError(r), ""}
		if p.sim != nil {
			cells[g][2] = record.Grouped(p.sim.truth(r, shiftOf(r)))
		}
		for i, cell := range cells[g] {
			wide[i] = max(wide[i], text.StringWidthWithoutEscSequences(cell))
		}
	}
	row := func(cells [3]string) (line string) {
		for i, cell := range cells {
			if wide[i] > 0 {
				line += text.Pad(cell, wide[i], ' ') + "   "
			}
		}
		return line
	}
	all := []string{text.Faint.Sprint(row(head))}
	room := min(len(windows), width-text.StringWidthWithoutEscSequences(row(head)))
	if room >= 8 {
		all[0] += text.Faint.Sprint("last ", room)
	}
	for g := range cells {
		lines := make([]string, high)
		charts := max(1, high-1)
		lines[charts-1] = row(cells[g])
		for i := range charts - 1 {
			lines[i] = row([3]string{})
		}
		if room >= 8 {
			for i, line := range chart(windows[len(windows)-room:], g*each+main, charts) {
				lines[i] += line
			}
		}
		all = append(all, lines...)
	}
	return all
}

// mainRelease is the place of the figure that stands for a stream: the first that is no count.
func mainRelease(s *config.Stream) int {
	return max(0, slices.IndexFunc(figures(s), func(x record.Series) bool {
		return mechanisms.Statistic(x.Statistic).Family() != mechanisms.OfUsers
	}))
}

// withError writes a private value with its error, such as 120 ms (110–128).
func withError(r outputs.Record) string {
	switch {
	case r.Value == nil:
		return "withheld"
	case r.Quality == record.Quality(mechanisms.Noise):
		return text.Faint.Sprint(cli.NoiseText(r))
	}
	return strings.TrimSpace(text.Bold.Sprint(cli.Value(r)) + " " + cli.BoundInWords(r))
}
