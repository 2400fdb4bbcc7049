package cli

import (
	"strings"
	"testing"
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
