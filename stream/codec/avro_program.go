package codec

import (
	"math"
	"slices"
	"strings"

	"github.com/twmb/avro"
)

// avroProgram is how the wanted fields of a datum are found and the rest is skipped: operations in the order of the
// writer's schema.
type avroProgram struct{ operations []avroOperation }

type avroOperation struct {
	code  avroCode
	size  int            // bytes of what has a fixed width; symbols of an enum; nanoseconds of a unit of time
	scale int64          // of a decimal
	slots []int          // the fields that the value is, or all that lie within the wanted entries of a map
	parts []*avroProgram // a record; the branches of a union; the items of an array; the other values of a map
	keys  []avroKey      // of a map
	names [][]byte       // the symbols of an enum
}

// avroKey is a wanted key of a map.
type avroKey struct {
	name  string
	slots []int // that lie within its value
	value *avroProgram
}

type avroCode uint8

const (
	// These are skipped.
	avroFixed avroCode = iota // also runs of them
	avroInt
	avroLong
	avroBytes // and strings
	avroEnum
	// These lead further.
	avroRecord
	avroUnion
	avroArray
	avroEmpties // an array whose items have no width
	avroMap
	// These are fields.
	avroTakeText
	avroTakeInt
	avroTakeLong
	avroTakeTime
	avroTakeFloat
	avroTakeDouble
	avroTakeTruth
	avroTakeSymbol
	avroTakeBytes
	avroTakeFixed
	avroTakeDecimal
	avroTakeFixedDecimal
	avroTakeBigDecimal
	avroTakeVariable // a record of a scale and a value
	avroRefuse       // sets the fields to what no part of an event is; what they hold follows
)

// Slots after those of the roles: what a VariableScaleDecimal consists of.
const (
	avroScale = numFields + iota
	avroUnscaled
	avroSlots
)

// avroWant is a node of the tree of wanted fields.
type avroWant struct {
	slots  []int
	within map[string]*avroWant
}

func (w *avroWant) add(path []string, slot int) {
	if len(path) == 0 {
		w.slots = append(w.slots, slot)
		return
	}
	if w.within[path[0]] == nil {
		if w.within == nil {
			w.within = map[string]*avroWant{}
		}
		w.within[path[0]] = &avroWant{}
	}
	w.within[path[0]].add(path[1:], slot)
}

// all are the slots of a node and of all below it.
func (w *avroWant) all() (slots []int) {
	slots = slices.Clone(w.slots)
	for _, in := range w.within {
		slots = append(slots, in.all()...)
	}
	return slots
}

func (w *avroWant) nothing() bool { return w == nil || len(w.slots) == 0 && len(w.within) == 0 }

// avroCompiler makes programs of a schema.
type avroCompiler struct {
	named   map[string]*avro.SchemaNode // by the full name
	skipped map[string]*avroProgram     // those that skip a record
	hollows map[string]bool             // the records that are known to have a width, or none
}

func compileAvro(root *avro.SchemaNode, want *avroWant) *avroProgram {
	c := &avroCompiler{named: map[string]*avro.SchemaNode{}, skipped: map[string]*avroProgram{},
		hollows: map[string]bool{}}
	c.collect(root)
	p := &avroProgram{}
	c.compile(p, root, "", want)
	return p
}

// avroFull is the full name of a named type.
func avroFull(n *avro.SchemaNode) string {
	if n.Namespace == "" || strings.Contains(n.Name, ".") {
		return strings.TrimPrefix(n.Name, ".")
	}
	return n.Namespace + "." + n.Name
}

// avroSpace is the namespace of the names within a node.
func avroSpace(n *avro.SchemaNode, outer string) string {
	if n.Name == "" {
		return outer
	}
	full := avroFull(n)
	return full[:max(0, strings.LastIndexByte(full, '.'))]
}

// collect finds the named types.
func (c *avroCompiler) collect(n *avro.SchemaNode) {
	switch n.Type {
	case "array":
		c.collect(n.Items)
	case "map":
		c.collect(n.Values)
	case "union":
		for i := range n.Branches {
			c.collect(&n.Branches[i])
		}
	case "enum", "fixed":
		c.named[avroFull(n)] = n
	case "record", "error":
		c.named[avroFull(n)] = n
		for i := range n.Fields {
			c.collect(&n.Fields[i].Type)
		}
	}
}

