package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// model is the command line.
func model(t *testing.T) *kong.Application {
	t.Helper()
	of, err := program().Model()
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// A flag means one thing, whichever command has it: its values are of one kind. Lengths of windows are --window, and
// --since is the beginning of a running total. The names that these flags had before are accepted and not shown.
func TestFlagsMeanOneThing(t *testing.T) {
	kinds, first := map[string]reflect.Type{}, map[string]string{}
	old := map[string]string{"plan": "every", "watch": "since"}
	for _, command := range model(t).Children {
		for _, f := range command.Flags {
			kind := f.Target.Type()
			switch kind.Kind() {
			case reflect.Pointer, reflect.Slice: // it may be absent, or there are several
				kind = kind.Elem()
			case reflect.Map: // one for each stream
				continue
			}
			if before, seen := kinds[f.Name]; seen && before != kind {
				t.Errorf("--%s is a %v of %s and a %v of %s", f.Name, before, first[f.Name], kind, command.Name)
			}
			kinds[f.Name], first[f.Name] = kind, command.Name
			switch {
			case f.Name == "every",
				f.Name == "since" && f.PlaceHolder != "PERIOD",
				f.Name == "window" && !strings.HasPrefix(f.Help, "Length of a window"):
				t.Errorf("louver %s --%s=%s: %s", command.Name, f.Name, f.PlaceHolder, f.Help)
			}
			for _, alias := range f.Aliases {
				if alias != old[command.Name] {
					t.Errorf("louver %s --%s is also --%s", command.Name, f.Name, alias)
				}
				delete(old, command.Name)
			}
		}
	}
	if len(old) > 0 {
		t.Errorf("old names are not accepted: %v", old)
	}
	got := commandLine(t, "", "plan", "--since", "midnight", "--every", "15m", "--epsilon", "1")
	if want := commandLine(t, "", "plan", "--since", "midnight", "--window", "15m", "--epsilon", "1"); got != want ||
		got.code != cli.ExitDone {
		t.Errorf("plan --every: %+v, want %+v", got, want)
	}
}

// The help of release fits on two screens. The rest is in --help-all, which has everything.
func TestHelpOfRareFlags(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	short, whole := commandLine(t, "", "release", "--help").out, commandLine(t, "", "release", "--help-all").out
	if n := strings.Count(short, "\n"); n > 80 {
		t.Errorf("louver release --help has %d lines, want at most 80", n)
	}
	rare := 0
	for _, command := range model(t).Children {
		if command.Name != "release" {
			continue
		}
		for _, f := range command.Flags {
			flag := regexp.MustCompile(`(?m)^ +--` + f.Name + `\b`)
			if !flag.MatchString(whole) {
				t.Errorf("--help-all does not explain --%s", f.Name)
			}
			if !flag.MatchString(short) {
				rare++
			}
		}
	}
	if rare < 20 || !strings.Contains(short, "louver release --help-all explains ") {
		t.Errorf("%d rare flags, and where they are explained is not said:\n%s", rare, short)
	}
	for _, want := range []string{"--since midnight --zone Europe/Berlin", "--active 15m --update 5m",
		"finds the names that many users share"} {
		if !strings.Contains(whole, want) {
			t.Errorf("--help-all does not say %q", want)
		}
	}
	if got := commandLine(t, "", "help", "--all", "release").out; got != whole {
		t.Errorf("louver help --all release says something else")
	}
	if got := commandLine(t, "", "audit", "--help").out; strings.Contains(got, "--help-all") {
		t.Errorf("--help-all says no more of audit, and is shown:\n%s", got)
	}
}

// The manual page has every command and flag, and man reads it without a warning.
func TestManualPage(t *testing.T) {
	page := commandLine(t, "", "man")
	if page.code != cli.ExitDone {
		t.Fatalf("%+v", page)
	}
	for _, command := range model(t).Children {
		if !strings.Contains(page.out, "\n.SS \"louver "+command.Name) {
			t.Errorf("louver %s is missing", command.Name)
		}
		for _, f := range command.Flags {
			if name := strings.ReplaceAll("--"+f.Name, "-", `\-`); !strings.Contains(page.out, `\fB`+name+`\fR`) {
				t.Errorf("louver %s --%s is missing", command.Name, f.Name)
			}
		}
	}
	known := regexp.MustCompile(`^(\.(TH|SH|SS|TP|PP|B|I|RS|RE|EX|EE|nh|ad|\\")\b|\.\\"|[^.'])`)
	for line := range strings.Lines(page.out) {
		if line != "\n" && !known.MatchString(line) {
			t.Errorf("man would take this for a request: %s", line)
		}
	}
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("there is no man here to read the page")
	}
	file := filepath.Join(t.TempDir(), "louver.1")
	if err := os.WriteFile(file, []byte(page.out), 0o600); err != nil {
		t.Fatal(err)
	}
	read := exec.Command(man, "--warnings=w", "--local-file", file)
	read.Env, read.Stdout = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING="), io.Discard
	var warnings strings.Builder
	read.Stderr = &warnings
	if err := read.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("man: %v\n%s", err, warnings.String())
	}
}

// The archives of a release have the files that make share writes.
func TestArchivesHaveTheManualPage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	makefile, release := read("Makefile"), read(".goreleaser.yaml")
	if !strings.Contains(release, "- make share ") {
		t.Error("no hook makes them")
	}
	sources := regexp.MustCompile(`src: bin/share/([^, ]+)`).FindAllStringSubmatch(release, -1)
	for _, m := range sources {
		if path := strings.TrimSuffix(m[1], "*"); !strings.Contains(makefile, ">bin/share/"+path) {
			t.Errorf("make share writes no %s", m[1])
		}
	}
	if len(sources) != 2 {
		t.Errorf("%v; want the page and the completions", sources)
	}
}
