package codec

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// otlpProto walks through a record in Protocol Buffers. Nothing may depend on the order of fields, since the Collector
// writes every message from its last field to its first. So a message that has others is looked at twice: first for
// what is told of it, such as its resource, and then for what lies in it.
//
// Each frame must fit into the one around it, down to the items. What is within an item, or within a resource or a
// scope, concerns only those that it is about.
type otlpProto struct {
	d      *otlpDecoder
	levels []otlpLevel
	depth  int
	item   []byte
	pairs  []otlpStretch // of the item: the first of its attributes that may be wanted
	rest   int           // where the attributes after these begin, which are seldom so many
	why    string
	// actions are what is done with the fields of an item, by their tags.
	actions [128]otlpAction
}

// otlpStretch is where something is in an item.
type otlpStretch struct{ from, to int }

// otlpPairs is how many attributes of an item are noted. They take memory for as long as the decoder lives.
const otlpPairs = 64

// otlpLevel is a message on the way to items, and how far it has been read.
type otlpLevel struct {
	b  []byte
	at int
}

// otlpAction is what is done with a field of an item.
type otlpAction struct {
	wanted bool
	at     int8
}

const (
	wireVarint, wireEight, wireBytes, wireStart, wireFour = 0, 1, 2, 3, 5

	otlpNotProto = "is not an export request of OpenTelemetry: a length in it does not fit"
)

func (w *otlpProto) init(d *otlpDecoder) {
	w.d, w.levels, w.pairs = d, make([]otlpLevel, len(d.signal.path)), make([]otlpStretch, 0, otlpPairs)
	for _, s := range d.signal.scalars {
		if s.at != otlpBody || d.wantsBody() {
			w.actions[s.number<<3|s.wire] = otlpAction{true, int8(s.at)}
		}
	}
}

func (w *otlpProto) broken() string { return w.why }

func (w *otlpProto) begin(value []byte) {
	w.levels[0], w.depth, w.why = otlpLevel{b: value}, 0, ""
}

func (w *otlpProto) next() bool {
	path := w.d.signal.path
	for w.why == "" {
		l := &w.levels[w.depth]
		if l.at == len(l.b) {
			if w.depth == 0 {
				return false
			}
			w.depth--
			continue
		}
		number, wire, content, next := otlpFrame(l.b, l.at)
		if next < 0 {
			break
		}
		l.at = next
		if wire != wireBytes || number > 63 || path[w.depth]&(1<<number) == 0 {
			continue
		}
		if w.depth == len(path)-1 {
			w.item = content
			return true
		}
		w.depth++
		w.levels[w.depth] = otlpLevel{b: content}
		if !w.enter(content, number) {
			break
		}
	}
	w.why = otlpNotProto
	return false
}

// enter looks at a message that holds others, for what is told of it.
func (w *otlpProto) enter(b []byte, from uint64) bool {
	d := w.d
	sum := w.depth == 4 && d.signal.sums>>from&1 != 0
	d.enter(w.depth)
	if w.depth == 4 {
		d.raw.numbers[otlpNumeric] = d.signal.numeric >> from & 1
		if d.raw.numbers[otlpTemporality] = otlpGauge; sum {
			d.raw.temporal(0)
		}
	}
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			return false
		}
		i = next
		if sum && number == 2 && wire == wireVarint {
			v, _ := uvarint(content)
			d.raw.temporal(v)
		}
		if wire != wireBytes {
			continue
		}
		switch {
		case w.depth == 1 && number == 1:
			d.lost[otlpResource] = !w.holder(content, otlpResource) || d.lost[otlpResource]
		case w.depth == 2 && number == 1:
			d.lost[otlpScope] = !w.holder(content, otlpScope) || d.lost[otlpScope]
		case w.depth == 3 && number == 1:
			d.raw.texts[otlpMetric] = content
		case w.depth == 3 && number == 3:
			d.raw.texts[otlpUnit] = content
		}
	}
	return true
}

// holder reads a resource or a scope.
func (w *otlpProto) holder(b []byte, of otlpHolder) bool {
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			return false
		}
		i = next
		switch {
		case wire != wireBytes:
		case of == otlpResource && number == 1, of == otlpScope && number == 3:
			if _, ok := w.attribute(content, w.d.cells[of]); !ok {
				return false
			}
		case of == otlpScope && number == 1:
			w.d.raw.texts[otlpScopeName] = content
		case of == otlpScope && number == 2:
			w.d.raw.texts[otlpScopeVersion] = content
		}
	}
	return true
}