// find returns the type of a name: that of the namespace in which the name stands, or else the one without a namespace.
func (c *avroCompiler) find(name, space string) *avro.SchemaNode {
	if short, outside := strings.CutPrefix(name, "."); outside && !strings.Contains(short, ".") {
		return c.named[short]
	}
	if space != "" && !strings.Contains(name, ".") {
		if n := c.named[space+"."+name]; n != nil {
			return n
		}
	}
	return c.named[name]
}

// compile adds what reads a value of a type. space is the namespace in which the type stands.
func (c *avroCompiler) compile(p *avroProgram, n *avro.SchemaNode, space string, want *avroWant) {
	if want.nothing() {
		want = nil
	}
	switch n.Type {
	case "null":
	case "boolean":
		c.leaf(p, n, want, avroOperation{code: avroFixed, size: 1})
	case "int":
		c.leaf(p, n, want, avroOperation{code: avroInt})
	case "long":
		c.leaf(p, n, want, avroOperation{code: avroLong})
	case "float":
		c.leaf(p, n, want, avroOperation{code: avroFixed, size: 4})
	case "double":
		c.leaf(p, n, want, avroOperation{code: avroFixed, size: 8})
	case "bytes", "string":
		c.leaf(p, n, want, avroOperation{code: avroBytes})
	case "fixed":
		c.leaf(p, n, want, avroOperation{code: avroFixed, size: n.Size})
	case "enum":
		c.leaf(p, n, want, avroOperation{code: avroEnum, size: len(n.Symbols)})
	case "union":
		union := avroOperation{code: avroUnion}
		for i := range n.Branches {
			branch := &avroProgram{}
			c.compile(branch, &n.Branches[i], space, want)
			union.parts = append(union.parts, branch)
		}
		p.operations = append(p.operations, union)
	case "array":
		c.refuse(p, want)
		items := &avroProgram{}
		c.compile(items, n.Items, space, nil)
		array := avroOperation{code: avroArray, parts: []*avroProgram{items}}
		if c.hollow(n.Items, space) {
			array.code = avroEmpties
		}
		p.operations = append(p.operations, array)
	case "map":
		c.entries(p, n, space, want)
	case "record", "error":
		c.record(p, n, want)
	default:
		if named := c.find(n.Type, space); named != nil {
			c.compile(p, named, "", want)
		}
	}
}

func (c *avroCompiler) entries(p *avroProgram, n *avro.SchemaNode, space string, want *avroWant) {
	c.refuse(p, want)
	other := &avroProgram{}
	c.compile(other, n.Values, space, nil)
	m := avroOperation{code: avroMap, parts: []*avroProgram{other}}
	if want != nil {
		for name, within := range want.within {
			value := &avroProgram{}
			c.compile(value, n.Values, space, within)
			m.keys = append(m.keys, avroKey{name, within.all(), value})
		}
	}
	p.operations = append(p.operations, m)
}

// record adds what reads a record. Records of which nothing is wanted are compiled once, as they may hold themselves.
func (c *avroCompiler) record(p *avroProgram, n *avro.SchemaNode, want *avroWant) {
	full := avroFull(n)
	code := avroRecord
	body := c.skipped[full]
	if want != nil || body == nil {
		body = &avroProgram{}
		if want == nil {
			c.skipped[full] = body
		} else if len(want.slots) > 0 {
			if full == variableDecimal && slices.Equal(want.slots, []int{int(roleValue)}) {
				code, want = avroTakeVariable, want.variable()
			} else {
				c.refuse(p, want)
			}
		}
		for i := range n.Fields {
			var within *avroWant
			if want != nil {
				within = want.within[n.Fields[i].Name]
			}
			c.compile(body, &n.Fields[i].Type, avroSpace(n, ""), within)
		}
	}
	p.operations = append(p.operations, avroOperation{code: code, parts: []*avroProgram{body}})
}

// variable are the wants of a VariableScaleDecimal.
func (w *avroWant) variable() *avroWant {
	parts := &avroWant{within: map[string]*avroWant{}}
	for name, in := range w.within {
		parts.within[name] = &avroWant{slots: slices.Clone(in.slots), within: in.within}
	}
	parts.add([]string{"scale"}, avroScale)
	parts.add([]string{"value"}, avroUnscaled)
	return parts
}

