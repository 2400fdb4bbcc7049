package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// Scripts of testdata/scripts hold command lines and all that they print. These directives are understood:
//
//	file NAME      writes the input to a file of the script's own directory
//	edit NAME      changes what was written, by lines as diff has them: - goes, + comes, others stay; a line … begins
//	               another place. Every edit begins with what file wrote
//	louver         runs each line of the input as a command line. <<< gives it a standard input. A line that ends with …
//	               is the beginning of those below it. A failure begins with its exit code
//	check NAME     edits the file, and checks it
//	warnings NAME  does the same, and shows only standard error, without what any 24 hours cost
//
// The argument lines=(some text, another) shows only lines with one of these texts. go test -run Scripts -rewrite writes
// the outputs anew: look at the difference. Nothing that a person sent may be in any output: that is called SECRET.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/scripts/*")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, paths)
	}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("COLUMNS", "120")
			files := map[string]string{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out := directive(t, d, files)
				if strings.Contains(out, "SECRET") {
					d.Fatalf(t, "what people sent is repeated: %s", out)
				}
				if wanted, given := d.Arg("lines"); given {
					out = strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(out)), func(line string) bool {
						return !slices.ContainsFunc(wanted.Vals, func(w string) bool { return strings.Contains(line, w) })
					}), "")
				}
				return out
			})
		})
	}
}

func directive(t *testing.T, d *datadriven.TestData, files map[string]string) string {
	t.Helper()
	if d.Cmd == "louver" {
		out, begin := "", ""
		for line := range strings.SplitSeq(d.Input, "\n") {
			if words, goesOn := strings.CutSuffix(line, "…"); goesOn {
				begin = words
			} else {
				out += said(typed(t, d, begin+line))
			}
		}
		return out
	}
	name := d.CmdArgs[0].Key
	if d.Cmd == "file" {
		files[name] = strings.TrimPrefix(d.Input+"\n", "\n") // without any input it is empty
	}
	text := files[name]
	if d.Cmd != "file" {
		text = edited(t, d, text)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	switch d.Cmd {
	case "check":
		return said(commandLine(t, "", "check", name))
	case "warnings":
		got := commandLine(t, "", "check", name)
		return said(outcome{code: got.code, err: withoutDays(got.err)})
	}
	return ""
}

// said is all that a command line has printed, after its exit code if it failed.
func said(got outcome) string {
	if got.code == cli.ExitDone {
		return got.out + got.err
	}
	return fmt.Sprintf("%d: %s%s", got.code, got.out, got.err)
}

// typed runs a command line as it would be typed: words with spaces are in quotes.
func typed(t *testing.T, d *datadriven.TestData, line string) outcome {
	t.Helper()
	line, in, given := strings.Cut(line, " <<< ")
	if given {
		var err error
		if in, err = strconv.Unquote(in); err != nil {
			d.Fatalf(t, "%s: %v", in, err)
		}
	}
	words := csv.NewReader(strings.NewReader(line))
	words.Comma = ' '
	args, err := words.Read()
	if err != nil {
		d.Fatalf(t, "%s: %v", line, err)
	}
	return commandLine(t, in, args...)
}

// edited changes places of a text.
func edited(t *testing.T, d *datadriven.TestData, text string) string {
	t.Helper()
	for place := range strings.SplitSeq(d.Input, "\n…\n") {
		var old, changed string
		for line := range strings.Lines(place + "\n") {
			switch {
			case line == "\n":
			case strings.HasPrefix(line, "-"):
				old += line[1:]
			case strings.HasPrefix(line, "+"):
				changed += line[1:]
			default:
				old, changed = old+line[1:], changed+line[1:]
			}
		}
		if strings.Count(text, old) != 1 && old != "" {
			d.Fatalf(t, "%d places have\n%s", strings.Count(text, old), old)
		}
		text = strings.Replace(text, old, changed, 1)
	}
	return text
}

// withoutDays leaves out the warnings of what a day costs.
func withoutDays(warnings string) (others string) {
	for line := range strings.Lines(warnings) {
		if !strings.Contains(line, " in any 24 h: ") {
			others += line
		}
	}
	return others
}
