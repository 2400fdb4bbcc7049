package demo

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/simulate"
)

// TestSummary: three of the four windows between the first and the last were seen, and one of two guesses was right.
func TestSummary(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	v := viewOf(t, s, 80, 24, 0)
	if got := v.summary(); got != "" {
		t.Errorf("before the first window: %q", got)
	}
	for _, number := range []int{0, 1, 3} {
		v.add(painted(s, number))
		if number > 0 {
			v.guess(true) // Robin calls in windows of even numbers
		}
	}
	v.add(painted(s, 4))
	v.guess(true)
	want := "4 windows of 15m, 1 missing. One person has lost at most ε 2.5.\n" +
		"You guessed 3 times whether Robin called, 1 of them right.\n"
	if got := v.summary(); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
