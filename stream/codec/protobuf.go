package codec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// protobufLayout reads records whose value is one message of Protocol Buffers.
type protobufLayout struct {
	message *dynamicpb.Message
	wanted  []protobufField
	begin   fields // before the wanted fields are looked for
	texts   [numRoles][]byte
}

type protobufField struct {
	role role
	path []protoreflect.FieldDescriptor
	// wrapped says that the last field is that of a wrapper, such as google.protobuf.Int64Value. A wrapper that is set has
	// a value, also if that is a zero.
	wrapped bool
}

// unmarshal skips fields that the schema does not know, as newer producers may send them.
var unmarshal = proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 100}

// protobufMessage is the message that records hold.
type protobufMessage struct{ protoreflect.MessageDescriptor }

var protobufFormat = schematic{
	holder: "message",
	placed: true,
	own: func(s Schema) (schema, error) {
		message, err := s.descriptor()
		return protobufMessage{message}, err
	},
	registered: func(r Registered, place []int) (schema, error) {
		message, err := r.message(place)
		return protobufMessage{message}, err
	},
}

// descriptor finds the message in the set.
func (s Schema) descriptor() (protoreflect.MessageDescriptor, error) {
	raw, err := base64.StdEncoding.DecodeString(s.Text)
	if err != nil {
		return nil, errors.New("not base64; want a set of file descriptors, or a .proto file")
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil || len(set.File) == 0 {
		return nil, errors.New("not a set of file descriptors; " +
			"want what protoc --include_imports --descriptor_set_out writes, or a .proto file")
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("not the whole set of file descriptors (%w); "+
			"want one that protoc writes with --include_imports", err)
	}
	return findMessage(files, s.Message)
}

// findMessage finds a message by its full name.
func findMessage(files *protoregistry.Files, name string) (protoreflect.MessageDescriptor, error) {
	if d, err := files.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
		if message, ok := d.(protoreflect.MessageDescriptor); ok {
			return message, nil
		}
	}
	var known []string
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(f.Path(), "google/protobuf/") {
			for i := range f.Messages().Len() {
				known = append(known, string(f.Messages().Get(i).FullName()))
			}
		}
		return true
	})
	slices.Sort(known)
	want := strings.Join(known[:min(len(known), 10)], ", ")
	if name == "" {
		return nil, fmt.Errorf("message is missing; want one such as %s", want)
	}
	return nil, fmt.Errorf("no message %q in it; want one such as %s", name, want)
}

func (m protobufMessage) layout(wanted []part, begin fields) layout {
	l := &protobufLayout{message: dynamicpb.NewMessage(m.MessageDescriptor), begin: begin}
	for _, p := range wanted {
		path, _ := protobufPath(m.MessageDescriptor, p) // no mistake
		last := path[len(path)-1]
		l.wanted = append(l.wanted, protobufField{p.role, path, wraps(last.ContainingMessage())})
	}
	return l
}

func (m protobufMessage) mistake(p part) error {
	_, err := protobufPath(m.MessageDescriptor, p)
	return err
}

// protobufPath finds the fields on the way to a part of an event. A wrapper stands for what is in it.
func protobufPath(message protoreflect.MessageDescriptor, p part) (path []protoreflect.FieldDescriptor, err error) {
	for _, name := range Path(p.field) {
		if message == nil {
			return nil, unfit("%s has no fields; want a path into messages", path[len(path)-1].FullName())
		}
		fd := message.Fields().ByName(protoreflect.Name(name))
		if fd == nil {
			var names []string
			for i := range message.Fields().Len() {
				names = append(names, string(message.Fields().Get(i).Name()))
			}
			return nil, absent("message %s has no such field; want one of %s", message.FullName(),
				strings.Join(names, ", "))
		}
		if fd.IsList() || fd.IsMap() {
			return nil, unfit("%s is repeated; want a field that occurs once", fd.FullName())
		}
		path, message = append(path, fd), fd.Message()
	}
	if message != nil && wraps(message) {
		path = append(path, message.Fields().ByNumber(1))
	}
	if last := path[len(path)-1]; !protobufTakes(p.role, last) {
		return nil, unfit("the message says %s; want %s", protobufName(last), protobufWants[p.role])
	}
	return path, nil
}

const (
	timestamp = "google.protobuf.Timestamp"
	duration  = "google.protobuf.Duration"
	confluent = "confluent.type.Decimal"
)

// wraps reports whether a message is one of google/protobuf/wrappers.proto that can be a part of an event.
func wraps(m protoreflect.MessageDescriptor) bool {
	switch m.FullName() {
	case "google.protobuf.DoubleValue", "google.protobuf.FloatValue", "google.protobuf.Int64Value",
		"google.protobuf.UInt64Value", "google.protobuf.Int32Value", "google.protobuf.UInt32Value",
		"google.protobuf.BoolValue", "google.protobuf.StringValue":
		return m.Fields().ByNumber(1) != nil
	}
	return false
}

func protobufName(fd protoreflect.FieldDescriptor) string {
	if fd.Message() != nil {
		return string(fd.Message().FullName())
	}
	return fd.Kind().String()
}

var protobufWants = [numRoles]string{
	roleValue: "a number, " + duration + ", " + confluent + " or a string that holds a number",
	roleUser:  "a string, an integer or an enum",
	roleGroup: "a string, an integer, an enum or a bool",
	roleClock: "a string",
	roleTime:  timestamp + ", an integer, a double or a string",
}

