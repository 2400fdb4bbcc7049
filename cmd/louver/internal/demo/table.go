package demo

import (
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// span is a part of a stream's groups.
type span struct{ from, to int }

// pagesOf divides a stream's groups into pages of this many lines, with at least one group each.
func pagesOf(s *config.Stream, lines int) (pages []span) {
	each := len(series(s)) / len(s.Groups)
	fit := max(1, lines/each)
	for from := 0; from < len(s.Groups); from += fit {
		pages = append(pages, span{from, min(from+fit, len(s.Groups))})
	}
	return pages
}

// tableOf shows the groups of a page in the newest of some windows.
func tableOf(windows []picture, page span, width int) string {
	p := windows[len(windows)-1]
	each := len(p.records) / len(p.stream.Groups)
	t := table.NewWriter()
	t.SetStyle(table.StyleDefault)
	style := t.Style()
	style.Options, style.Format.Header = table.OptionsNoBordersAndSeparators, text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	grouped, sim := len(p.stream.Groups) > 1 || p.stream.Groups[0] != "", p.sim != nil
	columns := []column{
		{name: "group", shown: grouped, most: 14},
		{name: "figure", shown: true, most: 14},
		{name: "private", shown: true, right: true},
		{name: "error", shown: true, right: true},
		{name: "truth", shown: sim, right: true},
		{name: "off", shown: sim && width >= 70, right: true},
	}
	head, configs := table.Row{}, []table.ColumnConfig{}
	for _, c := range columns {
		if !c.shown {
			continue
		}
		head = append(head, c.name)
		config := table.ColumnConfig{Number: len(head), ColorsHeader: text.Colors{text.Faint}}
		if c.right {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, config)
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for i := page.from * each; i < page.to*each; i++ {
		r := p.records[i]
		value := text.Bold.Sprint(measured(r))
		if r.Quality == record.Quality(mechanisms.Noise) {
			value = text.Faint.Sprint("noise")
		}
		group := ""
		if i%each == 0 {
			group = r.Group
		}
		truth, off := "", ""
		if sim {
			truth, off = record.Grouped(p.sim.truth(r, shiftOf(r))), p.sim.off(r)
		}
		var row table.Row
		for k, cell := range []string{group, label(p.stream, r), value, shortError(r), truth, off} {
			if !columns[k].shown {
				continue
			}
			if most := columns[k].most; most > 0 {
				cell = text.Snip(cell, most, "…")
			}
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	lines := strings.Split(t.Render(), "\n")
	history(lines, windows, page.from*each, width)
	return strings.Join(lines, "\n")
}

type column struct {
	name  string
	shown bool
	right bool
	most  int // characters; 0 means any number
}

// history appends a chart of the last windows if there is room. The first line is the head.
func history(lines []string, windows []picture, first, width int) {
	room := width - text.StringWidthWithoutEscSequences(lines[0])
	if room < 8 {
		return
	}
	room = min(room, len(windows))
	lines[0] += text.Faint.Sprint("last ", room)
	for i := 1; i < len(lines); i++ {
		lines[i] += chart(windows[len(windows)-room:], first+i-1, 1)[0]
	}
}

// chart draws a series in rows, from 0 up. Usual values are below half the height, so that small changes look small.
// Noise is a dot, whatever its value.
func chart(pictures []picture, series, rows int) []string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	values := levels(pictures, series)
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(known)
	lines := make([]strings.Builder, rows)
	for _, x := range values {
		level, mark := 0, "·"
		if !math.IsNaN(x) {
			top := max(known[len(known)-1], 2.2*known[(len(known)-1)/2])
			if top <= 0 {
				top = 1
			}
			level, mark = 1+min(8*rows-1, max(0, int(x/top*float64(8*rows)))), ""
		}
		for i := range lines {
			piece := string(blocks[min(8, max(0, level-8*(rows-1-i)))])
			if mark != "" && i == rows-1 {
				piece = mark
			}
			lines[i].WriteString(piece)
		}
	}
	all := make([]string, rows)
	for i := range lines {
		all[i] = lines[i].String()
	}
	return all
}

// levels are the values of a series, with NaN for noise, but as long as nothing changes beyond noise they are the mean
// of what did not change: so a rough figure does not jump about. A value is a change if it lies more than twice as far
// from the mean so far as its band reaches. For bands of 95 % and even noise this is 3.9 standard deviations from the
// truth, and some 2.8 from a mean of one value alone: nothing but noise does that in 1 of 180 windows at most.
func levels(pictures []picture, series int) []float64 {
	values := make([]float64, len(pictures))
	sum, first, n := 0., 0, 0 // of the stretch in which nothing has changed
	for i, p := range pictures {
		values[i] = math.NaN()
		r := p.records[series]
		if r.Value == nil || r.Quality == record.Quality(mechanisms.Noise) {
			continue
		}
		x, err := r.Value.Float64()
		if err != nil {
			continue
		}
		if b, ok := r.Band(); n > 0 && (!ok || sum/float64(n) < x-2*(x-b.Low) || sum/float64(n) > x+2*(b.High-x)) {
			sum, first, n = 0, i, 0
		}
		sum, n, values[i] = sum+x, n+1, x
		for j := first; j <= i; j++ {
			if !math.IsNaN(values[j]) {
				values[j] = sum / float64(n)
			}
		}
	}
	return values
}

// label names a figure, and says what a count or share counts.
func label(s *config.Stream, r outputs.Record) string {
	for _, x := range figures(s) {
		switch {
		case x.Name != r.Release:
		case x.Above != nil:
			return r.Release + " >" + x.Above.String()
		case x.Below != nil:
			return r.Release + " <" + x.Below.String()
		}
	}
	return r.Release
}

// short writes a number with one place behind the point, and a share with three.
func short(d decimal.Decimal) string {
	if d.Abs().LessThan(decimal.NewFromInt(1)) {
		return d.Round(3).String()
	}
	return d.Round(1).String()
}

// shiftOf is by how many places the point of a figure moves where people read it: a share is in percent.
func shiftOf(r outputs.Record) int32 {
	if r.Unit != r.InPercent().Unit {
		return 2
	}
	return 0
}

// measured writes a private value with its unit.
func measured(r outputs.Record) string {
	if r.Value == nil {
		return "withheld"
	}
	r = r.InPercent()
	value := r.Value.String()
	if d, err := decimal.NewFromString(value); err == nil {
		value = record.Grouped(short(d))
	}
	if r.Unit == "" || r.Unit == "users" {
		return value
	}
	return value + " " + r.Unit
}

// shortError is what the table says of a value's error.
func shortError(r outputs.Record) string {
	bound := strings.ReplaceAll(cli.Bound(r), "± ", "±")
	if r.Value != nil && bound == "" {
		return "no band"
	}
	return bound
}

// off writes the difference between a private value and the truth.
func (s *simulated) off(r outputs.Record) string {
	truth, ok := s.figures[r.Group+"/"+r.Release]
	if !ok || r.Value == nil || r.Quality == record.Quality(mechanisms.Noise) {
		return ""
	}
	d, err := decimal.NewFromString(r.Value.String())
	if err != nil {
		return ""
	}
	by := d.Sub(truth).Shift(shiftOf(r))
	text := record.Grouped(short(by))
	if shiftOf(r) > 0 {
		text = by.Round(1).String() // percent
	}
	if d.GreaterThan(truth) {
		return "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}
