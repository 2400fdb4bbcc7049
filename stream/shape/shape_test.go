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
			{"s", shape.String}, {"n", shape.Number}, {"e", shape.Number}, {"i", shape.Integer}, {"b", shape.Boolean}, {"l", shape.Array}, {"z", shape.Null}}},
		{"nested", []string{`{"user":{"id":"x","geo":{"city":"y"}},"o":{}}`}, []shape.Field{{"user.id", shape.String}, {"user.geo.city", shape.String}}},
		{"several records", []string{`{"a":null,"b":1,"c":1}`, `{"d":1,"c":"x","b":1.5,"a":"x"}`, `{"a":null}`}, []shape.Field{
			{"a", shape.String}, {"b", shape.Number}, {"c", shape.Mixed}, {"d", shape.Integer}}},
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
	one, other := shape.Of([]byte(`{"u":"ann","v":1,"w":0.1}`)), shape.Of([]byte(`{"u":"","v":-999999999999999999999,"w":1E-9}`))
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
