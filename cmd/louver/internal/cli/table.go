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

// WriteTable writes a table. If it would be wider than width, its cells wrap between words. Words stay whole, so that
// names can be copied: a table of long words may be too wide.
func WriteTable(w io.Writer, width int, head []string, rows [][]string) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault // an ε in capitals looks like an E
	t.SetStyle(style)
	t.SetColumnConfigs(folded(width, append([][]string{head}, rows...)))
	t.AppendHeader(cells(head))
	for _, r := range rows {
		t.AppendRow(cells(r))
	}
	_, err := io.WriteString(w, strings.ReplaceAll(t.Render(), tie, " ")+"\n")
	return err
}

func cells(row []string) (r table.Row) {
	for _, c := range row {
		r = append(r, c)
	}
	return r
}

// folded gives each column a width. Columns that can wrap shrink, the widest first: at first those whose head alone is
// wide. The first row is the head.
func folded(width int, rows [][]string) []table.ColumnConfig {
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
	shrink(wide, least, width)
	var configs []table.ColumnConfig
	for i, n := range wide {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: n, WidthMaxEnforcer: text.WrapSoft})
	}
	return configs
}

// shrink makes columns narrower until they fit, the widest first, and none narrower than its least width.
func shrink(wide, least []int, width int) {
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
			return
		}
		wide[widest]--
	}
}
