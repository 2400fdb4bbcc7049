package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/replay"
)

func survey(t *testing.T, text string, c replay.Columns, window time.Duration) (*replay.Survey, error) {
	t.Helper()
	f, err := replay.New("f.csv", strings.NewReader(text), c, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return replay.NewSurvey(t.Context(), f, window, c)
}

var timed = replay.Columns{User: "u", Value: "v", Time: "t"}

// at writes a file with an event at each of these times.
func at(times ...time.Time) string {
	var b strings.Builder
	b.WriteString("u,v,t\n")
	for i, at := range times {
		fmt.Fprintf(&b, "u%d,1,%s\n", i, at.Format(time.RFC3339Nano))
	}
	return b.String()
}

// every gives n times that are equally far from each other.
func every(n int, d time.Duration, from time.Time) (times []time.Time) {
	for i := range n {
		times = append(times, from.Add(time.Duration(i)*d))
	}
	return times
}

// Windows are chosen so that some dozens hold events; long pauses are left out and nothing else is.
func TestSurveyWindows(t *testing.T) {
	day := time.Date(2015, 5, 17, 0, 0, 0, 0, time.UTC)
	unsorted := every(500, 10*time.Minute, day)
	slices.Reverse(unsorted)
	twoHours := func(second int) []time.Time { // the second one begins so many minutes after the first
		return append(every(60, time.Minute, day),
			every(60, time.Minute, day.Add(time.Duration(second)*time.Minute))...)
	}
	for _, c := range []struct {
		name      string
		times     []time.Time
		window    time.Duration
		want      time.Duration
		stretches []int // windows of each
	}{
		{"84 hours", every(84*60, time.Minute, day.Add(10*time.Hour)), 0, 3 * time.Hour, []int{29}},
		{"a minute", every(600, 100*time.Millisecond, day), 0, 2 * time.Second, []int{30}},
		{"a second", every(100, time.Millisecond, day), 0, time.Second, []int{1}},
		{"unsorted", unsorted, 0, 3 * time.Hour, []int{28}},
		{"ten dates", every(10, 24*time.Hour, day), 0, 24 * time.Hour, []int{10}},
		{"two hours, years apart",
			append(every(120, time.Minute, day), every(120, time.Minute, day.AddDate(3, 0, 0))...), 0, 10 * time.Minute,
			[]int{12, 12}},
		{"given", every(120, time.Minute, day), time.Minute, time.Minute, []int{120}},
		{"a short pause", twoHours(90), 10 * time.Minute, 10 * time.Minute, []int{15}},
		{"the longest pause", twoHours(99), 10 * time.Minute, 10 * time.Minute, []int{16}},
		{"a long pause", twoHours(110), 10 * time.Minute, 10 * time.Minute, []int{6, 6}},
	} {
		s, err := survey(t, at(c.times...), timed, c.window)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var windows []int
		for _, stretch := range s.Stretches {
			windows = append(windows, stretch.Windows)
			length := time.Duration(stretch.Windows) * s.Window
			if stretch.Start.UnixNano()%int64(s.Window) != 0 || stretch.End.Sub(stretch.Start) != length {
				t.Errorf("%s: stretch %+v of windows of %s", c.name, stretch, s.Window)
			}
		}
		if s.Window != c.want || !slices.Equal(windows, c.stretches) {
			t.Errorf("%s: windows of %s, %v; want %s, %v", c.name, s.Window, windows, c.want, c.stretches)
		}
		for _, at := range c.times {
			outside := func(s replay.Stretch) bool { return !s.Contains(at) }
			if n := len(slices.DeleteFunc(slices.Clone(s.Stretches), outside)); n != 1 {
				t.Fatalf("%s: %s is in %d stretches", c.name, at, n)
			}
		}
		if s.Events != len(c.times) || s.Unfinished != 0 || len(s.Trial.Rejected()) != 0 {
			t.Errorf("%s: %d events, %d unfinished, rejected %v", c.name, s.Events, s.Unfinished, s.Trial.Rejected())
		}
	}
}

func TestSurveyOfNow(t *testing.T) {
	now := time.Now()
	s, err := survey(t, at(now.Add(-48*time.Hour), now.Add(-47*time.Hour), now, now.Add(time.Hour)), timed, time.Hour)
	if err != nil || s.Unfinished != 2 || len(s.Stretches) != 1 || s.Stretches[0].Windows != 2 {
		t.Errorf("got %+v, %v; want one stretch of two windows, and two events that are in none", s, err)
	}
	_, err = survey(t, at(now.Add(time.Hour)), timed, 0)
	if err == nil || err.Error() != "f.csv: no event lies in a window that has ended; want events from the past" {
		t.Errorf("got %v", err)
	}
}

func TestSurveyGroups(t *testing.T) {
	grouped := replay.Columns{User: "u", Value: "v", Time: "t", Group: "g"}
	s, err := survey(t, table+"0,u,assets,1,1\n0,u,,1,x\n", columns, 0)
	if err != nil || !slices.Equal(s.Groups, []string{"assets", "presentations"}) || s.Ungrouped != 1 ||
		len(s.Trial.Rejected()) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
	s, err = survey(t, table, replay.Columns{User: "client", Value: "bytes", Time: "time"}, 0)
	if err != nil || s.Groups != nil || s.Ungrouped != 0 {
		t.Errorf("without a column of groups: got %+v, %v", s, err)
	}
	var lines strings.Builder
	for _, g := range []string{`1`, `"\u00e9"`, `true`, `1.5`, `null`, `""`, `{"a":"\u0001"}`} {
		fmt.Fprintf(&lines, `{"u":1,"v":1,"t":1,"g":%s}`+"\n", g)
	}
	s, err = survey(t, lines.String(), grouped, 0)
	if err != nil || !slices.Equal(s.Groups, []string{"1", "true", "é"}) || s.Ungrouped != 4 {
		t.Errorf("got %+v, %v", s, err)
	}
	var many strings.Builder
	many.WriteString("u,v,t,g\n")
	for i := range 102 {
		many.WriteString("u,1,1," + strings.Repeat("x", i+1) + "\n")
	}
	_, err = survey(t, many.String(), grouped, 0)
	if err == nil || !strings.Contains(err.Error(), "f.csv:102: group \"g\" has more than 100") {
		t.Errorf("got %v", err)
	}
}

func TestSurveyErrors(t *testing.T) {
	long := every(2000, time.Second, time.Unix(0, 0).UTC())
	_, err := survey(t, "u,v,t,g\na,1,1,\n", replay.Columns{User: "u", Value: "v", Time: "t", Group: "g"}, 0)
	if err == nil || !strings.HasPrefix(err.Error(), `f.csv: group "g" is empty`) {
		t.Errorf("got %v", err)
	}
	for _, c := range []struct {
		text   string
		window time.Duration
		want   string
	}{
		{"u,v,t\n", 0, "f.csv: the file has no events; want at least one below the header"},
		{"u,v,t\na,1,x\n", 0, "f.csv:2: the time is missing"},
		{at(long...), time.Second, "windows of 1s: more than 1000 of them in f.csv; want longer ones"},
	} {
		if _, err := survey(t, c.text, timed, c.window); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
