package outputs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/louver/louver/stream/record"
)

// pages are gauges of a stream whose groups are found.
type pages struct {
	*Gauges
	at time.Time
}

func newPages() *pages {
	p := &pages{Gauges: NewGauges(time.Now), at: midnight}
	p.now = func() time.Time { return p.at }
	return p
}

// finds publishes what a discovery found in the first hour.
func (p *pages) finds(found map[string]int) {
	end := midnight.Add(time.Hour)
	r := Record{Stream: "pages", Release: "hourly", Statistic: record.StatisticGroups, Unit: "users", Budget: "b",
		WindowStart: end.Add(-time.Hour), WindowEnd: end, DueAt: end, Value: new(json.Number(fmt.Sprint(len(found))))}
	p.Update(r)
	for name, users := range found {
		r.Group, r.Value, r.ListedUntil = name, new(json.Number(fmt.Sprint(users))), new(end.Add(2*time.Hour))
		p.Update(r)
	}
}

// window publishes the figures of a quarter for some groups.
func (p *pages) window(quarter int, groups ...string) {
	end := midnight.Add(time.Duration(quarter) * 15 * time.Minute)
	p.at = end.Add(time.Second)
	for _, name := range groups {
		p.Update(Record{Stream: "pages", Group: name, Release: "p50", Statistic: "median", Unit: "ms", Budget: "b",
			Other: name == "(other)", List: new(midnight), Value: new(json.Number("7")),
			WindowStart: end.Add(-15 * time.Minute), WindowEnd: end, DueAt: end})
	}
}

// shows compares the gauges of values, and those of numbers of groups.
func (p *pages) shows(t *testing.T, what, want string) {
	t.Helper()
	names := []string{"louver_groups_listed", "louver_groups_max", "louver_groups_without_gauges"}
	if strings.Contains(want, "louver_release_value") {
		names = append(names, "louver_release_value")
	}
	var kept []string
	for _, line := range strings.Split(want, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	got, err := testutil.CollectAndFormat(p.Gauges, expfmt.TypeTextPlain, names...)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(string(got), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if strings.Join(lines, "\n") != strings.Join(kept, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(lines, "\n"), strings.Join(kept, "\n"))
	}
}

// A group that left has no gauge as soon as the records of a window without it are here, and what is known of it goes.
func TestGaugesOfGroupsThatLeave(t *testing.T) {
	p := newPages()
	p.Finds(map[string]Found{"pages": {Max: 500, Always: []string{"/"}}})
	p.finds(map[string]int{"/shoes": 90, "a/b": 40})
	p.window(4, "/", "/shoes", "a/b", "(other)")
	p.shows(t, "all", `
		louver_groups_listed{stream="pages"} 3
		louver_groups_max{stream="pages"} 500
		louver_groups_without_gauges{stream="pages"} 0
		louver_release_value{group="",release="hourly",stream="pages"} 2
		louver_release_value{group="(other)",release="p50",stream="pages"} 7
		louver_release_value{group="/",release="p50",stream="pages"} 7
		louver_release_value{group="/shoes",release="p50",stream="pages"} 7
		louver_release_value{group="a/b",release="p50",stream="pages"} 7`)
	p.window(5, "/", "/shoes")
	p.shows(t, "while records come", `
		louver_groups_listed{stream="pages"} 3
		louver_groups_max{stream="pages"} 500
		louver_groups_without_gauges{stream="pages"} 0`)
	p.at = p.at.Add(settled)
	p.Update(Record{Stream: "pages", Group: "(other)", Release: "p50", Statistic: "median", Other: true,
		List: new(midnight), Value: new(json.Number("7")), WindowStart: midnight.Add(time.Hour),
		WindowEnd: midnight.Add(75 * time.Minute), DueAt: midnight.Add(75 * time.Minute)})
	p.shows(t, "later", `
		louver_groups_listed{stream="pages"} 2
		louver_groups_max{stream="pages"} 500
		louver_groups_without_gauges{stream="pages"} 0
		louver_release_value{group="",release="hourly",stream="pages"} 2
		louver_release_value{group="(other)",release="p50",stream="pages"} 7
		louver_release_value{group="/",release="p50",stream="pages"} 7
		louver_release_value{group="/shoes",release="p50",stream="pages"} 7`)
	for quarter := 6; quarter < 20; quarter++ {
		p.window(quarter, "/")
	}
	if len(p.newest) != 2 || len(p.found["pages"].counts) != 0 {
		t.Errorf("%d records and %d counts are kept", len(p.newest), len(p.found["pages"].counts))
	}
}

// The largest groups of a stream that follows a list are those that the other stream has found to be.
func TestGaugesOfAFollower(t *testing.T) {
	p := newPages()
	p.Finds(map[string]Found{"pages": {Max: 5000}, "carts": {From: "pages", Max: 5000}})
	found := map[string]int{}
	for i := range 1002 {
		found[fmt.Sprintf("/%04d", i)] = 2000 - (i+500)%1002 // the last are in the middle
	}
	p.finds(found)
	for name := range found {
		p.Update(Record{Stream: "carts", Group: name, Release: "p50", Statistic: "median", Unit: "ms", Budget: "b",
			List: new(midnight), Value: new(json.Number("7")), WindowStart: midnight,
			WindowEnd: midnight.Add(time.Hour), DueAt: midnight})
	}
	got, err := testutil.CollectAndFormat(p.Gauges, expfmt.TypeTextPlain, "louver_release_value",
		"louver_groups_listed", "louver_groups_max", "louver_groups_without_gauges")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{`louver_groups_listed{stream="carts"} 1002`: true,
		`louver_groups_without_gauges{stream="carts"} 2`: true, `louver_groups_max{stream="carts"} 5000`: true,
		`group="/0500"`: false, `group="/0501"`: false, `group="/0502"`: true, `group="/0000"`: true,
		`group="/1001"`: true} {
		if strings.Contains(string(got), line) != want {
			t.Errorf("%s: %v, want %v", line, !want, want)
		}
	}
}

// The 1,000 groups with the most users have gauges, of equal ones the lesser names; and those that are always listed.
func TestGaugesOfTheLargestGroups(t *testing.T) {
	p := newPages()
	found, groups := map[string]int{}, []string{"/always", "(other)"}
	for i := range 1200 {
		name := fmt.Sprintf("/p%04d", i)
		found[name], groups = 50, append(groups, name)
	}
	found["/p1199"] = 51
	p.Finds(map[string]Found{"pages": {Max: 2000, Always: []string{"/always"}}})
	p.finds(found)
	p.window(4, groups...)
	p.at = p.at.Add(settled)
	p.shows(t, "numbers", `
		louver_groups_listed{stream="pages"} 1201
		louver_groups_max{stream="pages"} 2000
		louver_groups_without_gauges{stream="pages"} 200`)
	got, err := testutil.CollectAndFormat(p.Gauges, expfmt.TypeTextPlain, "louver_release_value")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"/p0000": true, "/p0998": true, "/p0999": false, "/p1198": false,
		"/p1199":  true,
		"/always": true, "(other)": true} {
		if has := strings.Contains(string(got), fmt.Sprintf("{group=%q,", name)); has != want {
			t.Errorf("%s has a gauge: %t", name, has)
		}
	}
	if n := strings.Count(string(got), `release="p50"`); n != 1002 {
		t.Errorf("%d gauges", n)
	}
}

