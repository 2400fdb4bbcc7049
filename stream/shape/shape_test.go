package shape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/stream/shape"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []string
		want    []shape.Field
	}{
		{"none", nil, nil},
		{"not objects", []string{`7`, `[{"a":1}]`, `a,b,c`, ``, `{"a":`, `{"a":nan}`}, nil},
		{"types", []string{`{"s":"x","n":1.5,"e":1e3,"i":-7,"b":true,"l":[{"deep":1}],"z":null}`}, []shape.Field{
			{Path: "s", Type: shape.String}, {Path: "n", Type: shape.Number}, {Path: "e", Type: shape.Number},
			{Path: "i", Type: shape.Number}, {Path: "b", Type: shape.Boolean}, {Path: "l", Type: shape.Array},
			{Path: "z", Type: shape.Null}}},
		{"numbers in strings", []string{`{"a":"12.5","b":"-7e2","c":"1","d":"","e":"5 ms","f":"1"}`,
			`{"a":"0","b":null,"c":"x","d":"1","e":"7","f":1}`}, []shape.Field{{Path: "a", Type: shape.Digits},
			{Path: "b", Type: shape.Digits}, {Path: "c", Type: shape.String}, {Path: "d", Type: shape.String},
			{Path: "e", Type: shape.String}, {Path: "f", Type: shape.Digits}}},
		{"strings and numbers", []string{`{"a":"x","b":1}`, `{"a":1,"b":"x"}`},
			[]shape.Field{{Path: "a", Type: shape.Mixed}, {Path: "b", Type: shape.Mixed}}},
		{"nested", []string{`{"user":{"id":"x","geo":{"city":"y"}},"o":{}}`},
			[]shape.Field{{Path: "user.id", Type: shape.String}, {Path: "user.geo.city", Type: shape.String}}},
		{"several records", []string{`{"a":null,"b":1,"c":1}`, `{"d":1,"c":"x","b":1.5,"a":"x"}`, `{"a":null}`},
			[]shape.Field{
				{Path: "a", Type: shape.String}, {Path: "b", Type: shape.Number}, {Path: "c", Type: shape.Mixed},
				{Path: "d", Type: shape.Number}}},
		{"out of reach", []string{`{"a.b":1,"":"x","$key":true,"o":{"$in":1,"c.d":{"e":1}},"b\\":{"f":1}}`}, []shape.Field{
			{Path: `a\.b`, Type: shape.Number}, {Path: "", Type: shape.String, Hidden: true},
			{Path: `\$key`, Type: shape.Boolean},
			{Path: "o.$in", Type: shape.Number}, {Path: `o.c\.d.e`, Type: shape.Number},
			{Path: `b\.f`, Type: shape.Number, Hidden: true}}},
	} {
		var records [][]byte
		for _, r := range c.records {
			records = append(records, []byte(r))
		}
		if got := shape.Of(records...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// Fields are told of any records alike that differ in values only.
func TestValuesDoNotMatter(t *testing.T) {
	one, other := shape.Of([]byte(`{"u":"ann","v":1,"w":0.1,"x":"12.50"}`)),
		shape.Of([]byte(`{"u":"","v":-0.5e-3,"w":999999999999999999999,"x":"-7"}`))
	if !slices.Equal(one, other) {
		t.Errorf("%v and %v", one, other)
	}
}

func TestManyFields(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf(`"k%d":1`, i))
	}
	if got := shape.Of([]byte("{" + strings.Join(names, ",") + "}")); len(got) != 60 {
		t.Errorf("%d fields, want not more than 60", len(got))
	}
}