func protobufTakes(r role, fd protoreflect.FieldDescriptor) bool {
	if r == roleClock {
		return fd.Kind() == protoreflect.StringKind
	}
	switch fd.Kind() {
	case protoreflect.BytesKind, protoreflect.GroupKind:
		return false
	case protoreflect.BoolKind:
		return r == roleGroup
	case protoreflect.MessageKind:
		name := fd.Message().FullName()
		return r == roleTime && name == timestamp || r == roleValue && (name == duration || name == confluent)
	case protoreflect.StringKind:
		return true
	case protoreflect.EnumKind:
		return r == roleUser || r == roleGroup
	case protoreflect.DoubleKind:
		return r == roleValue || r == roleTime
	case protoreflect.FloatKind:
		return r == roleValue
	}
	return true // an integer
}

func (l *protobufLayout) find(value []byte, f *fields) bool {
	proto.Reset(l.message)
	if unmarshal.Unmarshal(value, l.message) != nil {
		return false
	}
	*f = l.begin
	for _, w := range l.wanted {
		f[w.role] = l.field(w)
	}
	return true
}

// field follows a path to its value. A message that is not set has no fields. Where a record cannot tell a zero from
// nothing, the zero is a value, but neither a user, a group nor a time. A bool that is not there is false.
func (l *protobufLayout) field(w protobufField) field {
	at, last := l.message.ProtoReflect(), len(w.path)-1
	for _, fd := range w.path[:last] {
		if !at.Has(fd) {
			return field{}
		}
		at = at.Get(fd).Message()
	}
	fd := w.path[last]
	if !at.Has(fd) && !w.wrapped && (fd.HasPresence() || w.role != roleValue && fd.Kind() != protoreflect.BoolKind) {
		return field{}
	}
	b := l.texts[w.role][:0]
	k := number
	v := at.Get(fd)
	switch fd.Kind() {
	case protoreflect.StringKind:
		k, b = text, append(b, v.String()...)
	case protoreflect.EnumKind:
		if name := fd.Enum().Values().ByNumber(v.Enum()); name != nil {
			k, b = text, append(b, name.Name()...)
		} else {
			b = strconv.AppendInt(b, int64(v.Enum()), 10)
		}
	case protoreflect.BoolKind:
		k, b = truth, strconv.AppendBool(b, v.Bool())
	case protoreflect.FloatKind:
		k, b = floating(w.role, b, v.Float(), 32)
	case protoreflect.DoubleKind:
		k, b = floating(w.role, b, v.Float(), 64)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		b = strconv.AppendUint(b, v.Uint(), 10)
	case protoreflect.MessageKind:
		k = text
		switch fd.Message().FullName() {
		case timestamp:
			b = appendTimestamp(b, v.Message())
		case confluent:
			b = appendConfluent(b, v.Message())
		default:
			b = appendDuration(b, v.Message())
		}
	default:
		b = strconv.AppendInt(b, v.Int(), 10)
	}
	l.texts[w.role] = b
	return field{k, b}
}

// appendTimestamp writes a google.protobuf.Timestamp as RFC 3339. If it is out of range, the text is no time.
func appendTimestamp(b []byte, m protoreflect.Message) []byte {
	all := m.Descriptor().Fields()
	seconds, nanos := m.Get(all.ByNumber(1)).Int(), m.Get(all.ByNumber(2)).Int()
	const year10000 = 253402300800
	if nanos < 0 || nanos >= int64(time.Second) || seconds < 0 || seconds >= year10000 {
		return append(b, "no time"...)
	}
	return time.Unix(seconds, nanos).UTC().AppendFormat(b, time.RFC3339Nano)
}

// appendDuration writes a google.protobuf.Duration as a number of seconds. If it is out of range, or its signs differ,
// the text is no number.
func appendDuration(b []byte, m protoreflect.Message) []byte {
	all := m.Descriptor().Fields()
	seconds, nanos := m.Get(all.ByNumber(1)).Int(), m.Get(all.ByNumber(2)).Int()
	const years10000 = 315576000000
	if nanos <= -int64(time.Second) || nanos >= int64(time.Second) || seconds < 0 && nanos > 0 ||
		seconds > 0 && nanos < 0 || seconds < -years10000 || seconds > years10000 {
		return append(b, "no duration"...)
	}
	if seconds < 0 || nanos < 0 {
		b, seconds, nanos = append(b, '-'), -seconds, -nanos
	}
	b = append(strconv.AppendInt(b, seconds, 10), '.')
	for unit := int64(time.Second) / 10; unit > 0; unit /= 10 {
		b = append(b, '0'+byte(nanos/unit%10))
	}
	return b
}

// appendConfluent writes a decimal as Confluent's converter for Protocol Buffers has it. If it has no bytes, the text is
// no number.
func appendConfluent(b []byte, m protoreflect.Message) []byte {
	twos, scale := m.Descriptor().Fields().ByName("value"), m.Descriptor().Fields().ByName("scale")
	if twos == nil || scale == nil || twos.Kind() != protoreflect.BytesKind || scale.Kind() != protoreflect.Int32Kind {
		return append(b, "no decimal"...)
	}
	b, ok := appendDecimal(b, m.Get(twos).Bytes(), m.Get(scale).Int())
	if !ok {
		return append(b, "no decimal"...)
	}
	return b
}
