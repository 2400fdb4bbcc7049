package attendance

import (
	"fmt"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// Cap remembers in how many windows of a lane each user has counted lately, where the stream or the discovery has
// max_windows ([windows.Cap]).
//
// Each decided window goes through it, in order, even one that is withheld: its users have used a turn like those of
// any other. So who counts depends on the parts and on the schedule, and not on what was charged. For a discovery,
// everybody with any record in a period takes a turn. Parts hold good names only, and it makes no difference which of
// them are listed.
//
// Without a snapshot a session needs the parts of as many windows as [windows.CapRule.Reach] says. If they are lost, a
// new era begins with the next window. Windows are charged under it from there on, and their cost adds to that of the
// old era.
type Cap struct {
	// Of is what windows are charged under. Its era is the start of the first window that the cap has been through or
	// will go through, in Unix seconds.
	Of budget.Cap

	lane *Lane
	rule windows.CapRule
	cap  *windows.Cap
}

// newCap returns the cap of a lane, and the end of the window after which it has to go through the windows in its
// reach. It is nil where there is no cap, and where the last window is decided.
func newCap(l *Lane) (c *Cap, after int64) {
	of, under := l.Stream.MaxWindows, l.Stream.Cap
	if l.Of != nil {
		of, under = l.Of.MaxWindows, l.Of.Cap
	}
	if of == nil {
		return nil, 0
	}
	next, more := l.Next()
	if !more {
		return nil, 0
	}
	c = &Cap{lane: l, rule: of.By, cap: windows.NewCap(of.By)}
	c.Of = l.books.Cap(l.Stream.Name, l.Number, l.name())
	if c.Of != under(c.Of.Era) { // none of its windows is decided
		c.Of = under(l.books.Era(l.Stream.Name, next.Start, under))
		return c, l.Decided()
	}
	every := int64(c.rule.Every())
	before := c.Of.Era*int64(time.Second) + int64(l.size()) - every // the end of the window before the era
	return c, max(before, l.Decided()-c.rule.Reach()*every)
}

// capKey is the key of the snapshots of a lane's cap.
func capKey(l *Lane) string {
	key := config.EditionKey(l.Stream.Name, l.Number)
	if l.Of != nil {
		key = "row/" + l.Of.Name + "/" + key
	}
	return key
}

func (c *Cap) key() string                    { return capKey(c.lane) }
func (c *Cap) target(*Lane) int64             { return c.lane.Decided() }
func (c *Cap) begin(w windows.Window) error   { return c.cap.Begin(w) }
func (c *Cap) join(m *windows.Merger)         { m.Restrict(c.cap.Counts) }
func (c *Cap) end()                           {}
func (c *Cap) bytes() int64                   { return c.cap.Bytes() }
func (c *Cap) snapshot() []byte               { return c.cap.Snapshot() }
func (c *Cap) counts(u windows.UserHash) bool { return c.cap.Counts(u) }
func (c *Cap) remembers() (reach time.Duration) {
	return time.Duration(c.rule.Reach()) * c.rule.Every()
}

// goes says that the windows within reach are needed, as long as there is a next one.
func (c *Cap) goes() (known int64, ok bool) {
	_, more := c.lane.Next()
	return c.lane.Decided() - int64(c.remembers()), more
}

func (c *Cap) restore(end int64, text []byte) (fits bool, err error) {
	restored, err := windows.RestoreCap(c.rule, text)
	if err != nil {
		return false, err
	}
	if of := restored.Began() + int64(c.lane.size()); of != end {
		return false, fmt.Errorf("it is of the window that ends %s, and says %s", time.Unix(0, of).UTC(),
			time.Unix(0, end).UTC())
	}
	c.cap = restored
	return true, nil
}

// reset starts a new era with the next window.
func (c *Cap) reset() Loss {
	next, more := c.lane.Next()
	c.cap = windows.NewCap(c.rule)
	c.Of.Era = next.Start / int64(time.Second)
	return Loss{Stream: c.lane.Stream.Name, Discovery: c.lane.name(), At: time.Unix(0, next.Start).UTC(), Over: !more}
}
