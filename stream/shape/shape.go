// Package shape reports the names and types of the fields in JSON records, and nothing about their content: no values,
// ranges, lengths or counts. People may look at it before they decide how to protect the values.
//
// It treats names as part of the form. If names hold people's data, as in {"by_user":{"ann":3}}, it shows that data.
// For this reason it looks only at a few names in a few records.
package shape

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/valyala/fastjson"
)

// Type is the type of a field, in JSON's words.
type Type string

// The types of fields.
const (
	String  Type = "string"
	Number  Type = "number"
	Boolean Type = "boolean"
	Array   Type = "array"
	Null    Type = "null"
	Mixed   Type = "mixed" // different types in different records
)

// Field is a field of an object.
type Field struct {
	// Path has dots between the names of nested objects.
	Path string
	Type Type
	// Hidden says that no path of a streams file leads to the field, because a name in its path contains a dot or is
	// empty, or the first name begins with $.
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

func add(fields []Field, prefix string, hidden bool, o *fastjson.Object) []Field {
	o.Visit(func(key []byte, v *fastjson.Value) {
		path := prefix + string(key)
		hidden := hidden || len(key) == 0 || bytes.IndexByte(key, '.') >= 0 || prefix == "" && key[0] == '$'
		if v.Type() == fastjson.TypeObject {
			fields = add(fields, path+".", hidden, v.GetObject())
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
	}
	return Mixed
}

func typeOf(v *fastjson.Value) Type {
	switch v.Type() {
	case fastjson.TypeString:
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
