package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/louver/louver/stream/ledger"
)

// part is a part of an entry that is derived: its name in JSON, the fault if it differs, and where it stands.
type part struct {
	name, fault string
	of          func(e ledger.Entry) any
}

// booked are the parts that the books decide, and published those that follow from what was published, in the order in
// which they follow from each other.
var (
	booked = []part{
		{"steps", WatchDiffers, func(e ledger.Entry) any { return e.Continual }},
		{"books", WrongSum, func(e ledger.Entry) any { return e.Standing }},
	}
	published = []part{
		{"list", ListDiffers, func(e ledger.Entry) any { return e.List }},
		{"groups", ListDiffers, func(e ledger.Entry) any { return e.GroupNames() }},
		{"groups", FigureDiffers, func(e ledger.Entry) any { return e.Groups }},
		{"discovery", ListDiffers, func(e ledger.Entry) any { return e.Discovery }},
		{"together", FigureDiffers, func(e ledger.Entry) any { return e.Together }},
		{"rollups", RollupDiffers, func(e ledger.Entry) any { return e.Rollups }},
		{"objectives", RollupDiffers, func(e ledger.Entry) any { return e.Objectives }},
	}
)

// compare reports the first difference between an entry and what was derived; same means that there is none.
func (es *entries) compare(at Position, e, want ledger.Entry, parts []part) (same bool) {
	for _, p := range parts {
		d, err := differ(p.name, p.of(e), p.of(want))
		if err != nil {
			es.found.fault(EntryUnreadable, at, "%s: %v", e.Name(), err)
			return false
		}
		if d != "" {
			es.found.fault(p.fault, at, "%s: %s", e.Name(), d)
			return false
		}
	}
	return true
}

// differ describes the first difference between two things as the ledger writes them; "" if there is none.
func differ(place string, has, want any) (string, error) {
	x, err := json.Marshal(has)
	if err != nil {
		return "", err
	}
	y, err := json.Marshal(want)
	if err != nil || bytes.Equal(x, y) {
		return "", err
	}
	return walk(place, read(x), read(y)), nil
}

// read reads what was just written.
func read(text []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&value)
	return value
}

// walk goes through two values of JSON in step, to the first place where they differ.
func walk(place string, has, want any) string {
	switch x := has.(type) {
	case map[string]any:
		if y, ok := want.(map[string]any); ok {
			return walkFields(place, x, y)
		}
	case []any:
		if y, ok := want.([]any); ok && len(x) == len(y) {
			for i := range x {
				if d := walk(element(place, i, x[i]), x[i], y[i]); d != "" {
					return d
				}
			}
			return ""
		}
	default:
		if has == want {
			return ""
		}
	}
	return fmt.Sprintf("%s has %s; the entries before it give %s", place, short(has), short(want))
}

func walkFields(place string, x, y map[string]any) string {
	names := slices.Concat(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if d := walk(place+"."+name, x[name], y[name]); d != "" {
			return d
		}
	}
	return ""
}

// element names an element of a list: by its name if it has one.
func element(place string, i int, of any) string {
	if fields, ok := of.(map[string]any); ok {
		if name, ok := fields["name"].(string); ok && name != "" {
			return fmt.Sprintf("%s[%q]", place, name)
		}
	}
	return fmt.Sprintf("%s[%d]", place, i)
}

// short writes a value of JSON in a line of a message. What an entry does not have is nothing.
func short(value any) string {
	switch value := value.(type) {
	case nil:
		return "nothing"
	case string:
		return value
	}
	text, _ := json.Marshal(value) // was read from JSON
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}
