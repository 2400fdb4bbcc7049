package codec

import (
	"cmp"
	"fmt"
	"slices"
)

// A record of OpenTelemetry is one export request: items of many persons, such as spans, in scopes, in resources. Each
// item is an event of its own. Whether one counts depends only on itself, its resource and its scope: otherwise what
// one person sends would decide what becomes of another's. otlp_signal.go says which fields items have, and
// otlp_proto.go and otlp_json.go walk through the two encodings.

// Batch is a decoder of records that hold many items. Each item is an event, or is skipped or rejected alone.
//
// A record that is not framed as its format says hides an unknown number of items. Next returns those before the break,
// and then Broken says what is wrong. Where a record breaks, and how many items it has, does not depend on the Spec.
type Batch interface {
	// Decoder's Decode reads the first item of a record. A record without items is malformed to it.
	Decoder
	// Begin begins a record. It must not be changed until the next one.
	Begin(r Record)
	// Next reads the next item into e, as Decode does; more is false if there is none. After OK, e is valid until the
	// next call.
	Next(e *Event) (reason Reason, more bool)
	// Broken says why the rest of the record cannot be read, once Next has returned no more; "" if it was read whole.
	// The words go on from "the record".
	Broken() string
	// Cut returns the value of a record of the same encoding that holds some items of a record, and what they lie in.
	// The items are numbered from 0 in the order of Next, and the numbers are ascending.
	Cut(value []byte, items []int) []byte
}

// otlpCell is an attribute that is wanted of one holder, and what is found of it.
type otlpCell struct {
	name  string
	found field
	own   []byte // for a text without its escapes
}

// otlpSlot says which cell or own field a slot of the fields is.
type otlpSlot struct {
	role     role
	own      *otlpOwn
	holder   otlpHolder
	cell     int
	fallback int // the cell of the resource; −1: none
}

// otlpDecoder reads records of one signal.
type otlpDecoder struct {
	rules
	signal     *otlpSignal
	cells      [otlpHolders][]otlpCell
	lengths    [otlpHolders]uint64 // of the names of the cells: a bit for each below 64
	slots      []otlpSlot
	conditions []condition
	early      []otlpSlot // conditions on own fields: they come before attributes are looked for
	late       []int      // the other conditions
	found      fields
	own        field // of a condition
	raw        otlpRaw

	record Record
	walk   otlpWalk
	proto  otlpProto
	json   otlpJSON
	body   []byte // for a text of a body without its escapes
	bad    bool   // the last item could not be read
	deltas bool   // points of sums are events only if they are differences
	// lost says that the resource of the item that is read, or its scope, cannot be read itself.
	lost [otlpHolders]bool
}

// otlpWalk goes through the items of a record in one encoding.
type otlpWalk interface {
	begin(value []byte)
	// next finds the next item.
	next() bool
	// own reads what the item holds beside its attributes, and attributes looks for those that are wanted. They return
	// false if the item cannot be read.
	own() bool
	attributes() bool
	// broken says why next has ended; "" at the end of the record.
	broken() string
	cut(value []byte, items []int) []byte
}

func newOTLP(signal *otlpSignal) func(Spec, rules) (Decoder, error) {
	return func(s Spec, r rules) (Decoder, error) {
		d := &otlpDecoder{rules: r, signal: signal, conditions: r.where, deltas: s.onlyDeltas()}
		d.where = nil // they are looked at as early as possible, and not again
		for _, p := range s.parts() {
			if !p.inValue() {
				continue
			}
			f, err := signal.field(p.field)
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", p.name, p.field, err)
			}
			slot := otlpSlot{role: p.role, own: f.own, holder: f.holder, fallback: -1}
			if f.own == nil {
				slot.cell = d.cell(f.holder, f.attribute)
				if f.inherited {
					slot.fallback = d.cell(otlpResource, f.attribute)
				}
			}
			switch {
			case p.role >= numRoles && f.own != nil:
				d.early = append(d.early, slot)
				continue
			case p.role >= numRoles:
				d.late = append(d.late, int(p.role-numRoles))
			}
			d.slots = append(d.slots, slot)
		}
		d.proto.init(d)
		d.json.init(d)
		d.walk = &d.proto
		return d, nil
	}
}