// own reads what an item holds beside its attributes. It looks at the frames of all its fields, and notes where
// attributes are that may be wanted.
func (w *otlpProto) own() bool {
	b, raw := w.item, &w.d.raw
	attributes, lengths := w.d.signal.attributes<<3|wireBytes, w.d.lengths[otlpItem]
	pairs := w.pairs[:0]
	w.rest = len(b)
	for i := 0; i < len(b); {
		start := i
		tag := uint64(b[i])
		if tag == attributes && i+1 < len(b) && b[i+1] < 0x80 { // as most fields are
			from := i + 2
			if i = from + int(b[i+1]); i > len(b) {
				return false
			}
			if n := otlpKeyLength(b[from:i]); n < 64 && lengths>>n&1 == 0 { // as most are
				continue
			}
			if len(pairs) < cap(pairs) {
				pairs = append(pairs, otlpStretch{from, i})
			} else {
				w.rest = min(w.rest, start)
			}
			continue
		}
		if i++; tag >= 0x80 {
			if tag, i = otlpVarint(b, start); i < 0 {
				return false
			}
		}
		if tag>>3-1 >= 1<<29-1 { // no number of a field
			return false
		}
		var v uint64
		var content []byte
		switch tag & 7 {
		case wireBytes:
			if v, i = otlpVarint(b, i); i < 0 || v > uint64(len(b)-i) {
				return false
			}
			content = b[i : i+int(v)]
			i += int(v)
			if tag == attributes {
				if len(pairs) < cap(pairs) {
					pairs = append(pairs, otlpStretch{i - int(v), i})
				} else {
					w.rest = min(w.rest, start)
				}
				continue
			}
		case wireVarint:
			if v, i = otlpVarint(b, i); i < 0 {
				return false
			}
		case wireEight:
			if len(b)-i < 8 {
				return false
			}
			v = binary.LittleEndian.Uint64(b[i:])
			i += 8
		default:
			n := skipField(protowire.Number(tag>>3), protowire.Type(tag&7), b[i:])
			if n < 0 {
				return false
			}
			i += n
		}
		if tag >= uint64(len(w.actions)) || !w.actions[tag].wanted {
			continue
		}
		switch at := int(w.actions[tag].at); {
		case tag&7 != wireBytes:
			raw.put(at, v)
		case at == otlpBody:
			if !w.body(content) {
				return false
			}
		case at == otlpStatusMessage:
			if !w.status(content) {
				return false
			}
		default:
			raw.texts[at] = content
		}
	}
	w.pairs = pairs
	return true
}

// status reads the status of a span.
func (w *otlpProto) status(b []byte) bool {
	for i := 0; i < len(b); {
		number, wire, content, next := otlpFrame(b, i)
		if next < 0 {
			return false
		}
		if i = next; number == 3 && wire == wireVarint {
			v, _ := uvarint(content)
			w.d.raw.put(otlpStatus, v)
		}
	}
	return true
}

// body reads the body of a log record.
func (w *otlpProto) body(b []byte) bool {
	d := w.d
	if ok := otlpAnyValue(&d.raw.body, b); !ok || len(d.cells[otlpBodyKey]) == 0 {
		return ok
	}
	for i := 0; i < len(b); {
		number, wire, list, next := otlpFrame(b, i)
		if i = next; number != 6 || wire != wireBytes {
			continue
		}
		for j := 0; j < len(list); {
			number, wire, pair, next := otlpFrame(list, j)
			if next < 0 {
				return false
			}
			if j = next; number == 1 && wire == wireBytes {
				if _, ok := w.attribute(pair, d.cells[otlpBodyKey]); !ok {
					return false
				}
			}
		}
	}
	return true
}

// attributes looks for the attributes that are wanted of an item, until all are found. The frames of the item fit.
func (w *otlpProto) attributes() bool {
	cells, left := w.d.cells[otlpItem], len(w.d.cells[otlpItem])
	take := func(pair []byte) bool {
		took, ok := w.attribute(pair, cells)
		if took {
			left--
		}
		return ok
	}
	for _, at := range w.pairs {
		if left == 0 {
			return true
		}
		if !take(w.item[at.from:at.to]) {
			return false
		}
	}
	for i := w.rest; i < len(w.item) && left > 0; {
		number, wire, pair, next := otlpFrame(w.item, i)
		if i = next; number == w.d.signal.attributes && wire == wireBytes && !take(pair) {
			return false
		}
	}
	return true
}

// otlpVarint reads a number at i, and returns where it ends; −1 if it does not fit.
func otlpVarint(b []byte, i int) (v uint64, next int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	v, n := protowire.ConsumeVarint(b[i:])
	if n < 0 {
		return 0, -1
	}
	return v, i + n
}

// otlpFrame reads a field of a message: its number, its type on the wire, its content and where it ends; −1 if it does
// not fit. The content of bytes is what follows their length.
func otlpFrame(b []byte, i int) (number, wire uint64, content []byte, next int) {
	if i >= len(b) {
		return 0, 0, nil, -1
	}
	tag := uint64(b[i])
	if i++; tag >= 0x80 {
		var n int
		if tag, n = uvarint(b[i-1:]); n < 0 {
			return 0, 0, nil, -1
		}
		i += n - 1
	}
	if number, wire = tag>>3, tag&7; number-1 >= 1<<29-1 {
		return 0, 0, nil, -1
	}
	n := 0
	switch wire {
	case wireBytes:
		var length uint64
		if i < len(b) && b[i] < 0x80 {
			length, n = uint64(b[i]), 1
		} else if length, n = uvarint(b[i:]); n < 0 {
			return 0, 0, nil, -1
		}
		if i += n; length > uint64(len(b)-i) {
			return 0, 0, nil, -1
		}
		n = int(length)
	case wireEight:
		n = 8
	case wireFour:
		n = 4
	case wireVarint:
		_, n = uvarint(b[i:])
	default:
		n = protowire.ConsumeFieldValue(protowire.Number(number), protowire.Type(wire), b[i:])
	}
	if n < 0 || n > len(b)-i {
		return 0, 0, nil, -1
	}
	return number, wire, b[i : i+n], i + n
}

// cut copies a request with some of its items only. A message without any of them is left out.
func (w *otlpProto) cut(value []byte, items []int) []byte {
	c := otlpCutter{path: w.d.signal.path, items: items}
	out, _ := c.message(nil, value, 0)
	return out
}
