// Package shape reports the names and types of the fields in JSON records, and nothing about their content: no values,
// ranges, lengths or counts. People may look at it before they decide how to protect the values.
//
// It treats names as part of the form. If names hold people's data, as in {"by_user":{"ann":3}}, it shows that data.
// For this reason it looks only at a few names in a few records.
package shape

import (
	"encoding/json"
	"slices"

	"github.com/valyala/fastjson"

	"github.com/louver/louver/stream/codec"
)

// Type is the type of a field, in JSON's words.
type Type string

// The types of fields.
const (
	String  Type = "string"
	Digits  Type = "number in a string" // or, in some records, a number
	Number  Type = "number"
	Boolean Type = "boolean"
	Array   Type = "array"
	Null    Type = "null"
	Mixed   Type = "mixed" // different types in different records
)

// Field is a field of an object.
type Field struct {
	// Path is the field's path as a streams file writes it: see [codec.Path].
	Path string
	Type Type
	// Hidden says that no path of a streams file leads to the field, because a name on the way is empty or ends with a
	// backslash.
	Hidden bool
}

// maxFields is how many fields are reported.
const maxFields = 60

// Of returns the fields of records that are JSON objects, in the order of first occurrence. It includes the fields of
// nested objects, with their path, but not those in arrays. A field that is null in one record and has a type in
// another has that type. Records that are not JSON objects have no fields.
func Of(records ...[]byte) []Field {
	var fields []Field
	for _, r := range records {
		// fastjson accepts more than JSON.
		if !json.Valid(r) {
			continue
		}
		v, err := fastjson.ParseBytes(r)
		if err != nil || v.Type() != fastjson.TypeObject {
			continue
		}
		fields = add(fields, "", false, v.GetObject())
	}
	return fields
}

func add(fields []Field, parent string, hidden bool, o *fastjson.Object) []Field {
	o.Visit(func(key []byte, v *fastjson.Value) {
		path, told := codec.Join(parent, string(key))
		hidden := hidden || !told
		if v.Type() == fastjson.TypeObject {
			fields = add(fields, path, hidden, v.GetObject())
			return
		}
		t := typeOf(v)
		at := slices.IndexFunc(fields, func(f Field) bool { return f.Path == path })
		switch {
		case at < 0 && len(fields) < maxFields:
			fields = append(fields, Field{path, t, hidden})
		case at >= 0:
			fields[at].Type = both(fields[at].Type, t)
		}
	})
	return fields
}

// both is the type of a field that has one type here and another there.
func both(a, b Type) Type {
	switch {
	case a == b || b == Null:
		return a
	case a == Null:
		return b
	case a == String && b == Digits, a == Digits && b == String:
		return String
	case a == Number && b == Digits, a == Digits && b == Number:
		return Digits
	}
	return Mixed
}

func typeOf(v *fastjson.Value) Type {
	switch v.Type() {
	case fastjson.TypeString:
		if isNumber(v.GetStringBytes()) {
			return Digits
		}
		return String
	case fastjson.TypeNumber:
		return Number
	case fastjson.TypeTrue, fastjson.TypeFalse:
		return Boolean
	case fastjson.TypeArray:
		return Array
	}
	return Null
}

// isNumber reports whether a text is a number as JSON writes it.
func isNumber(text []byte) bool {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	return len(text) > 0 && (text[0] == '-' || digit(text[0])) && digit(text[len(text)-1]) && json.Valid(text)
}
