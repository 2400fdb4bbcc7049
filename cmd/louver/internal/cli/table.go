package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// usualWidth is the width of tables if that of the terminal is unknown.
const usualWidth = 80

// Width is how many characters fit on a line of the output: the terminal's width, or else COLUMNS.
func (a *App) Width() int {
	if f, ok := a.Out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return usualWidth
}

// IsScreen reports whether a file is a terminal whose lines can be redrawn.
func IsScreen(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// WriteTable writes a table. If it would be wider than width, its cells wrap between words. Words and times stay whole,
// so that names can be copied. A table that is too wide even so is written as a list: a block for each row, with a line
// for each cell.
func WriteTable(w io.Writer, width int, head []string, rows [][]string) error {
	configs, fits := folded(width, append([][]string{head}, rows...))
	if !fits {
		return writeList(w, width, head, rows)
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault // an ε in capitals looks like an E
	t.SetStyle(style)
	t.SetColumnConfigs(configs)
	t.AppendHeader(cells(head))
	for _, r := range rows {
		t.AppendRow(cells(r))
	}
	_, err := io.WriteString(w, strings.ReplaceAll(t.Render(), tie, " ")+"\n")
	return err
}

// writeList writes each row as a block of lines, each of which begins with the head of its column. Empty cells have
// none.
func writeList(w io.Writer, width int, head []string, rows [][]string) error {
	const indent = "  "
	widest := 0
	for _, name := range head {
		widest = max(widest, text.StringWidth(name))
	}
	var out strings.Builder
	for _, r := range rows {
		for i, name := range head {
			if r[i] == "" {
				continue
			}
			line := text.Pad(indent+name, len(indent)+widest, ' ') + indent + r[i]
			if i == 0 {
				line = text.Pad(name, len(indent)+widest, ' ') + indent + r[i]
			}
			if text.StringWidth(line) > width {
				line = indent + name + "\n" + indent + indent + r[i]
			}
			out.WriteString(strings.ReplaceAll(line, tie, "\u00a0") + "\n")
		}
	}
	_, err := io.WriteString(w, strings.ReplaceAll(foldLines(out.String(), width), "\u00a0", " "))
	return err
}

func cells(row []string) (r table.Row) {
	for _, c := range row {
		r = append(r, c)
	}
	return r
}

// folded gives each column a width, and reports whether all of them fit. Columns that can wrap shrink, the widest
// first: at first those whose head alone is wide. The first row is the head.
func folded(width int, rows [][]string) (configs []table.ColumnConfig, fits bool) {
	wide, least, cells := make([]int, len(rows[0])), make([]int, len(rows[0])), make([]int, len(rows[0]))
	for k, r := range rows {
		for i, c := range r {
			wide[i] = max(wide[i], text.StringWidth(c))
			if k > 0 {
				cells[i] = max(cells[i], text.StringWidth(c))
			}
			for word := range strings.FieldsSeq(c) {
				least[i] = max(least[i], text.StringWidth(word))
			}
		}
	}
	for i := range cells {
		cells[i] = max(cells[i], least[i])
	}
	shrink(wide, cells, width)
	fits = shrink(wide, least, width)
	for i, n := range wide {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: n, WidthMaxEnforcer: text.WrapSoft})
	}
	return configs, fits
}

// shrink makes columns narrower until they fit, the widest first, and none narrower than its least width. It reports
// whether they fit then.
func shrink(wide, least []int, width int) bool {
	total := 1
	for _, n := range wide {
		total += n + 3 // spaces and a line
	}
	for ; total > width; total-- {
		widest := -1
		for i := range wide {
			if wide[i] > least[i] && (widest < 0 || wide[i] > wide[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		wide[widest]--
	}
	return true
}