// refuse says that the wanted fields are of a type that no part of an event has.
func (c *avroCompiler) refuse(p *avroProgram, want *avroWant) {
	if want != nil && len(want.slots) > 0 {
		p.operations = append(p.operations, avroOperation{code: avroRefuse, slots: want.slots})
	}
}

// leaf adds what reads a value without parts. Runs of fixed width become one.
func (c *avroCompiler) leaf(p *avroProgram, n *avro.SchemaNode, want *avroWant, skip avroOperation) {
	if want != nil && len(want.slots) > 0 {
		take := avroTaking(n)
		for _, slot := range want.slots {
			if avroFills(slot, n) {
				take.slots = append(take.slots, slot)
			} else {
				p.operations = append(p.operations, avroOperation{code: avroRefuse, slots: []int{slot}})
			}
		}
		if len(take.slots) > 0 {
			p.operations = append(p.operations, take)
			return
		}
	}
	if last := len(p.operations) - 1; skip.code == avroFixed && last >= 0 && p.operations[last].code == avroFixed &&
		skip.size <= math.MaxInt-p.operations[last].size {
		p.operations[last].size += skip.size
		return
	}
	p.operations = append(p.operations, skip)
}

// avroFills reports whether a value without parts can be in a slot.
func avroFills(slot int, n *avro.SchemaNode) bool {
	switch slot {
	case avroScale:
		return n.Type == "int" && avroTaking(n).code == avroTakeInt
	case avroUnscaled:
		code := avroTaking(n).code
		return code == avroTakeBytes || code == avroTakeFixed
	}
	return avroTakes(role(slot), n)
}

// avroTaking is what reads a value without parts as a field. It ignores logical types where Avro does not have them.
func avroTaking(n *avro.SchemaNode) (o avroOperation) {
	switch n.Type {
	case "boolean":
		o.code = avroTakeTruth
	case "int":
		if o.code = avroTakeInt; n.LogicalType == "date" || n.LogicalType == "time-millis" {
			o.code = avroInt
		}
	case "long":
		o.code = avroTakeLong
		if unit, timed := avroUnits[n.LogicalType]; timed {
			o.code, o.size = avroTakeTime, unit
		}
	case "float":
		o.code = avroTakeFloat
	case "double":
		o.code = avroTakeDouble
	case "string":
		o.code = avroTakeText
	case "enum":
		o.code = avroTakeSymbol
		for _, symbol := range n.Symbols {
			o.names = append(o.names, []byte(symbol))
		}
	case "bytes":
		switch n.LogicalType {
		case "decimal":
			o.code, o.scale = avroTakeDecimal, int64(n.Scale)
		case "big-decimal":
			o.code = avroTakeBigDecimal
		default:
			o.code = avroTakeBytes
		}
	case "fixed":
		o.size = n.Size
		switch n.LogicalType {
		case "decimal":
			o.code, o.scale = avroTakeFixedDecimal, int64(n.Scale)
		case "uuid", "duration":
			o.code = avroFixed
		default:
			o.code = avroTakeFixed
		}
	}
	return o
}

// avroUnits are the nanoseconds in a unit of the types of time.
var avroUnits = map[string]int{"timestamp-millis": 1e6, "timestamp-micros": 1e3, "timestamp-nanos": 1}

// hollow reports whether values of a type have no width. A record that holds itself has one: what ends it is a union or
// an array.
func (c *avroCompiler) hollow(n *avro.SchemaNode, space string) bool {
	switch n.Type {
	case "null":
		return true
	case "fixed":
		return n.Size == 0
	case "record", "error":
		full := avroFull(n)
		hollow, known := c.hollows[full]
		if known {
			return hollow
		}
		c.hollows[full], hollow = false, true
		for i := range n.Fields {
			hollow = hollow && c.hollow(&n.Fields[i].Type, avroSpace(n, ""))
		}
		c.hollows[full] = hollow
		return hollow
	}
	named := c.find(n.Type, space)
	return named != nil && c.hollow(named, "")
}