// wantsBody reports whether anything of a log's body is wanted.
func (d *otlpDecoder) wantsBody() bool {
	return len(d.cells[otlpBodyKey]) > 0 || slices.ContainsFunc(slices.Concat(d.slots, d.early),
		func(s otlpSlot) bool { return s.own != nil && s.own.name == "log.body" })
}

// cell returns the cell of an attribute.
func (d *otlpDecoder) cell(holder otlpHolder, name string) int {
	i := slices.IndexFunc(d.cells[holder], func(c otlpCell) bool { return c.name == name })
	if i < 0 {
		i = len(d.cells[holder])
		d.cells[holder] = append(d.cells[holder], otlpCell{name: name})
		d.lengths[holder] |= 1 << len(name)
	}
	return i
}

// forget empties the cells of a holder.
func (d *otlpDecoder) forget(holder otlpHolder) {
	for i := range d.cells[holder] {
		d.cells[holder][i].found.kind = none
	}
	d.lost[holder] = false
}

// enter forgets what the message before said, of those at this depth: resources, their scopes, and metrics.
func (d *otlpDecoder) enter(depth int) {
	switch depth {
	case 1:
		d.forget(otlpResource)
	case 2:
		d.forget(otlpScope)
		d.raw.texts[otlpScopeName], d.raw.texts[otlpScopeVersion] = nil, nil
	case 3:
		d.raw.texts[otlpMetric], d.raw.texts[otlpUnit] = nil, nil
	}
}

// Begin implements [Batch].
func (d *otlpDecoder) Begin(r Record) {
	d.record = r
	d.walk = d.walker(r.Value)
	d.walk.begin(r.Value)
}

// walker tells the encodings apart by the first byte. There is no white space before the brace: a request in Protocol
// Buffers begins with the number of a line feed.
func (d *otlpDecoder) walker(value []byte) otlpWalk {
	if len(value) > 0 && value[0] == '{' {
		return &d.json
	}
	return &d.proto
}

// Next implements [Batch].
func (d *otlpDecoder) Next(e *Event) (Reason, bool) {
	if !d.walk.next() {
		return OK, false
	}
	d.missing, d.rules.bad.kind = false, none
	d.raw.reset()
	d.forget(otlpBodyKey)
	if d.bad = !d.walk.own(); d.bad {
		return Malformed, true
	}
	if d.signal == otlpMetrics && d.raw.unrecorded() {
		return NoValue, true
	}
	for i := range d.early {
		s, f := &d.early[i], &d.own
		s.own.value(&d.raw, f)
		if c := &d.conditions[s.role-numRoles]; !c.holds(f) {
			d.skip = Skip{int(s.role - numRoles), c.why(f)}
			return Unwanted, true
		}
	}
	d.forget(otlpItem)
	if d.bad = d.lost[otlpResource] || d.lost[otlpScope] || !d.walk.attributes(); d.bad {
		return Malformed, true
	}
	for i := range d.slots {
		s := &d.slots[i]
		if s.own != nil {
			s.own.value(&d.raw, &d.found[s.role])
			continue
		}
		f := &d.cells[s.holder][s.cell].found
		if f.kind == none && s.fallback >= 0 {
			f = &d.cells[otlpResource][s.fallback].found
		}
		d.found[s.role] = *f
	}
	for _, i := range d.late {
		if c, f := &d.conditions[i], &d.found[roleWhere(i)]; !c.holds(f) {
			d.skip = Skip{i, c.why(f)}
			return Unwanted, true
		}
	}
	if d.deltas && d.raw.total() {
		return NoDelta, true
	}
	if u := &d.found[roleUser]; !d.keyed && (u.kind == none || u.kind == text && len(u.text) == 0) {
		return NoUser, true
	}
	return d.event(&d.record, &d.found, e), true
}

// Broken implements [Batch].
func (d *otlpDecoder) Broken() string { return d.walk.broken() }

// Cut implements [Batch].
func (d *otlpDecoder) Cut(value []byte, items []int) []byte {
	return d.walker(value).cut(value, items)
}

// Decode implements [Decoder].
func (d *otlpDecoder) Decode(r Record, e *Event) Reason {
	d.Begin(r)
	reason, more := d.Next(e)
	if !more {
		return Malformed
	}
	return reason
}

// Cause implements [Decoder].
func (d *otlpDecoder) Cause(Record) string {
	if d.bad {
		return "has a " + d.signal.item + " that cannot be read, or whose resource or scope cannot"
	}
	return cmp.Or(d.walk.broken(), "has no "+d.signal.item)
}
