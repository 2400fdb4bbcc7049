package codec

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	exactly "github.com/shopspring/decimal"
	"github.com/twmb/avro"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/louver/louver/mechanisms"
)

// The walks over Avro and Protocol Buffers are compared with two libraries. These read a whole record into maps and
// messages, and its fields are then taken from there as texts.

// avroOracle is what avroLayout has to be.
type avroOracle struct {
	schema *avro.Schema
	paths  map[role][]string
	found  fields
}

func (o *avroOracle) find(value []byte) (*fields, bool) {
	var datum any
	if rest, err := o.schema.Decode(value, &datum); err != nil || len(rest) > 0 {
		return nil, false
	}
	o.found = fields{}
	for r, path := range o.paths {
		at := datum
		for _, name := range path {
			within, _ := at.(map[string]any) // nil if it is no record
			at = within[name]
		}
		o.found[r] = avroText(r, at)
	}
	return &o.found, true
}

func avroText(r role, v any) field {
	switch v := v.(type) {
	case nil:
		return field{}
	case string:
		if utf8.ValidString(v) {
			return field{kind: text, text: []byte(v)}
		}
	case bool:
		return field{kind: truth, text: strconv.AppendBool(nil, v)}
	case int32:
		return field{kind: number, text: strconv.AppendInt(nil, int64(v), 10)}
	case int64:
		return field{kind: number, text: strconv.AppendInt(nil, v, 10)}
	case float32:
		return floatText(r, float64(v), 32)
	case float64:
		return floatText(r, v, 64)
	case *big.Rat:
		if digits, exact := v.FloatPrec(); r == roleValue && exact {
			return field{kind: number, text: []byte(v.FloatString(digits))}
		}
	case map[string]any: // a VariableScaleDecimal
		scale, scaled := v["scale"].(int32)
		twos, valued := v["value"].([]byte)
		if b, ok := appendDecimal(nil, twos, int64(scale)); r == roleValue && scaled && valued && ok {
			return field{kind: number, text: b}
		}
	case time.Time:
		if r == roleTime {
			return field{kind: text, text: v.UTC().AppendFormat(nil, time.RFC3339Nano)}
		}
	}
	return field{kind: other}
}

// floatText is a binary fraction in the fewest digits that tell it from its neighbours.
func floatText(r role, v float64, bits int) field {
	if math.IsNaN(v) || math.IsInf(v, 0) || r != roleValue && r != roleTime {
		return field{kind: other}
	}
	return field{kind: number, text: strconv.AppendFloat(nil, v, 'g', -1, bits)}
}

// protobufOracle is what protobufLayout has to be, if the descriptor has only the fields on the way to wanted ones.
type protobufOracle struct {
	descriptor protoreflect.MessageDescriptor
	paths      map[role][]protoreflect.FieldDescriptor
	found      fields
}

func (o *protobufOracle) find(value []byte) (*fields, bool) {
	message := dynamicpb.NewMessage(o.descriptor)
	if (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 100}).Unmarshal(value, message) != nil {
		return nil, false
	}
	o.found = fields{}
	for r, path := range o.paths {
		o.found[r] = protobufText(r, message, path)
	}
	return &o.found, true
}

