package codec

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// protobufLayout reads records whose value is one message of Protocol Buffers, in one walk. It reads what
// google.golang.org/protobuf reads, apart from fields that nobody wants: of these only the frame is looked at, so what
// is wrong within one is no reason to reject a record. Of a scalar that comes twice the later one counts, and a message
// that comes twice is merged. A field with another type on the wire than in the schema is an unknown one.
type protobufLayout struct {
	root     *protobufMessageProgram
	slots    [protobufSlots]field
	wanted   []int // of the slots
	messages []*protobufMessageProgram
	absents  []protobufAbsent
	wholes   []protobufWhole
	required bool
}

// protobufAbsent is what a slot has if a message that is in the record has nothing for it.
type protobufAbsent struct {
	slot    int
	message *protobufMessageProgram
	field   field
}

// protobufWhole is a message that is one value. Its parts are in two slots.
type protobufWhole struct {
	role    role
	name    protoreflect.FullName
	message *protobufMessageProgram
	first   int  // of the slots
	known   bool // it has the fields that its name promises
	buffer  []byte
}

func (l *protobufLayout) find(value []byte) (*fields, bool) {
	for _, slot := range l.wanted {
		l.slots[slot].kind = none
	}
	for _, m := range l.messages {
		m.set = false
	}
	if !l.message(l.root, value) || l.required && !l.complete(l.root) {
		return nil, false
	}
	for i := range l.absents {
		if a := &l.absents[i]; a.message.set && l.slots[a.slot].kind == none {
			l.slots[a.slot] = a.field
		}
	}
	for i := range l.wholes {
		if w := &l.wholes[i]; w.message.set {
			l.slots[w.role] = w.value(&l.slots)
		}
	}
	return (*fields)(l.slots[:numFields]), true
}

// clear forgets a field's value.
func (l *protobufLayout) clear(a *protobufAction) {
	for _, slot := range a.slots {
		l.slots[slot].kind = none
	}
	if a.within != nil && a.within.set {
		a.within.set = false
		for _, in := range a.within.actions {
			l.clear(in)
		}
	}
}

// complete reports whether a message has the required ones of the fields that are wanted, or lead to wanted ones.
func (l *protobufLayout) complete(m *protobufMessageProgram) bool {
	for _, a := range m.actions {
		switch {
		case a.within != nil && a.within.set:
			if !l.complete(a.within) {
				return false
			}
		case a.required && (a.within != nil || len(a.slots) > 0 && l.slots[a.slots[0]].kind == none):
			return false
		}
	}
	return true
}

// message reads a message, or one more piece of it.
func (l *protobufLayout) message(m *protobufMessageProgram, b []byte) bool {
	m.set = true
	for len(b) > 0 {
		tag, n := uvarint(b)
		if n < 0 || tag>>3 < uint64(protowire.MinValidNumber) || tag>>3 > uint64(protowire.MaxValidNumber) {
			return false
		}
		b = b[n:]
		number, wire := protowire.Number(tag>>3), protowire.Type(tag&7)
		a := m.find(number)
		if a == nil || a.wire != wire {
			if n = skipField(number, wire, b); n < 0 {
				return false
			}
			b = b[n:]
			continue
		}
		for _, other := range a.clears {
			l.clear(other)
		}
		if n = l.field(a, b); n < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// field reads the value of a field with the type that the schema says. It returns its length; less than 0 if it is
// wrong.
func (l *protobufLayout) field(a *protobufAction, b []byte) int {
	var v uint64
	var content []byte
	n := 0
	switch a.wire {
	case protowire.VarintType:
		v, n = uvarint(b)
	case protowire.Fixed64Type:
		if len(b) < 8 {
			return -1
		}
		v, n = binary.LittleEndian.Uint64(b), 8
	case protowire.Fixed32Type:
		if len(b) < 4 {
			return -1
		}
		v, n = uint64(binary.LittleEndian.Uint32(b)), 4
	case protowire.StartGroupType:
		content, n = protowire.ConsumeGroup(a.number, b)
	default:
		length, size := uvarint(b)
		if size < 0 || length > uint64(len(b)-size) {
			return -1
		}
		n = size + int(length)
		content = b[size:n]
	}
	if n < 0 {
		return -1
	}
	if a.within != nil {
		if !l.message(a.within, content) {
			return -1
		}
		return n
	}
	if len(a.slots) == 0 {
		return n
	}
	if a.valid && !utf8.Valid(content) {
		return -1
	}
	f := &l.slots[a.slots[0]]
	switch {
	case a.implicit && a.zero(v, content):
		f.kind = none
	case a.kind == protoreflect.StringKind:
		f.kind, f.text = text, content
	default:
		*f = a.convert(v, content)
	}
	for _, slot := range a.slots[1:] {
		l.slots[slot] = *f
	}
	return n
}

// zero reports whether a value on the wire is one.
func (a *protobufAction) zero(v uint64, content []byte) bool {
	switch a.kind {
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Sint32Kind, protoreflect.EnumKind:
		return uint32(v) == 0
	}
	return v == 0 && len(content) == 0
}

// convert turns a value on the wire into a field. Texts are fields already.
func (a *protobufAction) convert(v uint64, content []byte) field {
	switch a.kind {
	case protoreflect.BytesKind:
		return field{kind: other, text: content}
	case protoreflect.BoolKind:
		return truthOf(v != 0)
	case protoreflect.EnumKind:
		if name, ok := a.names[int32(v)]; ok {
			return field{kind: text, text: name}
		}
		return whole(int64(int32(v)))
	case protoreflect.FloatKind:
		return single(&a.buffer, math.Float32frombits(uint32(v)))
	case protoreflect.DoubleKind:
		return double(v)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return unsigned(&a.buffer, v)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return whole(int64(uint32(v)))
	case protoreflect.Sint32Kind:
		return whole(int64(int32(protowire.DecodeZigZag(v & math.MaxUint32))))
	case protoreflect.Sint64Kind:
		return whole(protowire.DecodeZigZag(v))
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind:
		return whole(int64(int32(v)))
	default:
		return whole(int64(v))
	}
}

// value makes one value of the parts. One that is out of range is none.
func (w *protobufWhole) value(slots *[protobufSlots]field) field {
	first, second := &slots[w.first], &slots[w.first+1]
	switch {
	case !w.known:
	case w.name == timestamp:
		return instantOf(first.n, second.n)
	case w.name == confluent:
		if f, ok := decimalOf(&w.buffer, first.text, second.n); first.kind == other && ok {
			return f
		}
	default:
		return durationOf(&w.buffer, first.n, second.n)
	}
	return field{kind: other}
}

// uvarint reads a number, in at most ten bytes.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

// skipField returns the length of a value; less than 0 if it is wrong.
func skipField(number protowire.Number, wire protowire.Type, b []byte) int {
	if wire != protowire.BytesType {
		return protowire.ConsumeFieldValue(number, wire, b)
	}
	length, n := uvarint(b)
	if n < 0 || length > uint64(len(b)-n) {
		return -1
	}
	return n + int(length)
}
