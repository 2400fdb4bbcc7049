package decide

import (
	"fmt"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// A Notice is something that people are told, in a log or by a metric: a Line, Lasting, Over, Clipped, Decided,
// Merged, Tallied or [attendance.Loss].
type Notice any

type (
	// Line is for the log.
	Line struct {
		Level  Level
		Text   string
		Fields []Field
	}
	// Lasting says that a condition lasts. The text is for the log: once, and again after each Every if that is not 0.
	Lasting struct {
		Key, Text string
		Every     time.Duration
	}
	// Over says that the condition of a Lasting is over.
	Over struct{ Key, Text string }
	// Clipped says how many contributions of a window lay beyond the bounds. The number is private.
	Clipped struct {
		Stream string
		Beyond int64
	}
	// Decided says that an entry is committed.
	Decided struct{ Entry ledger.Entry }
	// Merged says how many passes over its parts a window took.
	Merged struct {
		Stream string
		Passes int
	}
	// Tallied says how many names a discovery drew, and how often it read the parts. Names is private.
	Tallied struct {
		Stream, Discovery string
		Names             int64
		Readings          int
	}
)

// Level says how much a Line matters.
type Level int

// The levels of lines.
const (
	Info Level = iota
	Warn
	Error
)

// Field is a value beside a Line.
type Field struct {
	Name  string
	Value any
}

// Notices returns what people have to be told since the last call.
func (c *Core) Notices() []Notice {
	notices := c.notices
	c.notices = nil
	return notices
}

func (c *Core) say(n Notice) { c.notices = append(c.notices, n) }

// tellLosses says which trackers have started over.
func (c *Core) tellLosses() {
	for _, of := range c.attendance.Losses() {
		c.say(of)
	}
}

// pause says once that something is withheld.
func (c *Core) pause(key, text string) {
	if !c.paused[key] {
		c.paused[key] = true
		c.say(Lasting{Key: key, Text: text})
	}
}

// over says once that it is no longer withheld. It also does so the first time in a session: an earlier session may
// have said that it was.
func (c *Core) over(key string, text func() string) {
	if lasts, known := c.paused[key]; lasts || !known {
		c.paused[key] = false
		c.say(Over{key, text()})
	}
}

// tellClipped counts contributions beyond the bounds. Those that add up are known only now; ingest counts the others.
func (c *Core) tellClipped(s *config.Stream, merged *windows.Merger, groups int) {
	if !s.Contribution.Adds() {
		return
	}
	beyond, all := int64(0), int64(0)
	for g := range groups {
		for _, p := range merged.All(g) {
			if all += p.Count; p.Index < 0 || p.Index > s.Grid.Last() {
				beyond += p.Count
			}
		}
	}
	c.say(Clipped{s.Name, beyond})
	key := "stream " + s.Name + ": contributions beyond the bounds"
	if 2*beyond > all {
		c.say(Lasting{key, "stream " + s.Name + ": what most users of a window add up to lies beyond the bounds, and " +
			"counts as the nearer bound", time.Hour})
	} else {
		c.say(Over{key, "stream " + s.Name + ": what most users of a window add up to lies within the bounds"})
	}
}

// loss is a row of windows that lost part of their input.
type loss struct {
	windows     int
	first, last time.Time // when the first and the last of them end
	told        time.Time
}

// tellIncomplete says that a window has lost part of its input. Mostly those beside it have too. So it says so once,
// and again when another hour has passed. When a window is complete again, it says which were not.
func (c *Core) tellIncomplete(e ledger.Entry) {
	key := e.Stream + " " + e.Lane
	row, lasts := c.lossy[key]
	of := []Field{{"stream", e.Stream}}
	if e.Lane != "" { // its periods lack what the windows lack, and end at other times
		of = append(of, Field{"discovery", e.Lane})
	}
	if !e.Incomplete {
		if delete(c.lossy, key); lasts {
			c.say(Line{Info, "windows are complete again", append(of, Field{"incomplete", row.windows},
				Field{"first_window_end", row.first}, Field{"last_window_end", row.last})})
		}
		return
	}
	if !lasts {
		row.first = e.WindowEnd
	}
	row.windows++
	row.last = e.WindowEnd
	if !lasts || c.now.Sub(row.told) >= time.Hour {
		row.told = c.now
		c.say(Line{Error, "part of a window's input was lost: what is left counts, and the window is marked " +
			"incomplete. So are those after it, until a line says that windows are complete again",
			append(of, Field{"window_end", e.WindowEnd}, Field{"input_partitions", e.IncompleteIn})})
	}
	c.lossy[key] = row
}

// tellFound says what a committed discovery has found.
func (c *Core) tellFound(e ledger.Entry) {
	d := e.Discovery
	if d == nil {
		return
	}
	if e.WindowEnd.Sub(e.WindowStart) < e.Every {
		c.say(Line{Info, "a discovery has less than a whole period, because the stream's present definition began " +
			"within it: names need as many users in less time. A stream that is edited more often than that may " +
			"never find any", []Field{{"stream", e.Stream}, {"discovery", e.Lane}, {"began", e.WindowStart},
			{"every", e.Every}}})
	}
	c.say(Line{Info, "a discovery is decided", []Field{{"stream", e.Stream}, {"discovery", e.Lane},
		{"window_end", e.WindowEnd}, {"found", len(d.Found)}, {"joined", len(d.Joined)}, {"left", len(d.Left)},
		{"listed", d.Listed}, {"reason", e.Reason}}})
}

// tell logs once that the budget withholds a stream's windows, or that an alarm, a figure on change, a running total
// or a number of active users is paused, and until when. It logs once that this is over. To find out until when takes
// as long as to decide many windows, so this too is done only once.
func (c *Core) tell(e ledger.Entry) {
	for _, s := range e.Continual {
		c.tellStep(e, s)
	}
	if e.Discovery != nil {
		c.tellDiscovery(e)
		return
	}
	key := "budget of stream " + e.Stream
	if e.Reason != record.BudgetExhausted {
		c.over(key, func() string {
			return fmt.Sprintf("stream %s: budget %s can pay again", e.Stream, e.Budget)
		})
		return
	}
	if c.paused[key] {
		return
	}
	until := "until the stream ends"
	if end, ok := c.own.Books.PaidAgain(e); ok {
		until = "until " + c.clock(end)
	}
	c.pause(key, fmt.Sprintf("stream %s: budget %s exhausted %s; windows are withheld", e.Stream, e.Budget, until))
}

// tellDiscovery does the same for a discovery.
func (c *Core) tellDiscovery(e ledger.Entry) {
	key := fmt.Sprintf("discovery %s of stream %s", e.Lane, e.Stream)
	if e.Reason == "" {
		c.over(key, func() string {
			return fmt.Sprintf("stream %s: discovery %s is paid again", e.Stream, e.Lane)
		})
		return
	}
	c.pause(key, fmt.Sprintf("stream %s: budget %s cannot pay for discovery %s; it finds nothing, and names on the "+
		"list grow old", e.Stream, e.Budget, e.Lane))
}

func (c *Core) tellStep(e ledger.Entry, s ledger.Continual) {
	name, happened, again := s.Title(), "was armed", "looks again"
	if s.HasValues() {
		happened, again = "was drawn", "is published again"
	}
	key := fmt.Sprintf("%s of stream %s", name, e.Stream)
	if s.Looks() {
		c.over(key, func() string {
			return fmt.Sprintf("stream %s: %s %s", e.Stream, name, again)
		})
	}
	if s.Reason != record.BudgetExhausted || c.paused[key] {
		return
	}
	pause, paused := c.own.Books.Paused(e, s)
	if !paused {
		return
	}
	cause := fmt.Sprintf("budget %s cannot pay for another instance of %s", e.Budget, name)
	if pause.AtMost {
		within := ""
		if e.Limit.Per != 0 {
			within = " in " + period.Text(e.Limit.Per)
		}
		cause = fmt.Sprintf("%s %s as often as at_most allows%s (%d)", name, happened, within, s.AtMost)
	}
	until := "until earlier instances no longer count"
	switch {
	case pause.Until != nil:
		until = "until " + c.clock(*pause.Until)
	case e.Limit.Per == 0:
		until = "for good"
	}
	c.pause(key, fmt.Sprintf("stream %s: %s; it is withheld %s", e.Stream, cause, until))
}

// clock writes a moment in UTC, as the time of the line stands there. It has its date if it is of another day: windows
// of a backlog are long over, and a budget may come back tomorrow.
func (c *Core) clock(at time.Time) string {
	const day = 24 * time.Hour
	if !at.Truncate(day).Equal(c.now.Truncate(day)) {
		return at.UTC().Format(time.RFC3339)
	}
	return at.UTC().Format(time.TimeOnly)
}
