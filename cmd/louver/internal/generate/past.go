package generate

import (
	"fmt"
	"time"

	"github.com/valyala/fastjson"

	"github.com/louver/louver/stream/codec"
)

// edge is one of the oldest or newest records of a topic.
type edge struct {
	value   []byte
	written int64 // its timestamp, in Unix milliseconds
}

// at returns the time of the record's event: that of a field, or its timestamp if path is empty. Fields that hold no
// time have none.
func (e edge) at(path string) (time.Time, bool) {
	if path == "" {
		return time.UnixMilli(e.written).UTC(), e.written > 0
	}
	v, err := fastjson.ParseBytes(e.value)
	if err != nil {
		return time.Time{}, false
	}
	var text []byte
	switch v = v.Get(codec.Path(path)...); {
	case v == nil:
	case v.Type() == fastjson.TypeString:
		text, _ = v.StringBytes()
	case v.Type() == fastjson.TypeNumber:
		text = v.MarshalTo(nil)
	}
	ns, ok := codec.ParseTime(text)
	return time.Unix(0, ns).UTC(), ok
}

// past says of which days the oldest and newest records are, if a stream that starts now would not count them, and
// which start and end would. It names whole days only. It is for the person who writes the file, and not a part of the
// file: what is public must not come from the data by itself.
func (s sampled) past(path string, now time.Time) string {
	var oldest, newest time.Time
	for _, e := range s.edges {
		at, ok := e.at(path)
		switch {
		case !ok:
			continue
		case oldest.IsZero():
			oldest, newest = at, at
		case at.Before(oldest):
			oldest = at
		case at.After(newest):
			newest = at
		}
	}
	const day = 24 * time.Hour
	if oldest.IsZero() || oldest.After(now.Add(-time.Hour)) {
		return ""
	}
	start, end := oldest.Truncate(day), newest.Truncate(day).Add(day)
	said := fmt.Sprintf("the oldest of the records looked at is of %s, the newest of %s; with start: now none of "+
		"them counts. To count them: start: %s", oldest.Format(time.DateOnly), newest.Format(time.DateOnly),
		start.Format(time.RFC3339))
	if end.Before(now) {
		said += fmt.Sprintf(" and, if no more are to come, end: %s", end.Format(time.RFC3339))
	}
	return said
}
