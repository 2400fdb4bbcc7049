package codec_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/codec"
)

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*codec.Spec){
		`format "xml" is not known; want one of json, csv`: func(s *codec.Spec) { s.Format = "xml" },
		`format "" is not known`:                           func(s *codec.Spec) { s.Format = "" },
		`user is missing; want a field, or $key`:           func(s *codec.Spec) { s.User = "" },
		`value is missing; want a field, or $value`:        func(s *codec.Spec) { s.Value = "" },
		`the grid is missing`:                              func(s *codec.Spec) { s.Grid = nil },
		`groups are missing; want the public list`:         func(s *codec.Spec) { s.Groups = nil },
		`group is missing; want the field`: func(
			s *codec.Spec) {
			s.Groups, s.Group, s.Open = nil, "", true
		},
		`groups are found, and yet 3 are listed`:            func(s *codec.Spec) { s.Open = true },
		`max_future -1s is negative`:                        func(s *codec.Spec) { s.MaxFuture = -time.Second },
		`user "$value" is not known; want a field, or $key`: func(s *codec.Spec) { s.User = "$value" },
		`value "$key" is not known`:                         func(s *codec.Spec) { s.Value = "$key" },
		`time_of_day is "at", and there is no time`:         func(s *codec.Spec) { s.Time, s.Clock = "$timestamp", "at" },
		`zone is given, and there is no time`:               func(s *codec.Spec) { s.Time, s.Zone = "", time.UTC },
		`time "$time" is not known`:                         func(s *codec.Spec) { s.Time = "$time" },
		`group "$key" is not known; want a field`:           func(s *codec.Spec) { s.Group = "$key" },
		`user "user..id" has an empty part`:                 func(s *codec.Spec) { s.User = "user..id" },
		`value is $value, and a bare number has no fields`:  func(s *codec.Spec) { s.Value = "$value" },
		`columns are missing`:                               func(s *codec.Spec) { s.Format = "csv" },
		`user "user_id" is not a column; want one of a, b`: func(s *codec.Spec) {
			s.Format, s.Columns, s.Value = "csv",
				[]string{"a", "b"}, "a"
		},
		`column "a" occurs twice`: func(s *codec.Spec) {
			s.Format, s.Columns = "csv",
				[]string{"a", "b", "a"}
		},
		`value $value is for json`: func(s *codec.Spec) {
			s.Format, s.Columns, s.Value = "csv",
				[]string{"a"}, "$value"
		},
		`delimiter '"'; want one character`: func(s *codec.Spec) {
			s.Format, s.Columns, s.Delimiter = "csv",
				[]string{"a"}, '"'
		},
	} {
		s := jsonSpec()
		s.Grid = grid(t)
		change(&s)
		if _, err := codec.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func TestReasons(t *testing.T) {
	want := []string{"malformed", "bad_value", "bad_user", "bad_time", "bad_group", "future"}
	reasons := codec.Reasons()
	if len(reasons) != len(want) || codec.NumReasons != len(want)+5 { // OK, and four for skipping
		t.Fatalf("%d reasons of %d, want %d", len(reasons), codec.NumReasons, len(want))
	}
	for i, r := range reasons {
		if r.String() != want[i] || int(r) != i+1 {
			t.Errorf("reason %d is %v, want %s", r, r, want[i])
		}
	}
	if codec.OK.String() != "" || codec.Reason(99).String() != "Reason(99)" {
		t.Errorf("OK is %q, 99 is %q", codec.OK, codec.Reason(99))
	}
}

func TestPath(t *testing.T) {
	for field, want := range map[string][]string{
		"user":          {"user"},
		"user.id":       {"user", "id"},
		`user\.id`:      {"user.id"},
		`a.user\.id.b`:  {"a", "user.id", "b"},
		`service\.x\.y`: {"service.x.y"},
		`\$key`:         {"$key"},
		`\$a\.b.$c`:     {"$a.b", "$c"},
		`a\b`:           {`a\b`},
		`a.`:            {"a", ""},
		`.`:             {"", ""},
		"":              {""},
		`trailing\`:     {`trailing\`},
	} {
		if got := codec.Path(field); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

// Names that no path can say are known as such. All others are found again.
func TestJoin(t *testing.T) {
	for _, c := range []struct{ path, name, want string }{
		{"", "user", "user"}, {"", "user.id", `user\.id`}, {"user", "id", "user.id"}, {"a", "b.c", `a.b\.c`},
		{"", "$key", `\$key`}, {"a", "$in", "a.$in"}, {`a\.b`, "c", `a\.b.c`}, {"", `a\b`, `a\b`},
		{"", "", ""}, {"a", "", ""}, {"", `a\.b`, `a\\.b`}, {`a\`, "b", ""}, {"", `\$x`, ""},
	} {
		got, ok := codec.Join(c.path, c.name)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q below %q: %s, %v; want %s", c.name, c.path, got, ok, c.want)
		}
		if names := codec.Path(got); ok && names[len(names)-1] != c.name {
			t.Errorf("%s leads to %q", got, names)
		}
	}
}

// Events that are only counted have no value. Each has the value 1, whatever else is in the record.
func TestEventsWithoutValues(t *testing.T) {
	const schema = `{"type": "record", "name": "e", "fields": [{"name": "u", "type": "string"}, {"name": "v", "type": "int"}]}`
	for name, c := range map[string]struct {
		spec   codec.Spec
		record codec.Record
	}{
		"json":        {codec.Spec{Format: "json", User: "u"}, codec.Record{Value: []byte(`{"u":"a","v":"none"}`)}},
		"json, keyed": {codec.Spec{Format: "json", User: codec.KeyField}, codec.Record{Key: []byte("a"), Value: []byte(`{}`)}},
		"csv": {codec.Spec{Format: "csv", User: "u", Columns: []string{"u", "v"}, Delimiter: ','},
			codec.Record{Value: []byte("a,none")}},
		"cloudevents": {codec.Spec{Format: "cloudevents", User: "data.u"},
			codec.Record{Value: []byte(`{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"u":"a"}}`)}},
		"avro": {codec.Spec{Format: "avro", User: "u", Schema: codec.Schema{Text: schema}},
			codec.Record{Value: []byte("\x02a\x04")}},
	} {
		d, err := codec.New(c.spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		e := codec.Event{Value: 7}
		if reason := d.Decode(c.record, &e); reason != codec.OK || e.Value != 1 || string(e.User) != "a" {
			t.Errorf("%s: %s, event %+v of user %s; want the value 1", name, reason, e, e.User)
		}
	}
}