// alarm publishes the records of a watch in a quarter: of each group its value, or "" where it does not look.
func (p *pages) alarm(quarter int, values map[string]string) {
	end := midnight.Add(time.Duration(quarter) * 15 * time.Minute)
	p.at = end.Add(time.Second)
	for name, value := range values {
		r := Record{Stream: "pages", Group: name, Release: "slow", Statistic: record.StatisticWatch, Budget: "b",
			List: new(midnight), WindowStart: end.Add(-15 * time.Minute), WindowEnd: end, DueAt: end}
		if value == "" {
			r.Reason = new(record.NotArmed)
		} else {
			r.Value = new(json.Number(value))
		}
		p.Update(r)
	}
	p.at = p.at.Add(settled)
}

// A watch stays firing while it waits, also when the group in which it fired has left the list, or is too small to have
// gauges of its own. Otherwise its alert would end, and the one for a watch that looks at nothing would begin.
func TestGaugesOfAWatchWhoseGroupLeft(t *testing.T) {
	p := newPages()
	p.finds(map[string]int{"/shoes": 90, "/hats": 40})
	for _, c := range []struct {
		quarter     int
		values      map[string]string
		what, fires string
		armed       string
	}{
		{4, map[string]string{"/": "0", "/hats": "0", "/shoes": "0"}, "before", `{group="/"} 0 {group="/hats"} 0 ` +
			`{group="/shoes"} 0`, "1"},
		{5, map[string]string{"/": "0", "/hats": "1", "/shoes": ""}, "firing", `{group="/"} 0 {group="/hats"} 1`, "0"},
		{6, map[string]string{"/": "", "/hats": "1", "/shoes": ""}, "waiting", `{group="/hats"} 1`, "0"},
		{7, map[string]string{"/": "", "/shoes": ""}, "without the group", `{group=""} 1`, "0"},
		{8, map[string]string{"/": "0", "/shoes": "0"}, "armed again", `{group="/"} 0 {group="/shoes"} 0`, "1"},
	} {
		p.alarm(c.quarter, c.values)
		got, err := testutil.CollectAndFormat(p.Gauges, expfmt.TypeTextPlain, "louver_watch_firing",
			"louver_watch_armed")
		if err != nil {
			t.Fatal(err)
		}
		var fires []string
		armed := ""
		for line := range strings.Lines(string(got)) {
			line = strings.TrimSpace(strings.ReplaceAll(line, `,stream="pages",watch="slow"`, ""))
			if rest, ok := strings.CutPrefix(line, "louver_watch_firing"); ok {
				fires = append(fires, rest)
			} else if strings.HasPrefix(line, "louver_watch_armed") {
				armed = line[len(line)-1:]
			}
		}
		if strings.Join(fires, " ") != c.fires || armed != c.armed {
			t.Errorf("%s: fires %q and armed %s; want %q and %s", c.what, fires, armed, c.fires, c.armed)
		}
	}
	// With more groups than have gauges, one without them still fires.
	p = newPages()
	many, values := map[string]int{"small": 1}, map[string]string{"small": "1"}
	for i := range mostGroups {
		many[fmt.Sprint("large", i)], values[fmt.Sprint("large", i)] = 1000, "0"
	}
	p.finds(many)
	p.alarm(4, values)
	if got, err := testutil.CollectAndFormat(p.Gauges, expfmt.TypeTextPlain, "louver_watch_firing"); err != nil ||
		!strings.Contains(
			string(got), `{group="small",stream="pages",watch="slow"} 1`) || strings.Contains(string(got), `{group=""`) {
		t.Errorf("%d bytes of gauges (%v), want one of the small group", len(got), err)
	}
}

