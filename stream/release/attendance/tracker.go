package attendance

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// A Tracker remembers users while it goes through the windows of a lane, one after another: a [Cap] or an [Ongoing]. It
// knows nothing of parts and of snapshots, which are the same for all trackers.
type Tracker interface {
	// key is that of its snapshots. Running services have snapshots under it, so it may not change.
	key() string
	// target is the end of the last window of a lane that the tracker should have been through.
	target(l *Lane) int64
	// begin goes on to a window. join has a merger ask about its users, or pass them on. end follows after all of them.
	begin(w windows.Window) error
	join(m *windows.Merger)
	end()
	// goes reports whether later sessions need what the tracker knows. They need no parts of windows that end at or
	// before known, whatever is saved.
	goes() (known int64, ok bool)
	// remembers is for how long it matters that a user has counted; 0 if only the window itself does.
	remembers() time.Duration
	// snapshot writes down who has counted. restore goes on from such a text, of a decided window that ends then. It
	// changes nothing if the text is of something else, which is no error, or damaged.
	snapshot() []byte
	restore(end int64, text []byte) (fits bool, err error)
	// reset starts over after parts or snapshots are lost: a new era, or another instance. Otherwise somebody might
	// count too often.
	reset() Loss
	bytes() int64
}

// A Loss says that a tracker no longer knew who has counted, and has started over.
type Loss struct {
	Stream string
	// Of is the ongoing figure that is charged again. Otherwise max_windows has started over, that of a Discovery or of
	// the stream's windows.
	Of        config.Ongoing
	Discovery string
	// At is when the lost instance had begun, or when the first window begins that is charged apart from earlier ones.
	At time.Time
	// Over says that the tracker has no windows left, so nothing starts over.
	Over bool
}

// snapshotEvery is how much time of windows passes between two snapshots. Where users are remembered for less than 80
// minutes, it is an eighth of that.
const snapshotEvery = 10 * time.Minute

// SnapshotHead is the length of what precedes the text of a tracker in a snapshot: the end of the window up to which it
// says who has counted, in Unix nanoseconds, big-endian.
const SnapshotHead = 8

// cursor is how far a tracker has come.
type cursor struct {
	Tracker
	lanes []*Lane // in which it goes, one after another
	at    int64   // the end of the last window that it has been through
	// needed are the offsets of the log from which later sessions have to read the last windows. A window is left out
	// if a later one needs as low an offset.
	needed []needed
	// saved is the end of the window up to which later sessions need no parts: the window of the last committed
	// snapshot, or the one after which the tracker began.
	saved  int64
	stored bool // there is a snapshot in Kafka
}

type needed struct {
	end    int64 // of the window
	offset int64
}

// start begins after a window.
func (c *cursor) start(end int64) { c.at, c.saved, c.needed = end, end, nil }

// need adds what later sessions need of a window.
func (c *cursor) need(n needed) {
	for len(c.needed) > 0 && c.needed[len(c.needed)-1].offset >= n.offset {
		c.needed = c.needed[:len(c.needed)-1]
	}
	c.needed = append(c.needed, n)
}

// needs returns the lowest offset that a later session needs.
func (c *cursor) needs() int64 {
	known, ok := c.goes()
	if !ok {
		return math.MaxInt64
	}
	known = max(known, c.saved)
	for len(c.needed) > 0 && c.needed[0].end <= known {
		c.needed = c.needed[1:]
	}
	if len(c.needed) == 0 {
		return math.MaxInt64
	}
	return c.needed[0].offset
}

// lagsIn reports whether the tracker has not been through all decided windows of a lane.
func (c *cursor) lagsIn(l *Lane) bool { return c.at < c.target(l) }

func (c *cursor) lags() bool { return slices.ContainsFunc(c.lanes, c.lagsIn) }

// waitsBefore reports whether the tracker has not been through an earlier lane yet: one of a former definition of its
// stream.
func (c *cursor) waitsBefore(l *Lane) bool {
	return slices.ContainsFunc(c.lanes, func(o *Lane) bool { return o.Place < l.Place && c.lagsIn(o) })
}

// due reports whether it is time for a snapshot.
func (c *cursor) due() bool {
	every := min(snapshotEvery, c.remembers()/8)
	return c.remembers() > 0 && !c.lags() && c.at-c.saved >= int64(every)
}

// write makes a snapshot.
func (c *cursor) write() []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(c.at)), c.snapshot()...)
}

// read takes a snapshot if it says more than is known. A snapshot of windows that are not decided is an error: their
// users would count too often.
func (c *cursor) read(text []byte) error {
	if _, ok := c.goes(); !ok {
		return nil // of a total that is over
	}
	if len(text) < SnapshotHead {
		return fmt.Errorf("it has %d bytes; want %d or more", len(text), SnapshotHead)
	}
	end := int64(binary.BigEndian.Uint64(text))
	if end <= c.at {
		return nil // of an earlier era, or of long ago
	}
	last := int64(math.MinInt64)
	for _, l := range c.lanes {
		last = max(last, c.target(l))
	}
	if end > last {
		return fmt.Errorf("it is of the window that ends %s; the last decided one ends %s", time.Unix(0, end).UTC(),
			time.Unix(0, last).UTC())
	}
	fits, err := c.restore(end, text[SnapshotHead:])
	if fits && err == nil {
		c.at, c.saved = end, end
	}
	return err
}
