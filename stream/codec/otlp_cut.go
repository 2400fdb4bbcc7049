package codec

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// A dead letter holds some items of a record and what they lie in, so that it reads as those items did. Everything
// else is copied byte for byte.

// otlpCutter copies the messages on the way to some items.
type otlpCutter struct {
	path  []uint64
	items []int // that are still to come
	seen  int   // how many items were passed
}

// message appends a message, and says whether it has any of the items. It ends where the frames do not fit.
func (c *otlpCutter) message(out, b []byte, depth int) (all []byte, any bool) {
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			break
		}
		start := i
		i = next
		switch {
		case wire != wireBytes || number > 63 || c.path[depth]&(1<<number) == 0:
			out = append(out, b[start:next]...)
		case depth < len(c.path)-1:
			if within, some := c.message(nil, content, depth+1); some {
				out = protowire.AppendTag(out, protowire.Number(number), protowire.BytesType)
				out, any = protowire.AppendBytes(out, within), true
			}
		default:
			if len(c.items) > 0 && c.items[0] == c.seen {
				c.items, any = c.items[1:], true
				out = append(out, b[start:next]...)
			}
			c.seen++
		}
	}
	return out, any
}

// otlpTextCutter copies the objects on the way to some items.
type otlpTextCutter struct {
	names *otlpNames
	items []int // that are still to come
	seen  int   // how many items were passed
}

// copy appends the object or list that begins at i, and says where it ends and whether it has any of the items. Of a
// list it appends only what has some. It ends where the brackets do not fit.
func (c *otlpTextCutter) copy(out, b []byte, i, depth int) (all []byte, end int, any bool) {
	list, closing := b[i] == '[', b[i]+2 // in ASCII
	out = append(out, b[i])
	for i, more := i+1, false; ; more = true {
		if i = skipSpace(b, i); i < len(b) && b[i] == closing {
			return append(out, closing), i + 1, any
		}
		if more {
			if i == len(b) || b[i] != ',' {
				return append(out, closing), -1, any
			}
			i = skipSpace(b, i+1)
		}
		before := len(out)
		if more && (any || !list) {
			out = append(out, ',')
		}
		start, some := len(out), false
		if list {
			out, i, some = c.element(out, b, i, depth)
		} else {
			out, i, some = c.member(out, b, i, depth)
		}
		if list && !some || len(out) == start {
			out = out[:before]
		}
		if any = any || some; i < 0 {
			return append(out, closing), -1, any
		}
	}
}

// member appends a member of an object.
func (c *otlpTextCutter) member(out, b []byte, i, depth int) (all []byte, end int, any bool) {
	name, at := jsonName(b, i)
	if at < 0 {
		return out, -1, false
	}
	lead := c.names.levels[depth]
	switch {
	case lead != "" && string(name) == lead && b[at] == '[':
		return c.copy(append(out, b[i:at]...), b, at, depth)
	case lead == "" && len(name) > 0 && slices.Contains(c.names.points, string(name)) && b[at] == '{':
		return c.copy(append(out, b[i:at]...), b, at, depth+1)
	}
	if end = skipJSON(b, at); end >= 0 {
		out = append(out, b[i:end]...)
	}
	return out, end, false
}

// element appends an element of a list: an item, if it is wanted, or an object that may have some.
func (c *otlpTextCutter) element(out, b []byte, i, depth int) (all []byte, end int, any bool) {
	if depth < len(c.names.levels)-1 {
		if i == len(b) || b[i] != '{' {
			return out, -1, false
		}
		return c.copy(out, b, i, depth+1)
	}
	if end = skipJSON(b, i); end < 0 {
		return out, end, false
	}
	if any = len(c.items) > 0 && c.items[0] == c.seen; any {
		c.items = c.items[1:]
		out = append(out, b[i:end]...)
	}
	c.seen++
	return out, end, any
}
