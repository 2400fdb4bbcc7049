package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// Figures of a window come in the order of the streams file, windows in that of time, whatever order they are read in.
func TestFiguresInOrder(t *testing.T) {
	text := strings.Replace(clitest.StreamsFile, "groups: [eu, us, ap]", "groups: [us, ap, eu]", 1)
	file, err := parse.File("s.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s := file.Streams[0]
	start := time.Unix(1_800_000_000, 0)
	var all []shownFigure // of three windows
	var want []string
	for i := range 3 {
		for _, g := range s.Groups {
			for _, name := range namesOf(s) {
				f := outputs.Record{Stream: s.Name, Group: g, Release: name,
					WindowEnd: start.Add(time.Duration(i) * time.Minute)}
				all, want = append(all, shownFigure{Record: f}), append(want, fmt.Sprint(i, f.Key()))
			}
		}
	}
	each := len(all) / 3
	if each < 2 {
		t.Fatalf("%d series, want some", each)
	}
	var got []string
	o := newInOrder(file.Streams, func(f shownFigure) error {
		got = append(got, fmt.Sprint(int(f.WindowEnd.Sub(start)/time.Minute), f.Key()))
		return nil
	})
	add := func(f shownFigure) {
		if err := o.add(f); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		// The past of two partitions waits for both. The second window and half of the first are in one of them.
		o.after(map[partition]bool{{"out", 0}: true, {"out", 1}: true})
		past := slices.Clone(all[:2*each])
		slices.Reverse(past)
		for _, f := range past[:each+1] {
			add(f)
		}
		o.ended("out", 1)
		o.ended("out", 1)
		time.Sleep(time.Hour)
		for _, f := range past[each+1:] {
			add(f)
		}
		if len(got) > 0 {
			t.Errorf("%v before the past has been read", got)
		}
		o.ended("out", 0)
		if !slices.Equal(got, want[:2*each]) {
			t.Errorf("the past is %v, want %v", got, want[:2*each])
		}
		// A new window comes when it is whole, and at last without what it lacks.
		got = nil
		for i := range each {
			if len(got) > 0 {
				t.Errorf("%v before the window is whole", got)
			}
			add(all[3*each-1-i])
		}
		if !slices.Equal(got, want[2*each:]) {
			t.Errorf("the new window is %v, want %v", got, want[2*each:])
		}
		got = nil
		add(all[each+1])
		add(all[each])
		time.Sleep(2 * patience)
		synctest.Wait()
		if !slices.Equal(got, want[each:each+2]) {
			t.Errorf("what waited is %v, want %v", got, want[each:each+2])
		}
		o.print = func(shownFigure) error { return errors.New("the reader has gone") }
		add(all[0])
		if err := o.flush(); err == nil {
			t.Error("nobody is told that figures cannot be printed")
		}
	})
}

// Where groups are found, nobody knows which figures a window has. They wait a moment for each other, and come group by
// group, after what was found, in columns.
func TestFiguresOfFoundGroupsInOrder(t *testing.T) {
	text := strings.NewReplacer("groups: [eu, us, ap]", "groups: {discover: [{name: daily, every: 24h, epsilon: 0.5, "+
		"delta: 0.00000001}]}", "budget: {", "budget: {delta: 0.000001, ", "{name: shoppers, ",
		"{name: shoppers, delta: 0.000001, ").
		Replace(clitest.StreamsFile)
	file, err := parse.File("s.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s := file.Streams[0]
	names := namesOf(s)
	if len(names) < 2 {
		t.Fatalf("%q, want some figures", names)
	}
	end := time.Unix(1_800_000_000, 0)
	var want []string
	var all []shownFigure
	add := func(group, release, statistic string) {
		r := outputs.Record{Stream: s.Name, Group: group, Release: release, Statistic: statistic, WindowEnd: end}
		all, want = append(all, shownFigure{Record: r}), append(want, r.Key())
	}
	add("", "daily", record.StatisticGroups)
	add("/a/longer/name", "daily", record.StatisticGroups)
	add("/b", "daily", record.StatisticGroups)
	for _, group := range []string{"/a/longer/name", "/b", "/c"} {
		for _, name := range names {
			add(group, name, "count")
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var got []string
		var out bytes.Buffer
		lines := newWatchLines(&cli.App{Out: &out}, file.Streams)
		o := newInOrder(file.Streams, func(f shownFigure) error {
			got = append(got, f.Key())
			return lines.print(f.Record)
		})
		o.ahead = lines.ahead
		for _, f := range slices.Backward(all) {
			if err := o.add(f); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) > 0 {
			t.Errorf("%d figures came before the others of their window could", len(got))
		}
		time.Sleep(patience)
		synctest.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		columns := map[int]bool{}
		for line := range strings.Lines(out.String()) {
			columns[strings.Index(line, "ε")] = true
		}
		if len(columns) != 1 {
			t.Errorf("the lines have different columns:\n%s", out.String())
		}
	})
}
