package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
)

// screen shows the newest figures: as a table that is drawn again when the output is a terminal, else one plain line a
// figure. Safe for concurrent use.
type screen struct {
	out  io.Writer
	live bool
	rows []string // series, in the order of the configuration

	mu      sync.Mutex
	newest  map[string]outputs.Record
	address []string
	changed chan struct{} // holds one if there is something new
}

func newScreen(out io.Writer, streams []*config.Stream) *screen {
	s := &screen{out: out, newest: map[string]outputs.Record{}, changed: make(chan struct{}, 1)}
	if f, ok := out.(*os.File); ok {
		s.live = term.IsTerminal(int(f.Fd()))
	}
	for _, st := range streams {
		for _, g := range st.Groups {
			for _, r := range st.Releases {
				for _, name := range r.Names() {
					s.rows = append(s.rows, st.Name+"/"+g+"/"+name)
				}
			}
		}
	}
	return s
}

// show takes a figure in.
func (s *screen) show(r outputs.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		_ = printLine(s.out, r)
		return
	}
	if old, ok := s.newest[r.Key()]; !ok || !r.WindowEnd.Before(old.WindowEnd) {
		s.newest[r.Key()] = r
	}
	s.touch()
}

// listening notes the addresses that the service answers at.
func (s *screen) listening(addresses []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = addresses
	s.touch()
}

func (s *screen) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// run draws the table until ctx ends.
func (s *screen) run(ctx context.Context) error {
	if !s.live {
		return nil
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := s.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			_, err := fmt.Fprintln(s.out)
			return err
		case <-s.changed:
		case <-tick.C:
		}
	}
}

// Home the cursor, and clear from it to the end: less flicker than clearing everything.
const redraw = "\x1b[H\x1b[J"

func (s *screen) draw() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	b.WriteString(redraw)
	fmt.Fprintf(&b, "Louver · private statistics on an embedded Kafka broker · %s · Ctrl-C ends it\n", time.Now().UTC().Format(time.TimeOnly))
	if len(s.address) > 0 {
		fmt.Fprintf(&b, "public metrics: http://%s/metrics", s.address[0])
		if len(s.address) > 1 {
			fmt.Fprintf(&b, " · operators' metrics: http://%s/metrics", s.address[1])
		}
		b.WriteString("\n")
	}
	if len(s.newest) == 0 {
		b.WriteString("\nthe first window is being filled …\n")
	} else {
		b.WriteString(s.table())
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

func (s *screen) table() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.AppendHeader(table.Row{"group", "release", "value", "lies between", "window's end", "ε spent of limit"})
	group := ""
	for _, key := range s.rows {
		r, ok := s.newest[key]
		if !ok {
			continue
		}
		name := r.Group
		if name == group {
			name = ""
		} else if group != "" {
			t.AppendSeparator()
		}
		group = r.Group
		value := shown(r)
		if r.Value != nil && r.Unit != "" {
			value += " " + r.Unit
		}
		t.AppendRow(table.Row{name, r.Release, value, bound(r), r.WindowEnd.Format(time.TimeOnly), strings.TrimPrefix(spending(r), "ε ")})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}})
	return t.Render() + "\n"
}
