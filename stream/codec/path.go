package codec

import (
	"slices"
	"strings"
)

// A field of a streams file is a path: names with dots between them. A dot that is part of a name has a backslash before
// it, and so has a $ at the beginning, where it would mean a part of the record such as $key. All other backslashes are
// themselves.

// Path returns the names on the way to a field.
func Path(field string) (names []string) {
	if rest, ok := strings.CutPrefix(field, `\$`); ok {
		field = "$" + rest
	}
	var name strings.Builder
	for {
		before, after, more := strings.Cut(field, ".")
		if inner, escaped := strings.CutSuffix(before, `\`); escaped && more {
			name.WriteString(inner + ".")
			field = after
			continue
		}
		names = append(names, name.String()+before)
		name.Reset()
		if field = after; !more {
			return names
		}
	}
}

// Join returns the path to a field of that name below another one; below "" it is the first name. ok is false if no path
// leads there.
func Join(path, name string) (field string, ok bool) {
	field = strings.ReplaceAll(name, ".", `\.`)
	if path != "" {
		field = path + "." + field
	} else if strings.HasPrefix(field, "$") {
		field = `\` + field
	}
	names, before := Path(field), []string(nil)
	if path != "" {
		before = Path(path)
	}
	return field, name != "" && slices.Equal(names, append(before, name))
}
