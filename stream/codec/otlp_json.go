package codec

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// otlpJSON walks through a record in JSON. The frames are found by brackets and quotes alone, so that an item that is no
// JSON within its brackets harms no other. What is within an item is then read like an item in Protocol Buffers.
type otlpJSON struct {
	d      *otlpDecoder
	b      []byte
	levels []otlpObject
	depth  int
	why    string
	item   []byte
	list   []byte // the item's attributes; nil if there are none
	texts  [otlpTexts][]byte
}

// otlpObject is an object on the way to items. What is told of its items, such as their resource, may stand behind them.
// Then they are passed over, and read when the object has been.
type otlpObject struct {
	at       int  // where reading goes on
	end      int  // of the object, once its members have been read; else 0
	deferred int  // where its items begin that were passed over; else 0
	within   bool // its list of items is being read
	items    bool // it has been found
	told     int  // which members that say something of the items were found, as bits
	begun    bool // a member, or an item of the list, has been read
}

const otlpNotJSON = "is not an export request of OpenTelemetry in JSON: its brackets or quotes do not fit, or a name comes " +
	"twice that leads to items"

func (w *otlpJSON) init(d *otlpDecoder) {
	w.d, w.levels = d, make([]otlpObject, len(d.signal.json.levels))
}

func (w *otlpJSON) broken() string { return w.why }

func (w *otlpJSON) begin(value []byte) {
	w.b, w.depth, w.why = value, 0, ""
	w.levels[0] = otlpObject{at: 1}
}

// otlpTold are the names of the members that say something of the items below, by depth.
var otlpTold = [...][]string{1: {"resource"}, 2: {"scope"}, 3: {"name", "unit"}, 4: nil}

func (w *otlpJSON) next() bool {
	for w.why == "" {
		l := &w.levels[w.depth]
		i := skipSpace(w.b, l.at)
		switch {
		case l.end > 0 && !l.within: // the object has been read
			if w.depth == 0 {
				if skipSpace(w.b, l.end) < len(w.b) {
					w.why = causeSeveral
				}
				return false
			}
			end := l.end
			w.depth--
			w.levels[w.depth].at = end
			continue
		case i == len(w.b):
		case l.within:
			if w.element(l, i) {
				return true
			}
			continue
		default:
			w.member(l, i)
			continue
		}
		w.why = otlpNotJSON
	}
	return false
}

// element goes on in the list of an object. It returns true if it has come to an item.
func (w *otlpJSON) element(l *otlpObject, i int) bool {
	if w.b[i] == ']' {
		l.within, l.begun = false, true
		l.at = i + 1
		return false
	}
	if l.begun {
		if w.b[i] != ',' {
			w.why = otlpNotJSON
			return false
		}
		i = skipSpace(w.b, i+1)
	}
	l.begun = true
	if w.depth == len(w.levels)-1 {
		end := skipJSON(w.b, i)
		if end < 0 {
			w.why = otlpNotJSON
			return false
		}
		l.at, w.item = end, w.b[i:end]
		return true
	}
	w.push(i)
	return false
}

// push begins to read an object.
func (w *otlpJSON) push(i int) {
	if i == len(w.b) || w.b[i] != '{' {
		w.why = otlpNotJSON
		return
	}
	w.depth++
	w.levels[w.depth] = otlpObject{at: i + 1}
	d := w.d
	switch w.depth {
	case 1:
		d.forget(otlpResource)
	case 2:
		d.forget(otlpScope)
		d.raw.texts[otlpScopeName], d.raw.texts[otlpScopeVersion] = nil, nil
	case 3:
		d.raw.texts[otlpMetric], d.raw.texts[otlpUnit] = nil, nil
	}
}

// member goes on among the members of an object.
func (w *otlpJSON) member(l *otlpObject, i int) {
	if w.b[i] == '}' {
		l.end = i + 1
		if l.deferred > 0 {
			w.descend(l, l.deferred)
			l.deferred = 0
		}
		return
	}
	if l.begun {
		if w.b[i] != ',' {
			w.why = otlpNotJSON
			return
		}
		i = skipSpace(w.b, i+1)
	}
	l.begun = true
	name, at := jsonName(w.b, i)
	lead := at >= 0 && w.leads(name)
	if lead && !l.items {
		l.items = true
		w.numeric(name)
		if l.told == 1<<len(w.told())-1 {
			w.descend(l, at)
			return
		}
		l.deferred, lead = at, false
	}
	if l.at = skipJSON(w.b, at); l.at < 0 || lead {
		w.why = otlpNotJSON
		return
	}
	if k := slices.Index(w.told(), string(name)); k >= 0 {
		if l.told&(1<<k) != 0 {
			w.why = otlpNotJSON
			return
		}
		l.told |= 1 << k
		w.tell(string(name), w.b[at:l.at])
	}
}

