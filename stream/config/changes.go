package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Definition is a stream and its budget, written as a streams file of one line: variables are replaced, keys are
// sorted, and comments are gone. Keys that do not change a window are left out: the description, the start,
// user_partitioned, fresh and continues. So two definitions are equal if their windows would be the same.
type Definition string

// Fingerprint is a short name for a definition.
func (d Definition) Fingerprint() string {
	sum := sha256.Sum256([]byte(d))
	return hex.EncodeToString(sum[:6])
}

// Difference is a key that differs between two definitions of a stream.
type Difference struct {
	// Key is a path in the stream, such as window.size, or in its shared budget, such as budgets[shoppers].epsilon.
	Key string `json:"key"`
	// Before and After are YAML in one line; "" where the key is absent.
	Before string `json:"before"`
	After  string `json:"after"`
}

// longest is how long a value may be in the text of a change. Schemas are longer.
const longest = 120

// String is the change in one line, such as "window.size: 15m → 1h".
func (c Difference) String() string {
	text := func(value string) string {
		switch n := utf8.RuneCountInString(value); {
		case n == 0:
			return "absent"
		case n > longest:
			return fmt.Sprintf("%s… (%d characters)", string([]rune(value)[:longest/2]), n)
		}
		return value
	}
	return fmt.Sprintf("%s: %s → %s", c.Key, text(c.Before), text(c.After))
}

// Changes lists what differs between two definitions of one stream, sorted by key.
func Changes(before, after Definition) ([]Difference, error) {
	var old, now yaml.Node
	for _, d := range []struct {
		of   Definition
		into *yaml.Node
	}{{before, &old}, {after, &now}} {
		if err := yaml.Unmarshal([]byte(d.of), d.into); err != nil {
			return nil, fmt.Errorf("definition %s: %w", d.of.Fingerprint(), err)
		}
	}
	all := compare(nil, "", &old, &now)
	for i := range all {
		if key, ok := strings.CutPrefix(all[i].Key, "streams["); ok {
			_, all[i].Key, _ = strings.Cut(key, "].")
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// compare adds the differences between two nodes at a path. An absent node is nil.
func compare(all []Difference, path string, before, after *yaml.Node) []Difference {
	old, ok := children(before)
	now, both := children(after)
	if !ok || !both {
		if b, a := flat(before), flat(after); b != a {
			all = append(all, Difference{path, b, a})
		}
		return all
	}
	keys := maps.Clone(old)
	maps.Copy(keys, now)
	for key := range keys {
		below := path + key
		if path == "" {
			below = strings.TrimPrefix(key, ".")
		}
		all = compare(all, below, old[key], now[key])
	}
	return all
}

// children returns the named children of a node, keyed by what they add to its path: the values of a mapping, and the
// mappings of a list that have a name.
func children(n *yaml.Node) (map[string]*yaml.Node, bool) {
	if n == nil {
		return nil, false
	}
	all := map[string]*yaml.Node{}
	switch n.Kind {
	case yaml.DocumentNode:
		return children(n.Content[0])
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			all["."+n.Content[i].Value] = n.Content[i+1]
		}
		return all, true
	case yaml.SequenceNode:
		for _, item := range n.Content {
			var named struct{ Name string }
			if item.Kind != yaml.MappingNode || item.Decode(&named) != nil || named.Name == "" {
				return nil, false
			}
			all["["+named.Name+"]"] = item
		}
		return all, len(all) > 0
	}
	return nil, false
}

// flat writes a node in one line.
func flat(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	unquote(n)
	n.Style |= yaml.FlowStyle
	text, err := yaml.Marshal(n)
	if err != nil {
		return n.Value
	}
	return strings.TrimSpace(string(text))
}

// unquote takes away the quotes that YAML can do without.
func unquote(n *yaml.Node) {
	n.Style &^= yaml.DoubleQuotedStyle
	for _, below := range n.Content {
		unquote(below)
	}
}
