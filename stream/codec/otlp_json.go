package codec

import (
	"math"
	"slices"
)

// otlpJSON walks through a record in JSON. The frames are found by brackets and quotes alone, so that an item that is
// no JSON within its brackets harms no other. What is within an item is then read like an item in Protocol Buffers.
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

// otlpObject is an object on the way to items. What is told of its items, such as their resource, may stand behind
// them. Then they are passed over, and read when the object has been.
type otlpObject struct {
	at       int  // where reading goes on
	end      int  // of the object, once its members have been read; else 0
	deferred int  // where its items begin that were passed over; else 0
	within   bool // its list of items is being read
	items    bool // it has been found
	told     int  // which members that say something of the items were found, as bits
	begun    bool // a member, or an item of the list, has been read
}

const otlpNotJSON = "is not an export request of OpenTelemetry in JSON: its brackets or quotes do not fit, or a name " +
	"comes twice that leads to items"

func (w *otlpJSON) init(d *otlpDecoder) {
	w.d, w.levels = d, make([]otlpObject, len(d.signal.json.levels))
}

func (w *otlpJSON) broken() string { return w.why }

func (w *otlpJSON) begin(value []byte) {
	w.b, w.depth, w.why = value, 0, ""
	w.levels[0] = otlpObject{at: 1}
}

// otlpTold are the names of the members that say something of the items below, by depth.
var otlpTold = [...][]string{1: {"resource"}, 2: {"scope"}, 3: {"name", "unit"}, 4: {"aggregationTemporality"}}

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
	w.d.enter(w.depth)
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
	if w.depth >= len(otlpTold) || w.depth == 4 && w.d.raw.numbers[otlpTemporality] == otlpGauge {
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

// numeric notes whether the points of a metric have numbers, and whether they belong to a sum.
func (w *otlpJSON) numeric(name []byte) {
	if at := slices.Index(w.d.signal.json.points, string(name)); at > 0 {
		w.d.raw.numbers[otlpNumeric] = w.d.signal.numeric >> at & 1
		if w.d.raw.numbers[otlpTemporality] = otlpGauge; w.d.signal.sums>>at&1 != 0 {
			w.d.raw.temporal(0)
		}
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
	case "aggregationTemporality":
		n, _ := jsonUnsigned(value)
		d.raw.temporal(n)
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
	return jsonList(list, func(at int) (end int, more bool) {
		var key, value []byte
		twice := false
		end = jsonMembers(list, at, func(name, v []byte) bool {
			switch string(name) {
			case "key":
				twice = twice || key != nil
				key = v
			case "value":
				twice = twice || value != nil
				value = v
			}
			return true
		})
		for i := range cells {
			c := &cells[i]
			if end < 0 || c.found.kind != none || !jsonIs(key, c.name) {
				continue
			}
			if twice {
				return -1, false
			}
			c.found = field{kind: other}
			if value != nil {
				var ok bool
				if c.found, ok = w.value(value, &c.own); !ok {
					return -1, false
				}
			}
			left--
			break
		}
		return end, left > 0
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
	return string(list) == "null" || jsonList(list, func(at int) (end int, more bool) {
		items++
		*f = field{kind: other}
		if items > 1 {
			return skipJSON(list, at), true
		}
		return jsonMembers(list, at, func(name, value []byte) bool {
			if string(name) == "stringValue" {
				*f = jsonText(value, own)
			} else {
				*f = field{kind: other}
			}
			return true
		}), true
	})
}

// cut copies a request with some of its items only. An object without any of them is left out.
func (w *otlpJSON) cut(value []byte, items []int) []byte {
	c := otlpTextCutter{names: &w.d.signal.json, items: items}
	out, _, _ := c.copy(nil, value, 0, 0)
	return out
}
