package cli

import (
	"strings"
	"testing"
	"time"
)

func TestTablesFoldBetweenWords(t *testing.T) {
	head := []string{"topic", "what it is for", "rights"}
	rows := [][]string{{"louver.partials", "sealed bags of values, ε", "Read, Write, Describe, DescribeConfigs"},
		{"t", "", "Read"}}
	draw := func(width int) []string {
		var out strings.Builder
		if err := WriteTable(&out, width, head, rows); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	if got := draw(200); len(got) != 6 || len([]rune(got[0])) > 90 {
		t.Errorf("where there is room it is folded or padded:\n%s", strings.Join(got, "\n"))
	}
	for width := 60; width < 90; width++ {
		for _, line := range draw(width) {
			if n := len([]rune(line)); n > width {
				t.Errorf("%d characters in a terminal of %d: %s", n, width, line)
			}
		}
	}
	// Too narrow for the words: they stay whole.
	narrow := strings.Join(draw(10), "\n")
	for _, word := range []string{"louver.partials", "DescribeConfigs", "values,"} {
		if !strings.Contains(narrow, word) {
			t.Errorf("%s is broken:\n%s", word, narrow)
		}
	}
}

// A table whose words do not fit is a list: nothing is wider than the terminal but a word that is wider by itself.
func TestTablesThatDoNotFitAreLists(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	head := []string{"stream", "budget", "ε spent", "left", "next return"}
	rows := [][]string{{"checkout-latency", "checkout-latency", "1.726511 of 3.7", "", "0.3 at " + Stamp(now.AddDate(0,
		0, 7), now)}, {"web", "shoppers", "no bound", "4", "never"}}
	draw := func(width int) string {
		var out strings.Builder
		if err := WriteTable(&out, width, head, rows); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
				t.Errorf("%d characters in a terminal of %d: %s", n, width, line)
			}
		}
		if strings.Contains(out.String(), tie) {
			t.Errorf("a tie is shown: %s", out.String())
		}
		return out.String()
	}
	if got := draw(73); !strings.HasPrefix(got, "┌") {
		t.Errorf("it fits:\n%s", got)
	}
	const list = `stream         checkout-latency
  budget       checkout-latency
  ε spent      1.726511 of 3.7
  next return
    0.3 at 27 Nov 08:00Z
stream         web
  budget       shoppers
  ε spent      no bound
  left         4
  next return  never
`
	if got := draw(31); got != list {
		t.Errorf("a list:\n%s\nwant\n%s", got, list)
	}
}