// All groups together always have gauges, and are no group of the list. What is over the newest time comes with every
// window, so it is old after three of these.
func TestGaugesOfAllGroupsTogether(t *testing.T) {
	p := newPages()
	p.Finds(map[string]Found{"pages": {Max: 5}})
	p.window(1, "/a", "/b")
	end := midnight.Add(15 * time.Minute)
	p.Update(Record{Stream: "pages", Group: "all", Release: "p50.last_1h", Statistic: "median", Unit: "ms", Budget: "b",
		Together: true, List: new(midnight), Value: new(json.Number("9")), Windows: &record.Windows{Of: 4, Released: 1},
		WindowStart: end.Add(-time.Hour), WindowEnd: end, DueAt: end})
	const groups = `
		louver_groups_listed{stream="pages"} 2
		louver_groups_max{stream="pages"} 5
		louver_groups_without_gauges{stream="pages"} 0
		louver_release_value{group="/a",release="p50",stream="pages"} 7
		louver_release_value{group="/b",release="p50",stream="pages"} 7`
	p.at = end.Add(45 * time.Minute)
	p.shows(t, "after three windows", groups+`
		louver_release_value{group="all",release="p50.last_1h",stream="pages"} 9`)
	p.at = end.Add(46 * time.Minute)
	if n := testutil.CollectAndCount(p.Gauges, "louver_release_value"); n != 0 {
		t.Errorf("after more than three windows there are %d values", n)
	}
}

// Groups that the definition lists stay listed if all groups together have a record: nothing says how many are found,
// and a group that is late keeps its gauge.
func TestGaugesOfListedGroupsTogether(t *testing.T) {
	p := newPages()
	figure := func(group string, quarter int, together bool) Record {
		end := midnight.Add(time.Duration(quarter) * 15 * time.Minute)
		return Record{Stream: "pages", Group: group, Release: "p50", Statistic: "median", Unit: "ms", Budget: "b",
			Together: together, Value: new(json.Number("7")), WindowStart: end.Add(-15 * time.Minute), WindowEnd: end,
			DueAt: end}
	}
	p.Update(figure("/a", 1, false))
	p.Update(figure("all", 1, true))
	p.Update(figure("all", 2, true))
	p.at = midnight.Add(31 * time.Minute)
	p.shows(t, "listed", `
		louver_release_value{group="/a",release="p50",stream="pages"} 7
		louver_release_value{group="all",release="p50",stream="pages"} 7`)
}
