package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
)

// maxGroups is how many groups a demo may have: more are hardly groups.
const maxGroups = 100

var integer = regexp.MustCompile(`^-?[0-9]+$`)

// Groups returns the different groups in a file, sorted; none if columns names no group. Records without a group that a
// stream could take don't add one. It is for a demo with one's own data only: a list of groups is public, and one that
// is taken from people's records tells about them.
func Groups(path string, columns Columns, options Options) ([]string, error) {
	if columns.Group == "" {
		return nil, nil
	}
	f, err := Open(path, columns, options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	groups := map[string]bool{}
	for {
		r, err := f.rows.next()
		if errors.Is(err, io.EOF) {
			return slices.Sorted(maps.Keys(groups)), nil
		} else if err != nil {
			return nil, fmt.Errorf("%s:%w", f.name, err)
		}
		if name := groupName(r.parts[partGroup]); name != "" {
			groups[name] = true
		}
		if len(groups) > maxGroups {
			return nil, fmt.Errorf("%s:%d: --group %q has more than %d different values; want a column with fewer", f.name, r.line, columns.Group, maxGroups)
		}
	}
}

// groupName is the text of a group, a JSON string or an integer; empty if it is neither.
func groupName(group []byte) (name string) {
	if integer.Match(group) {
		return string(group)
	}
	if json.Unmarshal(group, &name) != nil {
		return ""
	}
	return name
}
