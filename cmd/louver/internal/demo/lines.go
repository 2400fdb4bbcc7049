package demo

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/outputs"
)

// lines writes a demo's figures for pipes: a header, then one line for each figure. Fields are separated by spaces and
// contain none. "-" is an empty field.
type lines struct {
	out, err io.Writer
	scene    scene
	ended    chan struct{}

	mu     sync.Mutex
	headed bool
}

func newLines(out, err io.Writer, s scene) *lines {
	return &lines{out: out, err: err, scene: s, ended: make(chan struct{})}
}

func (l *lines) say(string) {}
func (l *lines) listening(addresses []string) {
	_, _ = fmt.Fprintf(l.err, "louver: the page is at http://%s/\n", addresses[0])
}
func (l *lines) kafka(address string) {
	_, _ = fmt.Fprintf(l.err, "louver: the demo's Kafka is at %s\n", address)
}
func (l *lines) over() { close(l.ended) }

func (l *lines) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-l.ended: // that is the end of a file
		_, _ = io.WriteString(l.err, l.scene.next())
	}
	return nil
}

// fields are the widths of a line's fields, on the left if negative, as fmt has it.
var fields = []struct {
	name  string
	width int
}{{"window_end", -20}, {"series", -30}, {"private", 10}, {"unit", -8}, {"within_95", -11}, {"quality", -7},
	{"simulated", 9}, {"epsilon_spent", 13}, {"note", 0}}

// line writes a line of fields. It leaves out those of a simulation if there is none.
func line(b *strings.Builder, sim bool, texts ...string) {
	separator := ""
	for i, f := range fields {
		if f.name == "simulated" && !sim {
			continue
		}
		fmt.Fprintf(b, "%s%*s", separator, f.width, texts[i])
		separator = "  "
	}
	b.WriteByte('\n')
}

func (l *lines) show(p picture) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sim := p.sim != nil
	var b strings.Builder
	if !l.headed {
		l.headed = true
		var names []string
		for _, f := range fields {
			names = append(names, f.name)
		}
		line(&b, sim, names...)
	}
	for _, r := range slices.Concat(p.records, p.watches) {
		truth := ""
		if sim {
			truth = p.sim.truth(r, 0)
		}
		p.line(&b, r, truth)
	}
	for _, beside := range p.beside {
		for _, r := range slices.Concat(beside.records, beside.watches) {
			p.line(&b, r, "")
		}
	}
	_, _ = io.WriteString(l.out, b.String()) // a closed pipe ends the process
}

// line writes the line of one of the window's figures.
func (p picture) line(b *strings.Builder, r outputs.Record, truth string) {
	value, note := "withheld", ""
	if r.Value != nil {
		value = r.Value.String()
	} else if r.Reason != nil {
		note = *r.Reason
	}
	if p.sim != nil && p.sim.incident == r.Group {
		note = "incident"
	}
	name := r.Label()
	if strings.ContainsAny(name, " \t") {
		name = strconv.Quote(name)
	}
	line(b, p.sim != nil, p.end.Format(time.RFC3339), name, value, filled(r.Unit), filled(bandOf(r)),
		filled(string(r.Quality)), filled(truth), p.lost.String(), filled(note))
}

// filled returns a field of a line, which has no spaces.
func filled(text string) string {
	if text == "" {
		return "-"
	}
	return strings.NewReplacer("± ", "±", " ", "-").Replace(text)
}

// bandOf writes a figure's band as the record has it, without spaces, or else percentiles. The level of a band is there
// if it is not 95 %.
func bandOf(r outputs.Record) string {
	band, ok := r.Band()
	if !ok {
		return cli.Bound(r)
	}
	text := r.Low.String() + "–" + r.High.String()
	if band.Level != 0.95 {
		text += fmt.Sprintf("(%v%%)", math.Round(1000*band.Level)/10)
	}
	return text
}
