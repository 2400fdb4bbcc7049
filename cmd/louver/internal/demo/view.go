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
	broker        string // its address
	served        bool   // the first address is that of the page
	text          sceneText
	pictures      []picture // the newest last
	page          int
	guesses       guesses
	// first and last are the first and the last window, of seen in all.
	first, last picture
	seen        int
}

// guesses are the viewer's guesses about Robin. A question stays until it is answered: windows may last a second.
type guesses struct {
	asked        picture // the window in question
	answer       string  // to the last guess; "" before the first
	right, total int
}

const (
	leastWidth, leastHeight = 50, 16
	mostHistory             = 60
)

// add shows the next window.
func (v *view) add(p picture) {
	if v.seen++; v.seen == 1 {
		v.first = p
	}
	v.last = p
	v.status = ""
	if v.guesses.asked.sim == nil {
		v.guesses.asked = p
	}
	v.pictures = append(v.pictures, p)
	if n := len(v.pictures); n > mostHistory {
		v.pictures = v.pictures[n-mostHistory:]
	}
}

// guess takes the viewer's guess, and asks about the window shown.
func (v *view) guess(yes bool) {
	if !v.text.guess || len(v.pictures) == 0 {
		return
	}
	g := &v.guesses
	called := g.asked.sim.robin
	g.answer = "Wrong"
	if g.total++; called == yes {
		g.right++
		g.answer = "Right"
	}
	if g.answer += ": Robin did not call."; called {
		g.answer = strings.Replace(g.answer, "did not call", "called", 1)
	}
	g.asked = v.newest()
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
	body, pages := v.body(room)
	lines := slices.Concat(head, body)
	foot = append(foot, v.keys(pages))
	for space := v.height - len(lines) - len(foot); space > 0 && pages > 1; space-- {
		lines = append(lines, "") // with several pages the foot stays in place
	}
	return v.fitted(append(lines, foot...))
}

// body shows the figures in so many lines: on one page if there is room for everything, else on one of several.
func (v *view) body(room int) (body []string, pages int) {
	s := v.newest().stream
	rows := len(series(s)) + 1
	if most := room - rows - 2; most > 2*len(s.Groups) {
		body = slices.Concat([]string{""}, large(v.pictures, most, v.width), []string{""},
			strings.Split(tableOf(v.pictures, span{0, len(s.Groups)}, v.width), "\n"), []string{""})
		if v.text.beside != nil {
			for _, l := range v.text.beside() {
				body = append(body, v.wrapped(l)...)
			}
		}
		return body, 1
	}
	tables := pagesOf(s, room)
	body = large(v.pictures, room-1, v.width)
	first := 0
	if body != nil {
		first = 1
	}
	pages = len(tables) + first
	v.page = (v.page%pages + pages) % pages
	if v.page >= first {
		return strings.Split(tableOf(v.pictures, tables[v.page-first], v.width), "\n"), pages
	}
	return append([]string{""}, body...), pages
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
	if v.text.day > 0 {
		clock = "demo's clock: " + v.now.UTC().Format("Mon "+minutes)
	}
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
	return fmt.Sprintf("Window %s–%s. A new one every %s; a day takes %s.", p.start.Format(minutes),
		p.end.Format(minutes), config.Duration(p.stream.Window.Every), config.Duration(v.text.day))
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
	odds := fmt.Sprintf("A guess whether somebody took part is right at most %s times in 100 (%s).",
		hundredths(one.Guess()), one)
	if v.text.guess {
		lines = append(lines, v.wrapped(v.question())...)
		odds = fmt.Sprintf("Even if you know everyone else, at most %s of 100 guesses are right.",
			hundredths(one.Guess()))
	}
	lines = append(lines, v.wrapped(odds)...)
	if p.inPeriod != nil && p.stream.Budget.Per > 0 {
		return append(lines, v.wrapped(fmt.Sprintf("In the last %s a user has lost at most ε %s; the limit is ε %s.",
			config.Duration(p.stream.Budget.Per), p.inPeriod.RoundUp(2), p.stream.Budget.Epsilon))...)
	}
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

// question tells the answer to the last guess, and asks what Robin did.
func (v *view) question() string {
	g := v.guesses
	asks := fmt.Sprintf("Did Robin from eu call from %s to %s? A coin decided. Guess: y or n.",
		g.asked.start.Format(minutes), g.asked.end.Format(minutes))
	if g.total == 0 {
		return asks
	}
	return fmt.Sprintf("%s %d of %d right. And from %s to %s? y or n.", g.answer, g.right, g.total,
		g.asked.start.Format(minutes), g.asked.end.Format(minutes))
}

// keys is the last line.
func (v *view) keys(pages int) string {
	var parts []string
	if pages > 1 {
		parts = append(parts, fmt.Sprintf("←→ page %d of %d", v.page+1, pages))
	}
	parts = append(parts, "Ctrl-C quits")
	if len(v.addresses) > 0 && v.served {
		address := "http://" + v.addresses[0]
		if v.text.guess {
			address = "other ε: " + address + "/#/demo"
		}
		parts = append(parts, address)
	}
	line := strings.Join(parts, " · ")
	if kafka := line + " · Kafka: " + v.broker; v.broker != "" && text.StringWidthWithoutEscSequences(kafka) <= v.width {
		line = kafka
	}
	return text.Faint.Sprint(line)
}

// summary says at the end what the viewer has seen, and what to do next. It is "" if there was nothing to see.
func (v *view) summary() string {
	if v.seen == 0 {
		return ""
	}
	var b strings.Builder
	every := v.last.stream.Window.Every
	fmt.Fprintf(&b, "%s of %s", cli.Plural(v.seen, "window"), config.Duration(every))
	if v.last.sim != nil { // times of a file in which nothing happened are left out
		missing := int(v.last.end.Sub(v.first.end)/every) + 1 - v.seen
		fmt.Fprintf(&b, ", %d missing", missing)
	}
	fmt.Fprintf(&b, ". One person has lost at most ε %s.\n", v.last.lost.RoundUp(3))
	if g := v.guesses; g.total > 0 {
		fmt.Fprintf(&b, "You guessed %s whether Robin called, %d of them right.\n",
			cli.Plural(g.total, "time"), g.right)
	}
	return b.String()
}
