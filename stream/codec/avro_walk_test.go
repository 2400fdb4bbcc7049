package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"pgregory.net/rapid"
)

// avroCases are schemas and the fields that are wanted of them.
var avroCases = []struct {
	schema string
	spec   Spec
}{
	{`{"type":"record","name":"Request","fields":[
		{"name":"user","type":{"type":"record","name":"User","fields":[{"name":"id","type":["null","string","long"]}]}},
		{"name":"region","type":{"type":"enum","name":"Region","symbols":["eu","us","mars"]}},
		{"name":"ms","type":["double","null","float","int","long","string",
			{"type":"bytes","logicalType":"decimal","precision":20,"scale":4}]},
		{"name":"ts","type":{"type":"long","logicalType":"timestamp-micros"}},
		{"name":"tags","type":{"type":"map","values":"string"}},
		{"name":"more","type":{"type":"array","items":"null"}},
		{"name":"again","type":["null","Request"]}]}`,
		Spec{User: "user.id", Value: "ms", Time: "ts", Group: "region", Groups: []string{"eu", "us"}}},
	{`{"type":"record","name":"M","namespace":"a.b","fields":[
		{"name":"who","type":{"type":"map","values":{"type":"map","values":["null","string","int",
			{"type":"enum","name":"E","symbols":["x","y"]}]}}},
		{"name":"n","type":{"type":"map","values":{"type":"record","name":"N","fields":[
			{"name":"v","type":["null",{"type":"fixed","name":"F","size":3,"logicalType":"decimal","precision":5,
			"scale":1}]},
			{"name":"t","type":{"type":"long","logicalType":"timestamp-nanos"}},
			{"name":"deep","type":{"type":"array","items":"N"}}]}}}]}`,
		Spec{User: "who.a.b", Value: "n.k.v", Time: "n.k.t", Group: "who.a.c", Open: true}},
	{`[{"type":"record","name":"Paid","fields":[{"name":"who","type":"string"},
		{"name":"of","type":["null","string",{"type":"record","name":"Sum","fields":[
			{"name":"amount","type":"double"}]}]}]},
		{"type":"record","name":"Shipped","fields":[{"name":"parcel","type":"long"},{"name":"who","type":"int"}]},
		{"type":"map","values":"string"}, "null"]`,
		Spec{User: "who", Value: "of.amount"}},
	{`{"type":"record","name":"Value","namespace":"db","fields":[
		{"name":"id","type":"long"},{"name":"ok","type":"boolean"},
		{"name":"amount","type":["null",{"type":"record","name":"VariableScaleDecimal","namespace":"io.debezium.data",
		"fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}]}]},
		{"name":"before","type":["null","io.debezium.data.VariableScaleDecimal"]},
		{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}]}`,
		Spec{User: "id", Value: "amount", Group: "ok", Groups: []string{"true", "false"}, Time: "at"}},
	{`{"type":"record","name":"Top","namespace":"x","fields":[
		{"name":"v","type":{"type":"bytes","logicalType":"big-decimal"}},
		{"name":"node","type":{"type":"record","name":"Node","fields":[{"name":"id","type":"string"},
		{"name":"at","type":["double","long","string","null"]},
		{"name":"empty","type":{"type":"record","name":"Empty","fields":[{"name":"z","type":"null"}]}},
		{"name":"hollow","type":{"type":"array","items":"Empty"}},
		{"name":"fixed","type":{"type":"fixed","name":"G","size":0}},
		{"name":"next","type":["null","Node"]},{"name":"all","type":{"type":"array","items":"x.Node"}},
		{"name":"day","type":{"type":"int","logicalType":"date"}},
		{"name":"id2","type":{"type":"string","logicalType":"uuid"}}]}}]}`,
		Spec{User: "node.id", Value: "v", Time: "node.at", Group: "node.id2", Open: true}},
}

func compareAvro(t testing.TB, text string, s Spec) *comparison {
	t.Helper()
	c, err := Registered{Text: text}.avro()
	if err != nil {
		t.Fatal(err)
	}
	s.Format = "avro"
	if s.Time == "" {
		s.Time = TimestampField
	}
	o := &avroOracle{schema: c.Schema, paths: map[role][]string{}}
	for _, p := range s.parts() {
		if !p.inValue() {
			continue
		}
		if err := c.mistake(p); err != nil {
			t.Fatal(err)
		}
		path, _, _ := c.path(p)
		o.paths[p.role] = path
	}
	return newComparison(t, s, o, s.layout(c))
}

// avroWriter writes data of a schema at random.
type avroWriter struct {
	*rand.Rand
	named map[string]*avro.SchemaNode
}

