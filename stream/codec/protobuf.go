package codec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

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
	l := newProtobufLayout(begin)
	for _, p := range wanted {
		path, _ := protobufPath(m.MessageDescriptor, p) // no mistake
		l.add(path, p.role)
	}
	l.finish()
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
		return nil, unfit("the message says %s; want %s", protobufName(last), protobufWants[min(p.role, numRoles)])
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

var protobufWants = [numRoles + 1]string{
	roleValue: "a number, " + duration + ", " + confluent + " or a string that holds a number",
	roleUser:  "a string, an integer or an enum",
	roleGroup: "a string, an integer, an enum or a bool",
	roleClock: "a string",
	numRoles:  "a string, a number, an enum or a bool",
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
		return r == roleGroup || r >= numRoles
	case protoreflect.MessageKind:
		name := fd.Message().FullName()
		return r == roleTime && name == timestamp ||
			(r == roleValue || r >= numRoles) && (name == duration || name == confluent)
	case protoreflect.StringKind:
		return true
	case protoreflect.EnumKind:
		return r == roleUser || r == roleGroup || r >= numRoles
	case protoreflect.DoubleKind:
		return r == roleValue || r == roleTime || r >= numRoles
	case protoreflect.FloatKind:
		return r == roleValue || r >= numRoles
	}
	return true // an integer
}
