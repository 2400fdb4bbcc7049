package demo

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// requestsFile is a file of real web requests.
func requestsFile(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LOUVER_TEST_DATA")
	path := filepath.Join(dir, "web_requests.csv")
	if _, err := os.Stat(path); dir == "" || err != nil {
		t.Skipf("no web_requests.csv in LOUVER_TEST_DATA=%q", dir)
	}
	return path
}

// counted is the last value of each user in a window.
type counted map[time.Time]map[string]timed

type timed struct {
	at    time.Time
	value int
}

func (c counted) add(at time.Time, size time.Duration, user string, value int) {
	end := at.Truncate(size).Add(size)
	if c[end] == nil {
		c[end] = map[string]timed{}
	}
	if old, ok := c[end][user]; !ok || at.After(old.at) || at.Equal(old.at) && value > old.value {
		c[end][user] = timed{at, value}
	}
}

// figures says what a demo at a huge ε shows of a window: the medians that are right, and counts.
func (c counted) figures(end time.Time, upper int) (low, high map[string]int, users, outside int) {
	var values []int
	for _, u := range c[end] {
		if u.value > upper {
			outside++
		}
		values = append(values, min(u.value, upper))
	}
	slices.Sort(values)
	n := len(values)
	low, high = map[string]int{}, map[string]int{}
	for name, tenths := range map[string]int{"p50": 5, "p90": 9} {
		low[name], high[name] = values[(tenths*n+9)/10-1], values[min(tenths*n/10, n-1)]
	}
	return low, high, n, outside
}

// shown is what a demo in a pipe writes.
func shown(t *testing.T, flags ...string) (out, errOut string) {
	t.Helper()
	program := cli.Program{Commands: func() any {
		return &struct {
			Demo Command `cmd:""`
		}{}
	}}
	var o, e bytes.Buffer
	code := program.Execute(t.Context(), slices.Concat([]string{"demo"}, flags,
		[]string{"--http-addr", anywhere, "--metrics-addr", anywhere}), strings.NewReader(""), &o, &e)
	if code != cli.ExitDone {
		t.Fatalf("%s: exit code %d\n%s", flags, code, &e)
	}
	return o.String(), e.String()
}

