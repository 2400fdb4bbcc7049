package cli

import "testing"

func TestFoldLines(t *testing.T) {
	for text, want := range map[string]string{
		"short\n":                            "short\n",
		"  of ε 1 it costs one user\n":       "  of ε 1 it costs\n    one user\n",
		"  one more word as long as\n":       "  one more word as\n    long as\n",
		"│ a row of a table is kept │\n":     "│ a row of a table is kept │\n",
		"unbreakable-as-it-is-long\n":        "unbreakable-as-it-is-long\n",
		"it costs one user ε 1 at most\n":    "it costs one user\n  ε 1 at most\n",
		"missed in at most 90.8 % of them\n": "missed in at most\n  90.8 % of them\n",
		"\n  a\n\n":                          "\n  a\n\n",
	} {
		if got := foldLines(text, 18); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