func (w *avroWriter) long(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func (w *avroWriter) write(b []byte, n *avro.SchemaNode, space string, depth int) []byte {
	switch n.Type {
	case "null":
	case "boolean":
		b = append(b, byte(w.IntN(3)))
	case "int":
		b = w.long(b, int64(int32(w.Uint32())>>w.IntN(32)))
	case "long":
		if w.IntN(2) == 0 {
			b = w.long(b, 1_795_161_600_000_000/[]int64{1, 1000}[w.IntN(2)]*[]int64{1, 1000}[w.IntN(2)])
		} else {
			b = w.long(b, int64(w.Uint64())>>w.IntN(64))
		}
	case "float":
		b = binary.LittleEndian.AppendUint32(b, w.Uint32())
	case "double":
		b = binary.LittleEndian.AppendUint64(b, w.Uint64()>>w.IntN(2))
	case "bytes":
		in := w.some(w.IntN(12))
		if n.LogicalType == "big-decimal" {
			in = w.long(append(w.long(nil, int64(len(in))), in...), int64(w.IntN(20)-5))
		}
		b = append(w.long(b, int64(len(in))), in...)
	case "string":
		in := []string{"", "u1", "eu", "12.5", "é", "\xff", "2026-11-20T08:00:00Z", "1795161600"}[w.IntN(8)]
		b = append(w.long(b, int64(len(in))), in...)
	case "fixed":
		b = append(b, w.some(n.Size)...)
	case "enum":
		b = w.long(b, int64(w.IntN(len(n.Symbols))))
	case "union":
		i := w.IntN(len(n.Branches))
		if depth > 6 { // one that ends
			for i = 0; n.Branches[i].Type != "null" && i < len(n.Branches)-1; i++ {
			}
		}
		b = w.write(w.long(b, int64(i)), &n.Branches[i], space, depth+1)
	case "array", "map":
		for blocks := w.IntN(3); blocks > 0 && depth < 6; blocks-- {
			var block []byte
			count := 1 + w.IntN(3)
			for range count {
				if n.Type == "map" {
					key := []string{"a", "b", "c", "k", ""}[w.IntN(5)]
					block = w.write(append(w.long(block, int64(len(key))), key...), n.Values, space, depth+1)
				} else {
					block = w.write(block, n.Items, space, depth+1)
				}
			}
			if w.IntN(3) == 0 {
				b = w.long(w.long(b, -int64(count)), int64(len(block)))
			} else {
				b = w.long(b, int64(count))
			}
			b = append(b, block...)
		}
		b = w.long(b, 0)
	case "record":
		for i := range n.Fields {
			b = w.write(b, &n.Fields[i].Type, avroSpace(n, ""), depth+1)
		}
	default:
		c := avroCompiler{named: w.named}
		b = w.write(b, c.find(n.Type, space), "", depth)
	}
	return b
}

func (w *avroWriter) some(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(w.Uint32())
	}
	return b
}

func newAvroWriter(root *avro.SchemaNode, seed uint64) *avroWriter {
	c := avroCompiler{named: map[string]*avro.SchemaNode{}}
	c.collect(root)
	return &avroWriter{rand.New(rand.NewPCG(seed, 1)), c.named}
}

// broken changes some bytes of a record, or cuts it.
func broken(random *rand.Rand, b []byte) []byte {
	for range 1 + random.IntN(2) {
		if len(b) == 0 {
			return b
		}
		switch i := random.IntN(len(b)); random.IntN(4) {
		case 0:
			b = b[:i]
		case 1:
			b[i] = byte(random.Uint32())
		case 2:
			b = append(b[:i:i], append([]byte{0xff, 0xff, 0xff, 0xff, 0x7f}[random.IntN(4):], b[i:]...)...)
		case 3:
			b = append(b, b[i])
		}
	}
	return b
}

// Whole and broken data of all schemas are read as the library reads them.
func TestAvroWalkIsTheLibrary(t *testing.T) {
	for i, c := range avroCases {
		both := compareAvro(t, c.schema, c.spec)
		root := avro.MustParse(c.schema).Root()
		w := newAvroWriter(root, uint64(i))
		seen := map[Reason]int{}
		malformed := 0
		const whole = 3000
		for range whole {
			b := w.write(nil, root, "", 0)
			if o := both.same(t, b); o.malformed {
				t.Fatalf("%q is written wrongly", b)
			} else {
				seen[o.reason]++
			}
			if both.same(t, broken(w.Rand, b)).malformed {
				malformed++
			}
		}
		if seen[OK] == 0 || seen[OK] > whole*9/10 || malformed < whole/10 {
			t.Errorf("schema %d: %v, malformed %d; want some of each", i, seen, malformed)
		}
	}
}

