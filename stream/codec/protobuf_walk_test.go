package codec

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// protobufCases are messages and the fields that are wanted of them. The bare one has only the fields on the way there,
// so that the library, too, looks at nothing else. What else is a member of a oneof is bytes there.
var protobufCases = []struct {
	whole, bare string
	spec        Spec
}{
	{`syntax = "proto3"; package web; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
		message Request { User user = 1; Region region = 2; double ms = 3; google.protobuf.Timestamp ts = 4;
		int64 epoch = 5; optional uint64 size = 6; repeated Request earlier = 7; google.protobuf.DoubleValue amount = 8;
		map<string, User> all = 9; string note = 100; repeated sint32 packed = 101; }
		message User { oneof who { string id = 1; fixed64 number = 2; Request other = 40; bytes raw = 41; } }
		enum Region { nowhere = 0; eu = 1; us = 2; mars = -3; }`,
		`syntax = "proto3"; package web; import "google/protobuf/timestamp.proto";
		message Request { User user = 1; Region region = 2; double ms = 3; google.protobuf.Timestamp ts = 4; }
		message User { oneof who { string id = 1; fixed64 number = 2; bytes other = 40; bytes raw = 41; } }
		enum Region { nowhere = 0; eu = 1; us = 2; mars = -3; }`,
		Spec{User: "user.id", Value: "ms", Time: "ts", Group: "region", Groups: []string{"eu", "us"}}},
	{`syntax = "proto3"; import "google/protobuf/wrappers.proto"; import "google/protobuf/duration.proto";
		message M { oneof one { google.protobuf.Int64Value client = 9; In in = 33; string none = 2; }
		google.protobuf.Duration took = 10; google.protobuf.BoolValue member = 2000; bytes more = 11; }
		message In { google.protobuf.StringValue who = 1; repeated In in = 2; sfixed32 n = 3; }`,
		`syntax = "proto3"; import "google/protobuf/wrappers.proto"; import "google/protobuf/duration.proto";
		message M { oneof one { bytes client = 9; In in = 33; bytes none = 2; }
		google.protobuf.Duration took = 10; google.protobuf.BoolValue member = 2000; }
		message In { google.protobuf.StringValue who = 1; }`,
		Spec{User: "in.who", Value: "took", Group: "member", Groups: []string{"true", "false"}}},
	{`syntax = "proto2"; message M { required string id = 1;
		optional group G = 2 { optional sint64 v = 1 [default = 7]; required fixed32 t = 3; optional string x = 4; }
		optional In in = 5; repeated int32 packed = 6 [packed = true]; }
		message In { required sint32 g = 1; optional bytes y = 2; }`,
		`syntax = "proto2"; message M { required string id = 1;
		optional group G = 2 { optional sint64 v = 1 [default = 7]; required fixed32 t = 3; }
		optional In in = 5; } message In { required sint32 g = 1; }`,
		Spec{User: "id", Value: "g.v", Time: "g.t", Group: "in.g", Open: true}},
	{`syntax = "proto3"; package confluent.type;
		message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
		message M { uint64 id = 1; Decimal d = 2; double at = 3; int32 g = 4; M more = 5; }`,
		`syntax = "proto3"; package confluent.type; message Decimal { bytes value = 1; int32 scale = 3; }
		message M { uint64 id = 1; Decimal d = 2; double at = 3; int32 g = 4; }`,
		Spec{User: "id", Value: "d", Time: "at", Group: "g", Open: true}},
	{`edition = "2023"; option features.field_presence = IMPLICIT;
		message M { uint32 id = 1; float v = 2; string s = 3 [features.utf8_validation = NONE]; M in = 4
		[features.message_encoding = DELIMITED]; int64 t = 5 [features.field_presence = EXPLICIT]; string x = 6; }`,
		`edition = "2023"; option features.field_presence = IMPLICIT;
		message M { uint32 id = 1; float v = 2; string s = 3 [features.utf8_validation = NONE]; In in = 4
		[features.message_encoding = DELIMITED]; int64 t = 5 [features.field_presence = EXPLICIT]; }
		message In { string s = 3 [features.utf8_validation = NONE]; }`,
		Spec{User: "in.s", Value: "v", Time: "t", Group: "s", Open: true}},
	{`syntax = "proto3"; import "google/protobuf/timestamp.proto";
		message M { google.protobuf.Timestamp ts = 1; string v = 2; bool u = 3; repeated string w = 4; }`,
		`syntax = "proto3"; import "google/protobuf/timestamp.proto";
		message M { google.protobuf.Timestamp ts = 1; string v = 2; }`,
		Spec{User: "ts.nanos", Value: "v", Time: "ts", Group: "ts.seconds", Open: true}},
}