func (w *otlpJSON) told() []string {
	if w.depth >= len(otlpTold) {
		return nil
	}
	return otlpTold[w.depth]
}

// leads reports whether a member of the object that is read leads to items.
func (w *otlpJSON) leads(name []byte) bool {
	if lead := w.d.signal.json.levels[w.depth]; lead != "" {
		return string(name) == lead
	}
	return len(name) > 0 && slices.Contains(w.d.signal.json.points, string(name))
}

// numeric notes whether the points of a metric have numbers.
func (w *otlpJSON) numeric(name []byte) {
	if at := slices.Index(w.d.signal.json.points, string(name)); at > 0 {
		w.d.raw.numbers[otlpNumeric] = w.d.signal.numeric >> at & 1
	}
}

// descend goes to what a member leads to: a list, or an object that has one.
func (w *otlpJSON) descend(l *otlpObject, at int) {
	if end := scanWord(w.b, at, "null"); end > 0 {
		l.at = end
		return
	}
	if w.d.signal.json.levels[w.depth] == "" {
		w.push(at)
		return
	}
	if at == len(w.b) || w.b[at] != '[' {
		w.why = otlpNotJSON
		return
	}
	l.within, l.begun, l.at = true, false, at+1
}

// tell reads what is told of items.
func (w *otlpJSON) tell(name string, value []byte) {
	d := w.d
	switch name {
	case "name":
		d.raw.texts[otlpMetric] = w.text(otlpMetric, value)
	case "unit":
		d.raw.texts[otlpUnit] = w.text(otlpUnit, value)
	case "resource":
		d.lost[otlpResource] = !w.holder(value, otlpResource)
	case "scope":
		d.lost[otlpScope] = !w.holder(value, otlpScope)
	}
}

// holder reads a resource or a scope.
func (w *otlpJSON) holder(value []byte, of otlpHolder) bool {
	found := false
	return string(value) == "null" || jsonObject(value, func(name, value []byte) bool {
		switch string(name) {
		case "attributes":
			twice := found
			found = true
			return !twice && w.pairs(value, w.d.cells[of])
		case "name":
			if of == otlpScope {
				w.d.raw.texts[otlpScopeName] = w.text(otlpScopeName, value)
			}
		case "version":
			if of == otlpScope {
				w.d.raw.texts[otlpScopeVersion] = w.text(otlpScopeVersion, value)
			}
		}
		return true
	})
}

// own reads what an item holds beside its attributes.
func (w *otlpJSON) own() bool {
	raw := &w.d.raw
	w.list = nil
	var seen uint64 // the scalars that were read
	return jsonObject(w.item, func(name, value []byte) bool {
		if string(name) == "attributes" {
			if w.list != nil {
				return false
			}
			w.list = value
			return true
		}
		for i := range w.d.signal.scalars {
			s := &w.d.signal.scalars[i]
			if s.json != string(name) {
				continue
			}
			if seen&(1<<i) != 0 {
				return false
			}
			seen |= 1 << i
			return string(value) == "null" || w.scalar(s, value, raw)
		}
		return true
	})
}

// scalar reads a field of an item.
func (w *otlpJSON) scalar(s *otlpScalar, value []byte, raw *otlpRaw) bool {
	switch {
	case s.at == otlpBody:
		return !w.d.wantsBody() || w.body(value)
	case s.at == otlpStatusMessage:
		return jsonObject(value, func(name, value []byte) bool {
			if string(name) == "code" {
				n, ok := jsonWhole(value)
				raw.put(otlpStatus, uint64(n))
				return ok
			}
			return true
		})
	case s.wire == wireBytes:
		raw.texts[s.at] = w.text(s.at, value)
	case s.at == otlpDouble:
		f := jsonDouble(value)
		if f.kind == none {
			return false
		}
		if f.kind == other {
			f.n = int64(math.Float64bits(math.NaN()))
		}
		raw.put(otlpDouble, uint64(f.n))
	default:
		n, ok := jsonWhole(value)
		if !ok {
			var u uint64
			if u, ok = jsonUnsigned(value); !ok {
				return false
			}
			n = int64(u)
		}
		raw.put(s.at, uint64(n))
	}
	return true
}

