package record

import (
	"strings"
	"time"
)

// Left is a series of a group that left the list of a stream.
type Left struct {
	Stream, Group, Release string
	// Discovery is the discovery with which the group left; "" if the stream follows the list of another one.
	Discovery string
	// End is the end of the discovery's period, or of the first window without the group. That was due at Due.
	End, Due time.Time
}

// left stands in the id of a tombstone, after the release. No figure has such an id.
const left = "left"

// Tombstone ends a series: it is a record without a value, after which a compacted topic need not keep the series.
func (l Left) Tombstone(to Destination) Record {
	id := FoundKey(l.Stream, l.Group, Whole(l.End).String()) + "/" + l.Release + "/" + left
	if l.Discovery != "" {
		id += "/" + l.Discovery
	}
	return Record{Topic: to.Topic, Key: []byte(FoundKey(l.Stream, l.Group, l.Release)), Time: l.End,
		Headers: events(to, id, l.Stream, l.Due)}
}

// ReadLeft reads what the id of a tombstone says. It leaves out the group, and when the window was due. ok is false for
// any other id.
func ReadLeft(id string) (l Left, ok bool) {
	parts := strings.Split(id, "/")
	if n := len(parts); n != 5 && n != 6 || parts[4] != left {
		return l, false
	}
	end, err := time.Parse(time.RFC3339, parts[2])
	l = Left{Stream: parts[0], Release: parts[3], End: end}
	if len(parts) == 6 {
		l.Discovery = parts[5]
	}
	return l, err == nil
}