// So are those of schemas that are drawn.
func TestAvroWalkOfAnySchema(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		names := 0
		var draw func(depth int) string
		draw = func(depth int) string {
			kinds := []string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum",
				"union", "array", "map", "record", "again"}
			if depth > 3 {
				kinds = kinds[:10]
			}
			names++
			name := fmt.Sprint("N", names)
			switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
			case "fixed":
				return fmt.Sprintf(`{"type":"fixed","name":%q,"size":%d}`, name, rapid.IntRange(0, 4).Draw(t, "size"))
			case "enum":
				return fmt.Sprintf(`{"type":"enum","name":%q,"symbols":["eu","us"]}`, name)
			case "union":
				return `["null",` + fmt.Sprintf(`{"type":"array","items":%s}]`, draw(depth+1))
			case "array":
				return `{"type":"array","items":` + draw(depth+1) + "}"
			case "map":
				return `{"type":"map","values":` + draw(depth+1) + "}"
			case "record":
				var in []string
				for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
					in = append(in, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, draw(depth+1)))
				}
				return fmt.Sprintf(`{"type":"record","name":%q,"fields":[%s]}`, name, strings.Join(in, ","))
			case "again":
				return `["null","Root"]`
			default:
				return `"` + kind + `"`
			}
		}
		schema := fmt.Sprintf(`{"type":"record","name":"Root","fields":[{"name":"a","type":%s},
			{"name":"u","type":["string","null"]},{"name":"b","type":%s},
			{"name":"m","type":{"type":"map","values":{"type":"record","name":"In","fields":[{"name":"c","type":%s},
			{"name":"v","type":["int","float","double"]},{"name":"d","type":%s}]}}},{"name":"e","type":%s}]}`,
			draw(0), draw(0), draw(1), draw(1), draw(0))
		root := avro.MustParse(schema).Root()
		both := compareAvro(outer, schema, Spec{User: "u", Value: "m.k.v"})
		w := newAvroWriter(root, rapid.Uint64().Draw(t, "seed"))
		for range 20 {
			b := w.write(nil, root, "", 0)
			if both.same(t, b).malformed {
				t.Fatalf("%q of %s is written wrongly", b, schema)
			}
			both.same(t, broken(w.Rand, b))
		}
	})
}

// FuzzAvroWalk: see comparison.same.
func FuzzAvroWalk(f *testing.F) {
	var all []*comparison
	for i, c := range avroCases {
		all = append(all, compareAvro(f, c.schema, c.spec))
		root := avro.MustParse(c.schema).Root()
		w := newAvroWriter(root, 7)
		for range 20 {
			f.Add(byte(i), w.write(nil, root, "", 0))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, value []byte) {
		if len(value) <= longestDecimal { // a longer decimal is no value
			all[int(which)%len(all)].same(t, value)
		}
	})
}

// Counts, numbers and depths just within and just beyond what the library reads are read as it reads them.
func TestAvroWalkAtItsLimits(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"u","type":"string"},{"name":"v","type":"int"},
		{"name":"n","type":"long"},{"name":"none","type":{"type":"array","items":"null"}},
		{"name":"within","type":["null","R",{"type":"array","items":"R"},{"type":"map","values":"R"}]}]}`
	both := compareAvro(t, schema, Spec{User: "u", Value: "v"})
	number := func(n int64) string { return string(binary.AppendVarint(nil, n)) }
	record := func(v, n, none, within string) []byte { return []byte("\x02u" + v + n + none + within) }
	seen := map[bool]int{}
	see := func(value []byte) { seen[both.same(t, value).malformed]++ }
	long := strings.Repeat("\x80", 8)
	for _, v := range []string{"\x02", "\x82\x00", "\x80\x80\x80\x80\x00", "\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\x10",
		"\x80\x80\x80\x80\x80\x00", "\x80\x80\x80\x80\x8f\x00", ""} {
		see(record(v, "\x02", "\x00", "\x00"))
		see(record("\x02", "\x02", "\x00", v)) // also as a branch
	}
	for _, n := range []string{number(math.MaxInt64), number(math.MinInt64), long + "\x80\x01", long + "\x80\x02",
		long + "\x80\x81\x00", long + "\x00"} {
		see(record("\x02", n, "\x00", "\x00"))
		see(record("\x02", "\x02", n, "\x00")) // also as a count
		see(record("\x02", "\x02", "\x02"+n+"\x00", "\x00"))
	}
	block := func(count int64) string { // with a size that is wrong
		return number(count) + strings.Repeat(number(7), int(min(1, max(0, -count))))
	}
	for _, count := range []int64{1, 4095, 4096, 4097, -4096, -4097} {
		for _, more := range []int64{0, 1, -1} { // of another block
			none := strings.TrimSuffix(block(count)+block(more), "\x00")
			see(record("\x02", "\x02", none+"\x00", "\x00"))
		}
	}
	for _, step := range []struct{ before, after string }{{"\x02", ""}, {"\x04\x02", "\x00"}, {"\x06\x02\x00", "\x00"}} {
		for _, first := range []string{"", "\x04\x02", "\x06\x02\x00"} { // so that the depth is also odd
			for levels := range 12 {
				levels += 1000/(2+len(step.after)) - 8
				head, tail := record("\x02", "\x02", "\x00", ""), ""
				if first != "" {
					head, tail = append(head, first+string(record("\x02", "\x02", "\x00", ""))...), "\x00"
				}
				for range levels {
					head = append(append(head, step.before...), record("\x02", "\x02", "\x00", "")...)
				}
				see(append(head, "\x00"+strings.Repeat(step.after, levels)+tail...))
			}
		}
	}
	if seen[true] < 30 || seen[false] < 30 {
		t.Errorf("malformed %d, not malformed %d; want some of each", seen[true], seen[false])
	}
}
