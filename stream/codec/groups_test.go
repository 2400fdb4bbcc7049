package codec_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
)

func TestWithoutGroup(t *testing.T) {
	s := jsonSpec()
	s.Group, s.Groups = "", []string{""}
	check(t, decoder(t, s), nil, region(`"mars"`), event{"u1", 0, at, 123})
	s.Group = "region"
	checkRejected(t, decoder(t, s), nil, region(`""`), codec.BadGroup)
}

func TestIntegerGroup(t *testing.T) {
	s := jsonSpec()
	s.Groups = []string{"eu", "1", "-2"}
	d := decoder(t, s)
	check(t, d, nil, region("1"), event{"u1", 1, at, 123})
	check(t, d, nil, region("-2"), event{"u1", 2, at, 123})
	check(t, d, nil, region(`"1"`), event{"u1", 1, at, 123})
	checkRejected(t, d, nil, region("1.0"), codec.BadGroup)
}

// Names are compared with a list in their canonical form, as those that nobody listed. Few and many names are found in
// different ways. Users count as they are written.
func TestListedGroupsAreCompared(t *testing.T) {
	s := jsonSpec()
	for _, more := range []int{0, 20} {
		s.Groups = []string{"eu", "e\u0301clair", " us"}
		for i := range more {
			s.Groups = append(s.Groups, fmt.Sprint("g", i))
		}
		d := decoder(t, s)
		for field, want := range map[string]int{`"eu"`: 0, `" eu\u00a0"`: 0, `"\u00e9clair"`: 1, `"e\u0301clair"`: 1, `"us"`: 2,
			`" us"`: 2, `"us "`: 2} {
			check(t, d, nil, region(field), event{"u1", want, at, 123})
		}
		for _, field := range []string{`"EU"`, `"e u"`, `" "`, `"eu\n"`, `"eclair"`} {
			checkRejected(t, d, nil, region(field), codec.BadGroup)
		}
	}
	for _, user := range []string{"u1", " u1", "u1 ", "U1", "\u00e9", "e\u0301"} {
		record := strings.Replace(region(`"eu"`), `"u1"`, strconv.Quote(user), 1)
		check(t, decoder(t, s), nil, record, event{user, 0, at, 123})
	}
}

// Without a list, any name is a group, in its canonical form; the rule is that of package groupname.
func TestOpenGroups(t *testing.T) {
	s := jsonSpec()
	s.Groups, s.Open = nil, true
	d := decoder(t, s)
	for _, c := range []struct{ field, want string }{
		{`"/products/42"`, "/products/42"},
		{`"  eu "`, "eu"},
		{`"e\u0301clair"`, "éclair"},
		{`"éclair"`, "éclair"},
		{`12`, "12"},
		{`-0`, "0"},
		{`true`, "true"},
		{`"` + strings.Repeat("𝕏", 200) + `"`, strings.Repeat("𝕏", 200)},
		{`1.5`, ""},
		{`null`, ""},
		{`["a"]`, ""},
		{`"  "`, ""},
		{`"a\u0000b"`, ""},
		{`"a\u202eb"`, ""},
		{`"` + strings.Repeat("x", 201) + `"`, ""},
	} {
		var e codec.Event
		r := d.Decode(codec.Record{Value: []byte(region(c.field)), Time: recordTime}, &e)
		switch {
		case c.want == "" && (r != codec.BadGroup || d.Missing()):
			t.Errorf("%s: %v, missing %v; want %v", c.field, r, d.Missing(), codec.BadGroup)
		case c.want != "" && (r != codec.OK || string(e.Name) != c.want || e.Group != 0):
			t.Errorf("%s: %v, name %q, want %q", c.field, r, e.Name, c.want)
		}
	}
	var e codec.Event
	record := codec.Record{Value: []byte(with("region", `"area":"eu"`)), Time: recordTime}
	if r := d.Decode(record, &e); r != codec.BadGroup || !d.Missing() {
		t.Errorf("without the field: %v, missing %v", r, d.Missing())
	}
	record.Value = []byte(region(`"/products/42"`))
	if n := testing.AllocsPerRun(20, func() { d.Decode(record, &e) }); n > 0 {
		t.Errorf("%v allocations for a name that is canonical, want 0", n)
	}
}
