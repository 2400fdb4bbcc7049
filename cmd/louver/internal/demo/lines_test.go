package demo

import "testing"

// Each field of a line is one word, so that awk and cut find it.
func TestFieldsAreWords(t *testing.T) {
	for text, want := range map[string]string{"": "-", "ms": "ms", "± 60": "±60", "noise ± 1.5": "noise-±1.5",
		"199.1 users above or below": "199.1-users-above-or-below"} {
		if got := filled(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