// sceneOf is the scene of a file, as the command makes it.
func sceneOf(t *testing.T, name, text string, columns feed.FileColumns, zone string) *fileScene {
	t.Helper()
	s, err := newFileScene(fileFlags{CSV: clitest.File(t, name, text), FileColumns: columns,
		DelimiterFlag: feed.DelimiterFlag{Delimiter: ","}, TimesFlags: feed.TimesFlags{Zone: zone},
		Epsilon: decimalNumber(t, "4"), Lower: decimalNumber(t, "0"), Upper: new(decimalNumber(t, "10")),
		Contribution: "last", Step: decimalNumber(t, "1")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// twoStretches is a file of events in two stretches of time, below a header.
func twoStretches(header string) string {
	first := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	text := header + "\n"
	for i := range 600 {
		at := first.Add(time.Duration(i)*10*time.Second).AddDate(i/300*7, 0, 0)
		text += fmt.Sprintf("u%d,%d,%s,g%d\n", i%50, i%7, at.Format(time.RFC3339), i%2)
	}
	return text
}

// The figures of a file are the file's own where ε is huge; every line of it is in its window, though the lines are in
// the reverse order.
func TestDemoFile(t *testing.T) {
	path := requestsFile(t)
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(in).ReadAll()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := counted{}
	reversed := [][]string{rows[0]}
	for _, row := range slices.Backward(rows[1:]) { // time, client, section, status, bytes
		at, err := time.Parse(time.RFC3339, row[0])
		if err != nil {
			t.Fatal(err)
		}
		size, err := strconv.Atoi(row[4])
		if err != nil {
			t.Fatal(err)
		}
		want.add(at, 3*time.Hour, row[1], size)
		reversed = append(reversed, row)
	}
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(reversed); err != nil {
		t.Fatal(err)
	}
	out, errOut := shown(t, "--csv", clitest.File(t, "reversed.csv", text.String()), "--user", "client", "--value",
		"bytes", "--time", "time", "--epsilon", "10000000", "--upper", "100000")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if !strings.Contains(errOut, "\nA streams file for these events:\n") || len(lines) != 1+4*len(want) {
		t.Fatalf("standard error %q, %d lines; want %d", errOut, len(lines), 1+4*len(want))
	}
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		end, err := time.Parse(time.RFC3339, f[0])
		if err != nil {
			t.Fatal(err)
		}
		value, err := strconv.Atoi(f[2])
		if err != nil {
			t.Fatal(err)
		}
		low, high, users, outside := want.figures(end, 100_000)
		name := strings.TrimPrefix(f[1], "demo/")
		if l, ok := low[name]; ok && (value < l || value > high[name]) || name == "users" && value != users ||
			name == "outside" && value != outside {
			t.Errorf("%s, want %d users, %d outside, quantiles of %v to %v", line, users, outside, low, high)
		}
	}
}

// Where contributions add up, a demo at a huge ε shows the sum of all events of a window, cut to the bounds of a user.
func TestDemoFileAddsUp(t *testing.T) {
	// The noise of a sum up to a million is another number than 0 with less than 10^-1000 then.
	const epsilon = "10000000000"
	var text strings.Builder
	text.WriteString("u,v,t\n")
	first := time.Date(2001, 2, 3, 4, 0, 0, 0, time.UTC)
	events, amounts := map[string]map[int]int{}, map[string]map[int]int{} // by the end of a window and the user
	for i := range 2000 {
		at := first.Add(time.Duration(i) * 7 * time.Second)
		fmt.Fprintf(&text, "u%d,%d,%s\n", i*i%23, i%9, at.Format(time.RFC3339))
		end := at.Truncate(time.Hour).Add(time.Hour).Format(time.RFC3339)
		if events[end] == nil {
			events[end], amounts[end] = map[int]int{}, map[int]int{}
		}
		events[end][i*i%23]++
		amounts[end][i*i%23] += i % 9
	}
	path := clitest.File(t, "f.csv", text.String())
	for _, c := range []struct {
		flags []string
		of    map[string]map[int]int
		upper int
	}{{[]string{"--contribution", "count"}, events, 100},
		{[]string{"--contribution", "count", "--upper", "40"}, events, 40},
		{[]string{"--contribution", "sum", "--value", "v"}, amounts, 1_000_000}} {
		out, _ := shown(t, append([]string{"--csv", path, "--user", "u", "--time", "t", "--window", "1h", "--epsilon",
			epsilon}, c.flags...)...)
		totals := 0
		for _, line := range strings.Split(out, "\n") {
			f := strings.Fields(line)
			if len(f) < 3 || f[1] != "demo/total" {
				continue
			}
			totals++
			want := 0
			for _, n := range c.of[f[0]] {
				want += min(n, c.upper)
			}
			if f[2] != strconv.Itoa(want) {
				t.Errorf("%s: %s; want %d", c.flags, line, want)
			}
		}
		if totals != len(c.of) {
			t.Errorf("%s: %d totals, want %d", c.flags, totals, len(c.of))
		}
	}
}

// What the demo of a file leaves behind is a streams file that is right, with the demo's windows, and commands whose
// words a shell takes for what they are.
func TestDemoFileLeavesAStreamsFile(t *testing.T) {
	s := sceneOf(t, "It's two.csv", twoStretches("who,what (ms),when,where"),
		feed.FileColumns{User: "who", Value: "what (ms)", Time: "when"}, "")
	if got := s.next(); got != "" {
		t.Errorf("before the file was read: %s", got)
	}
	windows, err := s.streams(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(s.next(), "\n\n")
	file, commands, found := strings.Cut(rest, "\nSaved as")
	parsed, err := parse.File("streams.yaml", []byte(file), func(string) (string, bool) { return "", false })
	if err != nil || !found || len(parsed.Streams) != 2 || len(windows) != 2 {
		t.Fatalf("%v:\n%s", err, rest)
	}
	for i, p := range parsed.Streams {
		if p.Window != windows[i].Window || p.Input.Topic != "it-s-two.events" ||
			p.Name != []string{"it-s-two", "it-s-two-2"}[i] {
			t.Errorf("stream %s of %s with windows %+v; want those of the demo, %+v", p.Name, p.Input.Topic, p.Window,
				windows[i].Window)
		}
	}
	// The broker runs beside the other commands, so each of them writes its words at once.
	_, run, _ := strings.Cut(commands, "\n\n")
	out, err := exec.CommandContext(t.Context(), "sh", "-c",
		"louver() { printf '[%s]\\n' \"$@\"; }; sleep() { :; }; "+run).Output()
	if err != nil || !strings.Contains(string(out), "It's two.csv]\n[--topic]\n[it-s-two.events]\n[--user]\n[who]\n"+
		"[--value]\n[what (ms)]\n[--time]\n[when]\n") {
		t.Errorf("%v: the shell has\n%s", err, out)
	}
}

// Nothing is late and nothing is rejected, in all stretches of a file.
func TestDemoFileOfStretches(t *testing.T) {
	s := sceneOf(t, "two.csv", twoStretches("who,what,when,where"),
		feed.FileColumns{User: "who", Value: "what", Time: "when", Group: "where"}, "")
	total := func() (n int) {
		for _, stretch := range s.survey.Stretches {
			n += stretch.Windows
		}
		return n
	}
	a := watch(t, s, func(p []picture) bool { return len(p) == total() })
	a.none("louver_events_late_total")
	a.none("louver_events_rejected_total")
	if len(s.survey.Stretches) != 2 || total() < 24 {
		t.Errorf("stretches %+v", s.survey.Stretches)
	}
	if last := a.pictures[len(a.pictures)-1]; last.end.Year() != 2008 || last.lost.String() != fmt.Sprint(4*total()) ||
		last.count != total() {
		t.Errorf("the last window ends at %s, is number %d, and ε %s is lost; want 2008, %d, %d", last.end, last.count,
			last.lost, total(), 4*total())
	}
}

func decimalNumber(t *testing.T, text string) (n cli.Number) {
	t.Helper()
	if err := n.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return n
}

// A file of which some lines can't be used says how many, also of lines without a time, and in which zone times are
// taken that name none.
func TestDemoFileLeftOut(t *testing.T) {
	for zone, want := range map[string]string{
		"": " Left out: 2 of 4 lines (a stream would reject them). Times in column t name no zone and are taken as UTC; " +
			"--zone NAME takes them as those of another, such as Europe/Berlin.",
		"Europe/Berlin": " Left out: 2 of 4 lines (a stream would reject them).",
	} {
		s := sceneOf(t, "f.csv", "u,v,t\na,1,2015-05-17\nb,,2015-05-18\nc,3,2015-05-19\nd,3,\n",
			feed.FileColumns{User: "u", Value: "v", Time: "t"}, zone)
		said := ""
		if _, err := s.streams(t.Context(), func(status string) { said = status }); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(s.text().remark, want) {
			t.Errorf("remark %q, want %q", s.text().remark, want)
		}
		if said != "reading f.csv, 100 %" {
			t.Errorf("progress %q", said)
		}
		if next := s.next(); strings.Contains(next, "--zone Europe/Berlin") != (zone != "") {
			t.Errorf("zone %q: what to do next is %s", zone, next)
		}
	}
}

// What is said of values beyond the bounds comes from released counts, where they are more than their noise.
func TestDemoFileNews(t *testing.T) {
	s := &fileScene{fileFlags: fileFlags{Lower: decimalNumber(t, "0")}, upper: decimal.NewFromInt(100)}
	count := func(statistic, value, quality string) outputs.Record {
		v, noise := json.Number(value), json.Number("7")
		return outputs.Record{Statistic: statistic, Value: &v, Error95: &noise, Quality: record.Quality(quality)}
	}
	for _, c := range []struct {
		records []outputs.Record
		want    string
		alarm   bool
	}{
		{[]outputs.Record{count("count", "200", "useful"), count("outside", "8", "rough")},
			"About 4 % of users have values outside 0 … 100 (--lower and --upper).", false},
		{[]outputs.Record{count("count", "200", "useful"), count("outside", "90", "rough")},
			"About 45 % of users have values outside 0 … 100 (--lower and --upper).", true},
		{[]outputs.Record{count("count", "200", "useful"), count("outside", "7", "rough")},
			"No sign of values outside 0 … 100 (--lower and --upper).", false},
		{[]outputs.Record{count("count", "6", "useful"), count("outside", "9", "rough")},
			"No sign of values outside 0 … 100 (--lower and --upper).", false},
		{[]outputs.Record{count("count", "6", "noise"), count("outside", "9", "noise")},
			"Too few users. Try a longer --window or a larger --epsilon.", true},
	} {
		text, alarm := s.news(picture{stream: &config.Stream{Groups: []string{""}}, records: c.records}, time.Now())
		if text != c.want || alarm != c.alarm {
			t.Errorf("got %q, %v; want %q, %v", text, alarm, c.want, c.alarm)
		}
	}
}
