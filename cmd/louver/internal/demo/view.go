package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
)

// view is the content of the screen, drawn by String.
type view struct {
	width, height int
	now           time.Time
	status        string // what goes on before the first figures
	addresses     []string
	text          sceneText
	pictures      []picture // the newest last
	page          int
	guesses       guesses
	// first and last are the first and the last window, of seen in all.
	first, last picture
	seen        int
}

// guesses are the viewer's guesses about Robin.
type guesses struct {
	made         bool // for the window shown
	said         bool
	right, total int
}

const (
	leastWidth, leastHeight = 50, 16
	mostHistory             = 60
)

// add shows the next window. It does not show a torn one, because the missing events would look like data.
func (v *view) add(p picture) {
	if v.seen++; v.seen == 1 {
		v.first = p
	}
	v.last = p
	if p.sim != nil && p.sim.torn {
		v.status = fmt.Sprintf("The window that ended at %s is left out: this process was too slow.",
			p.end.Format(time.TimeOnly))
		return
	}
	v.status = ""
	v.guesses.made = false
	v.pictures = append(v.pictures, p)
	if n := len(v.pictures); n > mostHistory {
		v.pictures = v.pictures[n-mostHistory:]
	}
}

// guess takes the viewer's guess for the window shown.
func (v *view) guess(yes bool) {
	if !v.text.guess || v.guesses.made || len(v.pictures) == 0 {
		return
	}
	g := &v.guesses
	g.made, g.said = true, yes
	g.total++
	if v.newest().sim.robin == yes {
		g.right++
	}
}

func (v *view) newest() picture { return v.pictures[len(v.pictures)-1] }

// String is the screen's text, at most height lines of at most width characters.
func (v *view) String() string {
	switch {
	case v.width == 0:
		return ""
	case v.width < leastWidth || v.height < leastHeight:
		return v.fitted(v.wrapped(fmt.Sprintf("This terminal has %d × %d characters, but the demo needs %d × %d. For "+
			"plain lines: louver demo | cat",
			v.width, v.height, leastWidth, leastHeight)))
	case len(v.pictures) == 0:
		return v.fitted(append(v.wrapped("Louver demo: private statistics on an embedded Kafka broker"), "",
			v.status+" …"))
	}
	head, foot := v.head(), v.foot()
	room := v.height - len(head) - len(foot) - 2
	tables, body := pagesOf(v.newest().stream, room), large(v.pictures, room-1, v.width)
	pages, first := len(tables), 0
	if body != nil {
		pages, first = pages+1, 1
	}
	v.page = (v.page%pages + pages) % pages
	if v.page >= first {
		body = strings.Split(tableOf(v.pictures, tables[v.page-first], v.width), "\n")
	} else {
		body = append([]string{""}, body...)
		if more := v.newest().cheaper(); v.fits(more, len(head)+len(body)+len(foot)+2) {
			body = append(body, append(more, "")...)
		}
	}
	lines := slices.Concat(head, body)
	foot = append(foot, v.keys(pages))
	for space := v.height - len(lines) - len(foot); space > 0 && pages > 1; space-- {
		lines = append(lines, "") // with several pages the foot stays in place
	}
	return v.fitted(append(lines, foot...))
}

// fits says whether there is room for more lines besides that many others.
func (v *view) fits(more []string, others int) bool {
	for _, l := range more {
		if text.StringWidthWithoutEscSequences(l) > v.width {
			return false
		}
	}
	return others+len(more) <= v.height
}

// fitted cuts lines that do not fit.
func (v *view) fitted(lines []string) string {
	lines = lines[:min(len(lines), v.height)]
	for i, l := range lines {
		lines[i] = strings.TrimRight(text.Trim(l, v.width), " ")
	}
	return strings.Join(lines, "\n")
}

func (v *view) wrapped(s string) []string { return strings.Split(text.WrapSoft(s, v.width), "\n") }

