package codec

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// protobufMessageProgram is what is done with the fields of a message on the way to wanted fields.
type protobufMessageProgram struct {
	low     [32]*protobufAction // by the field's number
	high    map[protowire.Number]*protobufAction
	actions []*protobufAction
	// set says that the message is in the record.
	set bool
}

// protobufAction is what is done with a field.
type protobufAction struct {
	number   protowire.Number
	wire     protowire.Type // with another one it is an unknown field
	kind     protoreflect.Kind
	within   *protobufMessageProgram // of a message that leads further
	slots    []int                   // of a value that is wanted
	clears   []*protobufAction       // other members of its oneof
	valid    bool                    // a text must be UTF-8
	implicit bool                    // a zero is the same as nothing
	required bool
	names    map[int32][]byte // of an enum
	buffer   []byte
}

// protobufSlots is how many slots there are. After those of the fields come two for each: what a Timestamp, a Duration
// or a Decimal consists of.
const protobufSlots = 3 * numFields

func newProtobufLayout(begin fields) *protobufLayout {
	l := &protobufLayout{}
	l.root = l.program()
	copy(l.slots[:], begin[:])
	return l
}

func (l *protobufLayout) program() *protobufMessageProgram {
	m := &protobufMessageProgram{}
	l.messages = append(l.messages, m)
	return m
}

// add adds a wanted field.
func (l *protobufLayout) add(path []protoreflect.FieldDescriptor, r role) {
	l.wanted = append(l.wanted, int(r))
	at, last := l.root, len(path)-1
	for _, fd := range path[:last] {
		at = l.lead(at, fd)
	}
	fd := path[last]
	if fd.Message() == nil {
		l.take(at, fd, int(r), protobufNothing(r, fd))
		return
	}
	parts, first := protobufParts(fd.Message()), numFields+2*int(r)
	leaf := protobufWhole{role: r, name: fd.Message().FullName(), message: l.lead(at, fd), first: first}
	for i, part := range parts {
		nothing := field{kind: other}
		if part.Kind() == protoreflect.BytesKind {
			nothing.text = part.Default().Bytes()
		} else {
			nothing = whole(part.Default().Int())
		}
		l.take(leaf.message, part, first+i, nothing)
		l.wanted = append(l.wanted, first+i)
	}
	leaf.known = len(parts) > 0
	l.wholes = append(l.wholes, leaf)
}

// protobufParts are the two fields of a message that is one value; none if it is not what its name says.
func protobufParts(m protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	first, second, kind := m.Fields().ByNumber(1), m.Fields().ByNumber(2), protoreflect.Int64Kind
	if m.FullName() == confluent {
		first, second, kind = m.Fields().ByName("value"), m.Fields().ByName("scale"), protoreflect.BytesKind
	}
	if first == nil || second == nil || first.Kind() != kind || second.Kind() != protoreflect.Int32Kind ||
		first.IsList() || second.IsList() {
		return nil
	}
	return []protoreflect.FieldDescriptor{first, second}
}

// protobufNothing is a field of which a message has nothing. Where a record cannot tell a zero from nothing, the zero
// is a value and meets conditions, but is neither a user, a group nor a time. A bool that is not there is false. A
// wrapper that is set has a value, also if that is a zero.
func protobufNothing(r role, fd protoreflect.FieldDescriptor) field {
	if !wraps(fd.ContainingMessage()) && (fd.HasPresence() ||
		r != roleValue && r < numRoles && fd.Kind() != protoreflect.BoolKind) {
		return field{}
	}
	switch v := fd.Default(); fd.Kind() {
	case protoreflect.StringKind:
		return field{kind: text, text: []byte(v.String())}
	case protoreflect.BoolKind:
		return truthOf(v.Bool())
	case protoreflect.FloatKind:
		return single(new([]byte), float32(v.Float()))
	case protoreflect.DoubleKind:
		return double(math.Float64bits(v.Float()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return unsigned(new([]byte), v.Uint())
	case protoreflect.EnumKind:
		if zero := fd.Enum().Values().ByNumber(v.Enum()); zero != nil {
			return field{kind: text, text: []byte(zero.Name())}
		}
		return whole(int64(v.Enum()))
	default:
		return whole(v.Int())
	}
}

// action returns what is done with a field so far.
func (m *protobufMessageProgram) action(fd protoreflect.FieldDescriptor) *protobufAction {
	if a := m.find(fd.Number()); a != nil {
		return a
	}
	a := &protobufAction{number: fd.Number(), wire: protobufWire(fd.Kind()), kind: fd.Kind(),
		implicit: !fd.HasPresence() && !wraps(fd.ContainingMessage()), valid: enforcesUTF8(fd),
		required: fd.Cardinality() == protoreflect.Required}
	m.actions = append(m.actions, a)
	if int(a.number) < len(m.low) {
		m.low[a.number] = a
	} else {
		if m.high == nil {
			m.high = map[protowire.Number]*protobufAction{}
		}
		m.high[a.number] = a
	}
	if one := fd.ContainingOneof(); one != nil {
		for i := range one.Fields().Len() {
			if member := one.Fields().Get(i); member.Number() != fd.Number() {
				a.clears = append(a.clears, m.action(member))
			}
		}
	}
	return a
}

func (m *protobufMessageProgram) find(number protowire.Number) *protobufAction {
	if int(number) < len(m.low) {
		return m.low[number]
	}
	return m.high[number]
}

// lead adds the way into a message.
func (l *protobufLayout) lead(m *protobufMessageProgram, fd protoreflect.FieldDescriptor) *protobufMessageProgram {
	a := m.action(fd)
	if a.within == nil {
		a.within = l.program()
	}
	return a.within
}

// take adds a value, and what it is if the message has nothing of it.
func (l *protobufLayout) take(m *protobufMessageProgram, fd protoreflect.FieldDescriptor, slot int, nothing field) {
	a := m.action(fd)
	a.slots = append(a.slots, slot)
	if nothing.kind != none {
		l.absents = append(l.absents, protobufAbsent{slot, m, nothing})
	}
	if values := fd.Enum(); values != nil && a.names == nil {
		a.names = map[int32][]byte{}
		for i := range values.Values().Len() {
			v := values.Values().Get(i)
			if _, named := a.names[int32(v.Number())]; !named { // an alias is not used
				a.names[int32(v.Number())] = []byte(v.Name())
			}
		}
	}
}

// finish sees whether a wanted field is required.
func (l *protobufLayout) finish() { l.required = l.root.requires() }

func (m *protobufMessageProgram) requires() bool {
	return slices.ContainsFunc(m.actions, func(a *protobufAction) bool {
		return a.required && (a.within != nil || len(a.slots) > 0) || a.within != nil && a.within.requires()
	})
}

// enforcesUTF8 reports whether a text of a field must be UTF-8. It does what google.golang.org/protobuf does.
func enforcesUTF8(fd protoreflect.FieldDescriptor) bool {
	if fd.Kind() != protoreflect.StringKind {
		return false
	}
	if says, ok := fd.(interface{ EnforceUTF8() bool }); ok && fd.Syntax() == protoreflect.Editions {
		return says.EnforceUTF8()
	}
	return fd.Syntax() == protoreflect.Proto3
}

// protobufWire is the type of a field on the wire, if it occurs once.
func protobufWire(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	}
	return protowire.VarintType
}
