package parse

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
)

// TestFiguresAreTheLists: the figures of every stream in the tree are those of its lists, in order, and cost the same.
func TestFiguresAreTheLists(t *testing.T) {
	streams := 0
	for _, pattern := range []string{"../../../deploy/*.yaml", "../../../deploy/compose/*.yaml", "../../simulate/*.yaml",
		"../../control/testdata/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "\nstreams:") {
				continue
			}
			for _, s := range parse(t, string(text)).Streams {
				streams++
				figuresAreTheLists(t, s)
			}
		}
	}
	if streams < 7 {
		t.Errorf("%d streams; want 7 or more", streams)
	}
}

func figuresAreTheLists(t *testing.T, s *config.Stream) {
	t.Helper()
	var names, series []string
	var price, beside []budget.Item
	add := func(all []record.Series) {
		for _, x := range all {
			series = append(series, x.Name)
		}
	}
	for i := range s.Releases {
		r := &s.Releases[i]
		names = append(names, r.Name)
		price = append(price, budget.Item{Promise: r.Mechanism.Promise(), Times: int64(s.MaxGroups)})
		add(r.Series())
	}
	for i := range s.Free {
		names = append(names, s.Free[i].Name)
		add(s.Free[i].Series())
	}
	var lasting []string
	for i := range s.Totals {
		x := &s.Totals[i]
		lasting = append(lasting, x.Name)
		beside = append(beside, budget.Item{Promise: x.Mechanism.Promise(), Times: int64(s.MaxGroups) * x.AtMost})
		add(x.Series())
	}
	for i := range s.Alarms {
		x := &s.Alarms[i]
		lasting = append(lasting, x.Name)
		beside = append(beside, budget.Item{Promise: x.Mechanism.Promise(), Times: x.AtMost})
		add(x.Series())
	}
	for i := range s.OnChange {
		x := &s.OnChange[i]
		lasting = append(lasting, x.Name)
		draw := x.Release.Mechanism.Promise()
		beside = append(beside, budget.Item{Promise: x.Mechanism.Promise(), Times: x.AtMost},
			budget.Item{Promise: draw, Times: x.AtMost}, budget.Item{Promise: draw, Times: int64(s.MaxGroups)})
		add(x.Series())
	}
	for i := range s.Discoveries() {
		x := &s.Found.Rows[i]
		beside = append(beside, budget.Item{Promise: x.Mechanism.Promise(), Times: x.Groups * x.AtMost})
		names = append(names, x.Name)
		add(x.Series())
	}
	var gotNames, gotLasting []string
	for _, f := range s.Figures {
		if h := f.Heading(); h.Budget != s.Budget || h.Unit != s.Unit || !strings.Contains(h.Where, ":") {
			t.Errorf("stream %s: %+v", s.Name, h)
		}
		gotNames = append(gotNames, f.Heading().Name)
	}
	for _, x := range s.Steps() {
		gotLasting = append(gotLasting, x.Name)
	}
	all := slices.Concat(names[:len(names)-len(s.Discoveries())], lasting, names[len(names)-len(s.Discoveries()):])
	for what, d := range map[string]string{"names": cmp.Diff(all, gotNames), "lasting": cmp.Diff(lasting, gotLasting),
		"price": cmp.Diff(price, s.Price(), cmpopts.EquateEmpty()),
		"beside": cmp.Diff(beside, s.BesidePrice(), cmpopts.EquateEmpty())} {
		if d != "" {
			t.Errorf("stream %s: %s: %s", s.Name, what, d)
		}
	}
	got := slices.DeleteFunc(s.SeriesNames(), func(name string) bool { return !slices.Contains(series, name) })
	if d := cmp.Diff(series, got); d != "" {
		t.Errorf("stream %s: series: %s", s.Name, d)
	}
}
