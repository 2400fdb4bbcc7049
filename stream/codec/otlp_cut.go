package codec

import (
	"bytes"
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

// object appends an object that begins at i, and says where it ends and whether it has any of the items. It ends where
// the brackets do not fit.
func (c *otlpTextCutter) object(out, b []byte, i, depth int) (all []byte, end int, any bool) {
	out = append(out, '{')
	for i, more := i+1, false; ; more = true {
		if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
			return append(out, '}'), i + 1, any
		}
		if more {
			if i == len(b) || b[i] != ',' {
				return append(out, '}'), -1, any
			}
			out = append(out, ',')
			i = skipSpace(b, i+1)
		}
		name, at := jsonName(b, i)
		if at < 0 {
			return append(bytes.TrimSuffix(out, []byte{','}), '}'), -1, any
		}
		lead := c.names.levels[depth]
		switch {
		case lead != "" && string(name) == lead && at < len(b) && b[at] == '[':
			var some bool
			out = append(out, b[i:at]...)
			out, i, some = c.list(out, b, at, depth)
			any = any || some
		case lead == "" && len(name) > 0 && slices.Contains(c.names.points, string(name)) && at < len(b) && b[at] == '{':
			var some bool
			out = append(out, b[i:at]...)
			out, i, some = c.object(out, b, at, depth+1)
			any = any || some
		default:
			end := skipJSON(b, at)
			if end < 0 {
				return append(bytes.TrimSuffix(out, []byte{','}), '}'), -1, any
			}
			out = append(out, b[i:end]...)
			i = end
		}
		if i < 0 {
			return append(out, '}'), -1, any
		}
	}
}

// list appends a list that begins at i.
func (c *otlpTextCutter) list(out, b []byte, i, depth int) (all []byte, end int, any bool) {
	out = append(out, '[')
	for i, more := i+1, false; ; more = true {
		if i = skipSpace(b, i); i < len(b) && b[i] == ']' {
			return append(out, ']'), i + 1, any
		}
		if more {
			if i == len(b) || b[i] != ',' {
				return append(out, ']'), -1, any
			}
			i = skipSpace(b, i+1)
		}
		before := len(out)
		if any {
			out = append(out, ',')
		}
		some := false
		if depth < len(c.names.levels)-1 {
			if i == len(b) || b[i] != '{' {
				return append(out[:before], ']'), -1, any
			}
			out, i, some = c.object(out, b, i, depth+1)
		} else if end := skipJSON(b, i); end < 0 {
			i = -1
		} else {
			if some = len(c.items) > 0 && c.items[0] == c.seen; some {
				c.items = c.items[1:]
				out = append(out, b[i:end]...)
			}
			c.seen++
			i = end
		}
		if !some {
			out = out[:before]
		}
		if any = any || some; i < 0 {
			return append(out, ']'), -1, any
		}
	}
}