// protobufMessageOf returns the message of the events. It is the first one that is not Confluent's Decimal.
func protobufMessageOf(t testing.TB, text string) protoreflect.MessageDescriptor {
	t.Helper()
	r := Registered{Text: text}
	m, err := r.message([]int{0})
	if err == nil && m.FullName() == confluent {
		m, err = r.message([]int{1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func compareProtobuf(t testing.TB, text, bare string, s Spec) (*comparison, protoreflect.MessageDescriptor) {
	t.Helper()
	s.Format = "protobuf"
	if s.Time == "" {
		s.Time = TimestampField
	}
	m := protobufMessageOf(t, text)
	o := &protobufOracle{descriptor: protobufMessageOf(t, bare), paths: map[role][]protoreflect.FieldDescriptor{}}
	for _, p := range s.parts() {
		if !p.inValue() {
			continue
		}
		path, err := protobufPath(o.descriptor, p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := protobufPath(m, p); err != nil {
			t.Fatal(err)
		}
		o.paths[p.role] = path
	}
	return newComparison(t, s, o, s.layout(protobufMessage{m})), m
}

// protobufWriter writes messages at random: fields in any order, several times, with a wrong type on the wire, and some
// that no schema knows.
type protobufWriter struct{ *rand.Rand }

func (w protobufWriter) message(m protoreflect.MessageDescriptor, depth int) (b []byte) {
	for range w.IntN(2 * (m.Fields().Len() + 1)) {
		fd := m.Fields().Get(w.IntN(m.Fields().Len()))
		wire := protobufWire(fd.Kind())
		if w.IntN(30) == 0 {
			wire = protowire.Type(w.IntN(6))
		}
		number := fd.Number()
		if w.IntN(30) == 0 {
			number = protowire.Number(1 + w.IntN(3000))
		}
		b = protowire.AppendTag(b, number, wire)
		switch wire {
		case protowire.VarintType:
			v := w.Uint64() >> w.IntN(64)
			if w.IntN(2) == 0 {
				v = uint64(w.IntN(4))
			}
			b = protowire.AppendVarint(b, v)
		case protowire.Fixed32Type:
			b = protowire.AppendFixed32(b, []uint32{0, 1 << 31, 1_795_161_600, w.Uint32()}[w.IntN(4)])
		case protowire.Fixed64Type:
			b = protowire.AppendFixed64(b, []uint64{0, 1 << 63, 0x4028000000000000, w.Uint64()}[w.IntN(4)])
		case protowire.StartGroupType:
			if fd.Message() != nil && depth < 4 {
				b = append(b, w.message(fd.Message(), depth+1)...)
			}
			b = protowire.AppendTag(b, number, protowire.EndGroupType)
		case protowire.BytesType:
			in := []byte([]string{"", "u1", "eu", "12.5", "é", "\xff", "\x04\xd2"}[w.IntN(7)])
			switch {
			case fd.Message() == nil || depth > 3:
			case fd.Message().FullName() == timestamp && w.IntN(2) == 0:
				in = protowire.AppendVarint([]byte{8}, 1_795_161_600)
			default:
				in = w.message(fd.Message(), depth+1)
			}
			b = protowire.AppendBytes(b, in)
		}
	}
	return b
}

// Whole and broken messages are read as the library reads them.
func TestProtobufWalkIsTheLibrary(t *testing.T) {
	for i, c := range protobufCases {
		both, m := compareProtobuf(t, c.whole, c.bare, c.spec)
		w := protobufWriter{rand.New(rand.NewPCG(uint64(i), 2))}
		seen := map[Reason]int{}
		malformed := 0
		const whole = 6000
		for range whole {
			b := w.message(m, 0)
			o := both.same(t, b)
			if !o.malformed {
				seen[o.reason]++
			}
			if both.same(t, broken(w.Rand, b)).malformed {
				malformed++
			}
		}
		if seen[OK] == 0 || seen[OK] > whole*9/10 || malformed < whole/10 {
			t.Errorf("message %d: %v, malformed %d; want some of each", i, seen, malformed)
		}
	}
}

// FuzzProtobufWalk: see comparison.same.
func FuzzProtobufWalk(f *testing.F) {
	var all []*comparison
	for i, c := range protobufCases {
		both, m := compareProtobuf(f, c.whole, c.bare, c.spec)
		all = append(all, both)
		w := protobufWriter{rand.New(rand.NewPCG(uint64(i), 3))}
		for range 20 {
			f.Add(byte(i), w.message(m, 0))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, value []byte) { all[int(which)%len(all)].same(t, value) })
}
