package decide

import (
	"fmt"
	"reflect"
	"time"

	"github.com/shopspring/decimal"
)

// absent stands for a field that an entry or record does not have.
const absent = "absent"

// note writes down the fields below a value, each under its path.
func (s *transcript) note(path string, v reflect.Value) {
	switch {
	case isLeaf(v.Type()):
		text := fmt.Sprint(v.Interface())
		if v.IsZero() {
			text = absent
		}
		s.leaves[path] = append(s.leaves[path], text)
	case v.Kind() == reflect.Pointer && v.IsNil():
		below := map[string]bool{}
		typePaths(v.Type(), path, below)
		for p := range below {
			s.leaves[p] = append(s.leaves[p], absent)
		}
	case v.Kind() == reflect.Pointer:
		if isLeaf(v.Type().Elem()) { // one that points to 0 is there
			s.leaves[path] = append(s.leaves[path], fmt.Sprint(v.Elem().Interface()))
			return
		}
		s.note(path, v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() { // nobody writes it
				continue
			}
			s.note(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	default: // a slice or an array
		s.leaves[path] = append(s.leaves[path], fmt.Sprint(v.Len()))
		for i := range v.Len() {
			s.note(elementPath(path, v.Type()), v.Index(i))
		}
	}
}

// typePaths adds the paths of all fields below a type.
func typePaths(t reflect.Type, path string, all map[string]bool) {
	switch {
	case isLeaf(t):
		all[path] = true
	case t.Kind() == reflect.Pointer:
		typePaths(t.Elem(), path, all)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() {
				continue
			}
			typePaths(t.Field(i).Type, path+"."+t.Field(i).Name, all)
		}
	default:
		all[path] = true
		typePaths(t.Elem(), elementPath(path, t), all)
	}
}

// elementPath is that of a slice's elements: that of the slice itself, if they have fields.
func elementPath(path string, t reflect.Type) string {
	if isLeaf(t.Elem()) {
		return path + "."
	}
	return path
}

func isLeaf(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[decimal.Decimal](), reflect.TypeFor[time.Time]():
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Array:
		return false
	}
	return true
}
