package codec_test

import (
	"slices"
	"testing"

	"github.com/louver/louver/stream/codec"
)

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
