package main

import (
	"strings"
	"testing"
)

func TestTablesFoldBetweenWords(t *testing.T) {
	head := []string{"topic", "what it is for", "rights"}
	rows := [][]string{{"louver.partials", "sealed bags of values, ε", "Read, Write, Describe, DescribeConfigs"}, {"t", "", "Read"}}
	draw := func(width int) []string {
		var out strings.Builder
		if err := writeTable(&out, width, head, rows); err != nil {
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

// Topics and rights fit into 80 columns.
func TestTablesFitTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "")
	path := file(t, "streams.yaml", streamsFile)
	for _, args := range [][]string{{"topics", path}, {"check", path}, {"plan", path}} {
		for line := range strings.Lines(commandLine(t, "", args...).out) {
			if n := len([]rune(strings.TrimSpace(line))); n > 80 && strings.ContainsAny(line, "│─") {
				t.Errorf("%v: %d characters: %s", args, n, line)
			}
		}
	}
}