// text is a text of a record, without its escapes. One that is none is not UTF-8, and neither is what is no text.
func (w *otlpJSON) text(at int, value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	f := jsonText(value, &w.texts[at])
	if f.kind != text {
		return notText
	}
	return f.text
}

var notText = []byte{0xff}

// body reads the body of a log record.
func (w *otlpJSON) body(value []byte) bool {
	d := w.d
	var ok bool
	if d.raw.body, ok = w.value(value, &d.body); !ok || len(d.cells[otlpBodyKey]) == 0 {
		return ok
	}
	return jsonObject(value, func(name, value []byte) bool {
		return string(name) != "kvlistValue" || jsonObject(value, func(name, value []byte) bool {
			return string(name) != "values" || w.pairs(value, d.cells[otlpBodyKey])
		})
	})
}

// attributes looks for the attributes that are wanted of an item.
func (w *otlpJSON) attributes() bool { return w.list == nil || w.pairs(w.list, w.d.cells[otlpItem]) }

// pairs looks for keys in a list of keys and values. The first of equal keys counts.
func (w *otlpJSON) pairs(list []byte, cells []otlpCell) bool {
	left := 0
	for i := range cells {
		if cells[i].found.kind == none {
			left++
		}
	}
	if left == 0 || string(list) == "null" {
		return true
	}
	return jsonList(list, func(pair []byte) (more, ok bool) {
		var key, value []byte
		twice := false
		if !jsonObject(pair, func(name, v []byte) bool {
			switch string(name) {
			case "key":
				twice = twice || key != nil
				key = v
			case "value":
				twice = twice || value != nil
				value = v
			}
			return true
		}) {
			return false, false
		}
		for i := range cells {
			c := &cells[i]
			if c.found.kind != none || !jsonIs(key, c.name) {
				continue
			}
			if twice {
				return false, false
			}
			c.found = field{kind: other}
			if value != nil {
				if c.found, ok = w.value(value, &c.own); !ok {
					return false, false
				}
			}
			left--
			break
		}
		return left > 0, true
	})
}

// value reads a value. Several at once, or none, are no part of an event.
func (w *otlpJSON) value(b []byte, own *[]byte) (f field, ok bool) {
	f.kind = other
	values := 0
	ok = string(b) == "null" || jsonObject(b, func(name, value []byte) bool {
		values++
		switch string(name) {
		case "stringValue":
			f = jsonText(value, own)
		case "boolValue":
			if yes := string(value) == "true"; yes || string(value) == "false" {
				f = truthOf(yes)
			}
		case "intValue":
			if n, ok := jsonWhole(value); ok {
				f = whole(n)
			}
		case "doubleValue":
			if f = jsonDouble(value); f.kind == none {
				f.kind = other
			}
		case "arrayValue":
			return jsonObject(value, func(name, value []byte) bool {
				return string(name) != "values" || w.only(value, &f, own)
			})
		}
		return true
	})
	if values != 1 {
		f = field{kind: other}
	}
	return f, ok
}

// only reads a list: the text in it, if that is all there is.
func (w *otlpJSON) only(list []byte, f *field, own *[]byte) bool {
	items := 0
	return string(list) == "null" || jsonList(list, func(value []byte) (more, ok bool) {
		items++
		*f = field{kind: other}
		ok = items > 1 || jsonObject(value, func(name, value []byte) bool {
			if string(name) == "stringValue" {
				*f = jsonText(value, own)
			} else {
				*f = field{kind: other}
			}
			return true
		})
		return ok, ok
	})
}

