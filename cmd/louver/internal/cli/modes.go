package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize/english"
)

// A command that can do several things is told by a flag which one it is to do: its mode. Some of its flags have a
// meaning in some modes only. Their tag for lists these, such as for:"since,active". There, one stands for what the
// command does without any of them. A flag without the tag has a meaning in every mode.

// One is the mode of a command that nothing tells to do something else.
const One = "one"

// modeNames are what people call the modes that are not called as their flag is.
var modeNames = map[string]string{"file": "a streams file", "groups": "--statistic groups"}

// ModeName is what people call a mode.
func ModeName(mode string) string {
	if name, ok := modeNames[mode]; ok {
		return name
	}
	return "--" + mode
}

// Misplaced refuses the first flag or argument of a command line that has no meaning in a mode. An empty value stands
// for a flag that was not given.
func Misplaced(parsed *kong.Context, mode string) error {
	for _, step := range parsed.Path {
		var v *kong.Value
		switch {
		case step.Flag != nil:
			v = step.Flag.Value
		case step.Positional != nil:
			v = step.Positional
		default:
			continue
		}
		if v.Target.IsZero() || !v.Tag.Has("for") {
			continue
		}
		modes := strings.Split(v.Tag.Get("for"), ",")
		if slices.Contains(modes, mode) {
			continue
		}
		name := "--" + v.Name
		if slices.Equal(modes, []string{"file"}) {
			name = ModeName("file")
		}
		if mode != One {
			return UsageError(fmt.Errorf("%s with %s; want it without", ModeName(mode), name))
		}
		want := "it with that only"
		if len(modes) > 1 {
			want = "it with one of these only"
		}
		for i, m := range modes {
			modes[i] = ModeName(m)
		}
		return UsageError(fmt.Errorf("%s without %s; want %s", name, english.WordSeries(modes, "or"), want))
	}
	return nil
}