func protobufText(r role, at protoreflect.Message, path []protoreflect.FieldDescriptor) field {
	last := len(path) - 1
	for _, fd := range path[:last] {
		if !at.Has(fd) {
			return field{}
		}
		at = at.Get(fd).Message()
	}
	fd := path[last]
	if !at.Has(fd) && !wraps(fd.ContainingMessage()) &&
		(fd.HasPresence() || r != roleValue && fd.Kind() != protoreflect.BoolKind) {
		return field{}
	}
	v := at.Get(fd)
	switch fd.Kind() {
	case protoreflect.StringKind:
		return field{kind: text, text: []byte(v.String())}
	case protoreflect.EnumKind:
		if name := fd.Enum().Values().ByNumber(v.Enum()); name != nil {
			return field{kind: text, text: []byte(name.Name())}
		}
		return field{kind: number, text: strconv.AppendInt(nil, int64(v.Enum()), 10)}
	case protoreflect.BoolKind:
		return field{kind: truth, text: strconv.AppendBool(nil, v.Bool())}
	case protoreflect.FloatKind:
		return floatText(r, v.Float(), 32)
	case protoreflect.DoubleKind:
		return floatText(r, v.Float(), 64)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return field{kind: number, text: strconv.AppendUint(nil, v.Uint(), 10)}
	case protoreflect.MessageKind:
		return field{kind: text, text: []byte(wellKnownText(v.Message()))}
	}
	return field{kind: number, text: strconv.AppendInt(nil, v.Int(), 10)}
}

// wellKnownText is a time in RFC 3339, a number of seconds, or a decimal.
func wellKnownText(m protoreflect.Message) string {
	all := m.Descriptor().Fields()
	if m.Descriptor().FullName() == confluent {
		b, ok := appendDecimal(nil, m.Get(all.ByName("value")).Bytes(), m.Get(all.ByName("scale")).Int())
		if !ok {
			return "no decimal"
		}
		return string(b)
	}
	seconds, nanos := m.Get(all.ByNumber(1)).Int(), m.Get(all.ByNumber(2)).Int()
	if m.Descriptor().FullName() == timestamp {
		if seconds < 0 || seconds >= 253402300800 || nanos < 0 || nanos >= 1e9 { // the year 10000
			return "no time"
		}
		return time.Unix(seconds, nanos).UTC().Format(time.RFC3339Nano)
	}
	const most = 10000 * 365.25 * 24 * 60 * 60
	if math.Abs(float64(nanos)) >= 1e9 || seconds < 0 && nanos > 0 || seconds > 0 && nanos < 0 ||
		math.Abs(float64(seconds)) > most {
		return "no duration"
	}
	sign := ""
	if seconds < 0 || nanos < 0 {
		sign = "-"
	}
	return fmt.Sprintf("%s%d.%09d", sign, max(seconds, -seconds), max(nanos, -nanos))
}

// comparison compares a walk with its oracle.
type comparison struct {
	rules        rules
	oracle, walk layout
}

func newComparison(t testing.TB, s Spec, oracle, walk layout) *comparison {
	t.Helper()
	g, err := mechanisms.NewGrid(exactly.NewFromInt(-100), exactly.NewFromInt(60000), exactly.New(1, -1))
	if err != nil {
		t.Fatal(err)
	}
	s.Grid, s.MaxFuture = g, time.Hour
	return &comparison{newRules(s), oracle, walk}
}

// outcome is all that a decoder says of a record.
type outcome struct {
	malformed       bool
	reason          Reason
	missing         bool
	doubt           string
	user, name      string
	group           int
	nanoseconds, at int64
}

func (c *comparison) outcome(l layout, value []byte) (o outcome) {
	f, ok := l.find(value)
	if !ok {
		return outcome{malformed: true}
	}
	var e Event
	r := Record{Value: value, Time: 1_795_161_601e9}
	if o.reason = c.rules.event(&r, f, &e); o.reason != OK {
		o.missing = c.rules.Missing()
		if o.reason == BadValue {
			o.doubt = c.rules.Doubt()
		}
		return o
	}
	o.user, o.name, o.group, o.nanoseconds, o.at = string(e.User), string(e.Name), e.Group, e.Time, e.Value
	return o
}

// same: both say the same of a record.
func (c *comparison) same(t interface{ Fatalf(string, ...any) }, value []byte) outcome {
	kept := string(value)
	want := c.outcome(c.oracle, value)
	got := c.outcome(c.walk, value)
	if got != want {
		t.Fatalf("%q: %+v, but the library makes it %+v", value, got, want)
	}
	if string(value) != kept {
		t.Fatalf("the record is changed")
	}
	return got
}