// cut copies a request with some of its items only. An object without any of them is left out.
func (w *otlpJSON) cut(value []byte, items []int) []byte {
	c := otlpTextCutter{names: &w.d.signal.json, items: items}
	out, _, _ := c.object(nil, value, 0, 0)
	return out
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

// skipJSON returns where a value ends, by its brackets and quotes alone; −1 if it does not end.
func skipJSON(b []byte, i int) int {
	if i < 0 || i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
	default:
		start := i
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
			i++
		}
		if i == start {
			return -1
		}
		return i
	}
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipText(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipText returns where a text ends that begins with a quote; −1 if it does not end.
func skipText(b []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if i++; escapes%2 == 0 {
			return i
		}
	}
}

// jsonName reads the name of a member, and returns where its value begins; −1 if there is none.
func jsonName(b []byte, i int) (name []byte, value int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	end := skipText(b, i)
	if end < 0 {
		return nil, -1
	}
	name = b[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		if next, _ := scanString(b, i); next == end {
			name = appendUnescaped(nil, name)
		}
	}
	if end = skipSpace(b, end); end == len(b) || b[end] != ':' {
		return nil, -1
	}
	if value = skipSpace(b, end+1); value == len(b) {
		return nil, -1
	}
	return name, value
}

// jsonObject passes the members of an object to each, until that returns false. It returns false if it did, or if the
// text is no object.
func jsonObject(b []byte, each func(name, value []byte) bool) bool {
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	for i, more := 1, false; ; more = true {
		if i = skipSpace(b, i); i == len(b) {
			return false
		}
		if b[i] == '}' {
			return i == len(b)-1
		}
		if more {
			if b[i] != ',' {
				return false
			}
			i = skipSpace(b, i+1)
		}
		name, at := jsonName(b, i)
		end := skipJSON(b, at)
		if end < 0 || !each(name, b[at:end]) {
			return false
		}
		i = end
	}
}

// jsonList passes the values of a list to each, until that returns false for more. ok is false if the text is no list,
// or if each says so.
func jsonList(b []byte, each func(value []byte) (more, ok bool)) bool {
	if len(b) == 0 || b[0] != '[' {
		return false
	}
	for i, several := 1, false; ; several = true {
		if i = skipSpace(b, i); i == len(b) {
			return false
		}
		if b[i] == ']' {
			return i == len(b)-1
		}
		if several {
			if b[i] != ',' {
				return false
			}
			i = skipSpace(b, i+1)
		}
		end := skipJSON(b, i)
		if end < 0 {
			return false
		}
		if more, ok := each(b[i:end]); !more || !ok {
			return ok
		}
		i = end
	}
}

// jsonIs reports whether a value is a text.
func jsonIs(value []byte, text string) bool {
	if len(value) < 2 || value[0] != '"' {
		return false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == text
	}
	next, _ := scanString(value, 0)
	return next == len(value) && string(appendUnescaped(nil, value[1:len(value)-1])) == text
}

// jsonText reads a text, whose escapes are taken out in a buffer. One that is no text, or not UTF-8, is other.
func jsonText(value []byte, own *[]byte) field {
	if len(value) < 2 || value[0] != '"' {
		return field{kind: other}
	}
	next, plain := scanString(value, 0)
	if next != len(value) {
		return field{kind: other}
	}
	inner := value[1 : len(value)-1]
	if !plain {
		*own = appendUnescaped((*own)[:0], inner)
		inner = *own
	}
	return field{kind: text, text: inner}
}

// jsonDigits is a number, which may be in quotes.
func jsonDigits(value []byte) []byte {
	if n := len(value); n >= 2 && value[0] == '"' {
		return value[1 : n-1]
	}
	return value
}

// jsonWhole reads a whole number, which may be in quotes.
func jsonWhole(value []byte) (int64, bool) {
	digits := jsonDigits(value)
	if n, ok := digitsOnly(digits); ok {
		return int64(n), true
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return n, err == nil && digits[0] != '+'
}

func jsonUnsigned(value []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(jsonDigits(value)), 10, 64)
	return n, err == nil
}

// jsonDouble reads a number of 64 bits, which may be in quotes. One that is not finite is other, and what is no number
// is none.
func jsonDouble(value []byte) field {
	digits := jsonDigits(value)
	switch string(digits) {
	case "NaN", "Infinity", "-Infinity":
		return field{kind: other}
	}
	if len(digits) == 0 || scanNumber(digits, 0) != len(digits) {
		return field{}
	}
	v, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return field{kind: other}
	}
	return double(math.Float64bits(v))
}
