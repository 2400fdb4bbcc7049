package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/avro"
)

// avroSchema is a schema of Avro.
type avroSchema struct{ *avro.Schema }

// avroLayout reads records whose value is one datum of Avro, in binary and without a header.
type avroLayout struct {
	program *avroProgram
	walk    avroWalk
	wanted  []role
}

var avroFormat = schematic{
	holder: "schema",
	own: func(s Schema) (schema, error) {
		if s.Message != "" {
			return nil, errors.New("avro has no message; remove it")
		}
		c, err := Registered{Text: s.Text}.avro()
		if err != nil {
			return nil, fmt.Errorf("%w; want the content of an .avsc file", err)
		}
		return c, nil
	},
	registered: func(r Registered, _ []int) (schema, error) { return r.avro() },
}

func (s avroSchema) layout(wanted []part, begin fields) layout {
	l := &avroLayout{}
	copy(l.walk.slots[:], begin[:])
	want := &avroWant{}
	for _, p := range wanted {
		path, _, _ := s.path(p) // no mistake
		want.add(path, int(p.role))
		l.wanted = append(l.wanted, p.role)
	}
	l.program = compileAvro(s.Root(), want)
	return l
}

func (s avroSchema) mistake(p part) error {
	_, ends, err := s.path(p)
	if err != nil {
		return err
	}
	for _, end := range ends {
		for _, b := range avroBranches(end) {
			if !avroTakes(p.role, b) {
				return unfit("the schema says %s; want %s", avroName(b), avroWants[min(p.role, numRoles)])
			}
		}
	}
	return nil
}

// path finds the names on the way to a part of an event, and the types that it may have there. A union of records has
// the fields of all of them: a record of a branch that lacks a field lacks it. Where there is one record, an alias
// stands for the field's name.
func (s avroSchema) path(p part) (path []string, ends []*avro.SchemaNode, err error) {
	ends = []*avro.SchemaNode{s.Root().ExpandReferences()}
	for _, name := range Path(p.field) {
		holders, err := avroHolders(ends)
		if err != nil {
			return nil, nil, err
		}
		var names []string
		ends = nil
		for _, h := range holders {
			if h.Type == "map" {
				ends = append(ends, h.Values)
				continue
			}
			i := slices.IndexFunc(h.Fields, func(f avro.SchemaField) bool { return f.Name == name })
			if i < 0 && len(holders) == 1 {
				i = slices.IndexFunc(h.Fields, func(f avro.SchemaField) bool { return slices.Contains(f.Aliases, name) })
			}
			if i >= 0 {
				name = h.Fields[i].Name
				ends = append(ends, &h.Fields[i].Type)
			}
			for _, f := range h.Fields {
				names = append(names, f.Name)
			}
		}
		if len(ends) == 0 {
			return nil, nil, absent("the schema has no such field; want one of %s", strings.Join(names, ", "))
		}
		path = append(path, name)
	}
	return path, ends, nil
}

// avroHolders are the records and maps that the next name of a path leads into.
func avroHolders(ends []*avro.SchemaNode) (all []*avro.SchemaNode, err error) {
	err = unfit("null has no fields; want a path into records")
	for _, end := range ends {
		for _, b := range avroBranches(end) {
			if b.Type == "record" || b.Type == "map" {
				all = append(all, b)
			}
			err = unfit("type %s has no fields; want a path into records", avroName(b))
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	return nil, err
}

// avroBranches are the types that a value may have, null left out.
func avroBranches(n *avro.SchemaNode) (all []*avro.SchemaNode) {
	if n.Type != "union" {
		return []*avro.SchemaNode{n}
	}
	for i := range n.Branches {
		if n.Branches[i].Type != "null" {
			all = append(all, &n.Branches[i])
		}
	}
	return all
}

func avroName(n *avro.SchemaNode) string {
	if n.LogicalType != "" {
		return n.LogicalType
	}
	return n.Type
}

var avroWants = [numRoles + 1]string{
	roleValue: "int, long, float, double or decimal, or a string that holds a number",
	roleUser:  "string, enum, int or long",
	roleGroup: "string, enum, int, long or boolean",
	roleClock: "string",
	numRoles:  "string, enum, a number or boolean",
	roleTime:  "timestamp-millis, timestamp-micros or timestamp-nanos, or a long, double or string",
}

// avroTakes reports whether a type can be that part of an event. It ignores logical types that Avro does not have.
func avroTakes(r role, n *avro.SchemaNode) bool {
	if r == roleClock {
		return n.Type == "string"
	}
	switch n.LogicalType {
	case "date", "time-millis", "time-micros", "duration", "local-timestamp-millis", "local-timestamp-micros",
		"local-timestamp-nanos":
		return false // no moment in time, and no number that anybody means
	case "timestamp-millis", "timestamp-micros", "timestamp-nanos":
		return r == roleTime
	case "decimal", "big-decimal":
		return r == roleValue || r >= numRoles
	}
	switch n.Type {
	case "int", "long", "string":
		return true
	case "enum":
		return r == roleUser || r == roleGroup || r >= numRoles
	case "record":
		return r == roleValue && avroFull(n) == variableDecimal
	case "double":
		return r == roleValue || r == roleTime || r >= numRoles
	case "float":
		return r == roleValue || r >= numRoles
	case "boolean":
		return r == roleGroup || r >= numRoles
	}
	return false
}

func (l *avroLayout) find(value []byte) (*fields, bool) {
	for _, r := range l.wanted {
		l.walk.slots[r].kind = none // a null, or what another branch of a union lacks, stays missing
	}
	return (*fields)(l.walk.slots[:numFields]), l.walk.run(l.program, value, 0, 0) == len(value)
}