func (v *view) head() (lines []string) {
	clock := v.now.UTC().Format(time.TimeOnly) + " UTC"
	title := text.Snip(v.text.title, v.width-len(clock)-1, "…")
	lines = append(lines, text.Bold.Sprint(text.Pad(title, v.width-len(clock), ' '))+text.Faint.Sprint(clock))
	lines = append(lines, v.wrapped(v.text.remark)...)
	return append(lines, v.wrapped(v.windowLine())...)
}

func (v *view) windowLine() string {
	p := v.newest()
	if v.text.windows > 0 {
		end := ""
		if p.count == v.text.windows {
			end = ". The file ends here."
		}
		return fmt.Sprintf("Window %d of %d: %s – %s UTC%s", p.count, v.text.windows, p.start.Format(v.text.layout),
			p.end.Format(v.text.layout), end)
	}
	line := fmt.Sprintf("Window %s–%s. The next one closes at %s.", p.start.Format(time.TimeOnly),
		p.end.Format(time.TimeOnly), p.end.Add(p.stream.Window.Every).Format(time.TimeOnly))
	if v.status != "" {
		line = v.status
	}
	return line
}

func (v *view) foot() (lines []string) {
	p := v.newest()
	if v.text.news != nil {
		news, alarm := v.text.news(p, v.now.UTC())
		for _, l := range v.wrapped(news) {
			if alarm {
				l = text.Colors{text.Bold, text.FgYellow}.Sprint(l)
			}
			lines = append(lines, l)
		}
	}
	one := p.loss()
	odds := "A guess whether somebody took part is right at most %s times in 100 (%s)."
	if v.text.guess {
		lines = append(lines, v.wrapped(v.question())...)
		odds = "Even if you know everyone else, at most %s of 100 guesses are right (%s)."
	}
	lines = append(lines, v.wrapped(fmt.Sprintf(odds, hundredths(one.Guess()), one))...)
	windows := fmt.Sprintf("all %d windows", p.count)
	if p.count == 1 {
		windows = "this window"
	}
	return append(lines, v.wrapped(fmt.Sprintf("A user in %s has lost at most ε %s; the limit is ε %s%s.", windows,
		p.lost, p.stream.Budget.Epsilon, period(p.stream)))...)
}

// hundredths writes a probability as a number of 100, rounded up. It tells certain from nearly certain.
func hundredths(p float64) string {
	text := strings.TrimSuffix(cli.Certainty(p), " %")
	if p < 0.99 {
		text = fmt.Sprintf("%.0f", math.Ceil(100*p))
	}
	return text
}

// period says how long a budget counts.
func period(s *config.Stream) string {
	if s.Budget.Per == 0 {
		return ""
	}
	return " per " + config.Duration(s.Budget.Per)
}

// question asks what Robin did, or tells it.
func (v *view) question() string {
	g := v.guesses
	score := ""
	if g.total > 0 {
		score = fmt.Sprintf(" Right so far: %d of %d.", g.right, g.total)
	}
	if !g.made {
		return "Did Robin from eu call now? A coin decided. Guess: y or n." + score
	}
	answer := "Robin did not call"
	if v.newest().sim.robin {
		answer = "Robin called"
	}
	if g.said == v.newest().sim.robin {
		return "Right: " + answer + "." + score
	}
	return "Wrong: " + answer + "." + score
}

// keys is the last line.
func (v *view) keys(pages int) string {
	var parts []string
	if pages > 1 {
		parts = append(parts, fmt.Sprintf("←→ page %d of %d", v.page+1, pages))
	}
	parts = append(parts, "Ctrl-C quits")
	if len(v.addresses) > 0 {
		address := "http://" + v.addresses[0]
		if v.text.guess {
			address = "other ε: " + address + "/#/demo"
		}
		parts = append(parts, address)
	}
	return text.Faint.Sprint(strings.Join(parts, " · "))
}
