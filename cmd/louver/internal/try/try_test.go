package try

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

var begin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// kinds are small files of usual kinds, each with a few hundred users in a window of a day.
var kinds = map[string]struct {
	file    string // its name
	columns string // that are guessed
	name    string // of the stream
	write   func(w io.Writer, random *rand.Rand)
}{
	"access log": {"access.log.jsonl", "user ip (guessed), value latency_ms (guessed), time ts (guessed)", "access",
		func(w io.Writer, random *rand.Rand) {
			for i := range 12_000 {
				_, _ = fmt.Fprintf(w, `{"ts":"%s","ip":"10.0.%d.%d","path":"/a","status":%d,"latency_ms":%d}`+"\n",
					at(i, 10*time.Minute/10).Format(time.RFC3339), random.IntN(3), random.IntN(200), 200+random.IntN(3),
					20+random.IntN(300))
			}
		}},
	"flights": {"flights.csv", "user tailnum (guessed), value dep_delay (guessed), time time_hour (guessed)", "flights",
		func(w io.Writer, random *rand.Rand) {
			_, _ = fmt.Fprintln(w, "year,dep_time,dep_delay,carrier,flight,tailnum,distance,time_hour")
			for i := range 12_000 {
				delay := fmt.Sprint(random.IntN(60) - 10)
				if i%50 == 0 {
					delay = "NA"
				}
				_, _ = fmt.Fprintf(w, "2026,%d,%s,UA,%d,N%05d,%d,%s\n", 500+random.IntN(1500), delay, random.IntN(6000),
					random.IntN(1000), 200+random.IntN(2000), at(i, time.Minute).Format("2006-01-02T15:00:00Z"))
			}
		}},
	"ratings": {"ratings.csv", "user userId (guessed), value rating (guessed), time timestamp (guessed)", "ratings",
		func(w io.Writer, random *rand.Rand) {
			_, _ = fmt.Fprintln(w, "userId,movieId,rating,timestamp")
			for i := range 12_000 {
				_, _ = fmt.Fprintf(w, "%d,%d,%.1f,%d\n", 1+random.IntN(600), random.IntN(9000),
					float64(1+random.IntN(10))/2, at(i, time.Minute).Unix())
			}
		}},
	"orders": {"orders.csv", "user customer_id (guessed), value unit_price (guessed), time order_date (guessed)", "orders",
		func(w io.Writer, random *rand.Rand) {
			_, _ = fmt.Fprintln(w, "order_id;order_date;customer_id;country;quantity;unit_price")
			for i := range 12_000 {
				_, _ = fmt.Fprintf(w, "%d;%s;C%05d;DE;%d;%.2f\n", 536_365+i/3, at(i, time.Minute).Format(time.DateTime),
					random.IntN(1000), 1+random.IntN(9), 1+99*random.Float64())
			}
		}},
}

// at is the time of the i-th event.
func at(i int, every time.Duration) time.Time { return begin.Add(time.Duration(i) * every) }

// run tries a file and returns what it says.
func run(t *testing.T, c Command) (string, error) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{Context: t.Context(), Out: &out, Err: io.Discard, In: strings.NewReader("")}
	err := c.Run(app)
	return out.String(), err
}

// Of each kind of file most figures are useful with no flags, and the streams file says what came from the data.
//
// Windows that are chosen have some 250 users or more. With ε 0.25 their count is off by 12 with a probability of 5 %,
// and not useful if it is below 120. That takes noise of −130: e^{−0.25·130}, below 1e-14.
func TestKinds(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, out := filepath.Join(dir, kind.file), filepath.Join(dir, "streams.yaml")
			var text bytes.Buffer
			kind.write(&text, rand.New(rand.NewPCG(1, 2)))
			if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			said, err := run(t, Command{File: file, Out: out})
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			for _, want := range []string{kind.columns, "Chosen: windows of ", " users ± ", "Wrote " + out} {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
			if strings.Contains(said, "the best of those tried") {
				t.Errorf("most figures are not useful:\n%s", said)
			}
			streams, err := parse.Load(out, os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			if s := streams.Streams[0]; s.Name != kind.name || len(streams.FromData) != 10 {
				t.Errorf("stream %s with %d values from the data, want %s and 10", s.Name, len(streams.FromData), kind.name)
			}
			if _, err := run(t, Command{File: file, Out: out}); err == nil || !strings.Contains(err.Error(), "--out") {
				t.Errorf("an existing streams file: %v; want a refusal", err)
			}
		})
	}
}

// Groups are guessed and taken if most of their figures are useful, and else named.
//
// Two groups have 760 users each in two days: with ε 3 their number is off by 1, and the number of those with a high
// value too. Twelve have 60 users each with a high value, whose number is off by 12 with the ε that is chosen.
func TestGroups(t *testing.T) {
	for name, c := range map[string]struct {
		groups  int
		noGroup bool
		want    []string
		without string
	}{
		"few": {2, false, []string{"group region (guessed)", "│ region │", "--no-group takes no groups"},
			"--group region takes"},
		"many": {12, false, []string{"With the 12 groups of column region, ", "--group region takes them"},
			"region (guessed)"},
		"not wanted":  {2, true, []string{"time ts (guessed)\n"}, "region"},
		"one is none": {1, false, []string{"time ts (guessed)\n"}, "region"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, random := t.TempDir(), rand.New(rand.NewPCG(3, 4))
			file, out := filepath.Join(dir, "a.csv"), filepath.Join(dir, "streams.yaml")
			var text bytes.Buffer
			_, _ = fmt.Fprintln(&text, "ts,user_id,region,ms")
			for i := range 12_000 {
				user := random.IntN(2000)
				_, _ = fmt.Fprintf(&text, "%s,u%d,r%02d,%d\n", at(i, time.Minute).Format(time.RFC3339), user, user%c.groups,
					random.IntN(300))
			}
			if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := Command{File: file, Out: out, NoGroup: c.noGroup}
			if name == "few" {
				cmd.Window, cmd.Epsilon = 48*time.Hour, new(cli.Number)
				if err := cmd.Epsilon.UnmarshalText([]byte("3")); err != nil {
					t.Fatal(err)
				}
			}
			said, err := run(t, cmd)
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
			if strings.Contains(said, c.without) {
				t.Errorf("it says %q:\n%s", c.without, said)
			}
			streams, err := parse.Load(out, os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			if got := streams.Streams[0].Input.Group; (got == "region") != (name == "few") {
				t.Errorf("the stream has the groups of %q", got)
			}
		})
	}
}

// What a flag says is not from the data.
func TestFlagsAreNoGuesses(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "a.csv"), filepath.Join(dir, "streams.yaml")
	var text bytes.Buffer
	kinds["ratings"].write(&text, rand.New(rand.NewPCG(1, 2)))
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	flag := func(text string) *cli.Number { return flagged(t, text) }
	c := Command{File: file, Out: out, Window: 24 * time.Hour, Epsilon: flag("0.8"), Lower: flag("0"),
		Upper: flag("10")}
	c.Value, c.Above, c.Figure = "movieId", flag("5"), "mean"
	said, err := run(t, c)
	if err != nil || !strings.Contains(said, "value movieId, time timestamp (guessed)") ||
		!strings.Contains(said, "│ 24h    │") || strings.Contains(said, "ε 0.3") {
		t.Errorf("%v, %s", err, said)
	}
	streams, err := parse.Load(out, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if s := streams.Streams[0]; s.Window.Size != 24*time.Hour || s.Grid.Upper().String() != "10" ||
		s.Input.Value != "movieId" || s.Budget.Epsilon.String() != "0.8" {
		t.Errorf("%+v", s)
	}
	if file, err := os.ReadFile(out); err != nil || !strings.Contains(string(file), "        above: 5\n") ||
		!strings.Contains(string(file), "      - name: mean\n") {
		t.Errorf("%v, the file is\n%s", err, file)
	}
	c.Where, c.Out = []string{"movieId={above: 5}"}, "-"
	if said, err := run(t, c); err != nil || !strings.Contains(said, "rows are skipped: only those with movieId > 5 count") {
		t.Errorf("%v, %s", err, said)
	}
	c.Where = []string{"movieId=none"}
	if _, err := run(t, c); err == nil || !strings.Contains(err.Error(), "no row has movieId = none") {
		t.Error(err)
	}
	for _, v := range streams.FromData {
		for _, key := range []string{"lower", "upper", "size", "epsilon", "above"} {
			if strings.HasSuffix(v.Key, key) {
				t.Errorf("%s is marked, and a flag gave it", v.Key)
			}
		}
	}
}

// A file without numbers is tried to the end: its events are counted, in windows of any length. --figure events counts
// them although there are numbers.
//
// A window of a day has 1,440 events of some 760 users. With ε 0.5 their number is off by 3·upper/ε at most, so by less
// than a tenth with upper 5 or 10, and the plan that is chosen has at least that.
func TestEventsAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		column, row string // of the CSV, behind time and user
		cmd         Command
		want        []string
	}{
		"no number":   {"", "", Command{}, []string{"no column has numbers to use as values, so events are counted"}},
		"a status":    {",path,status", ",/a,404", Command{}, []string{"so events are counted"}},
		"few numbers": {",note", ",none", Command{}, []string{"--value takes one all the same"}},
		"wanted":      {",ms", ",12.5", Command{Figure: "events"}, []string{"time ts (guessed)\n  12,000 rows"}},
		"median":      {"", "", Command{Figure: "median"}, []string{"│ median of a user"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, random := t.TempDir(), rand.New(rand.NewPCG(5, 6))
			file, out := filepath.Join(dir, "visits.csv"), filepath.Join(dir, "streams.yaml")
			var text bytes.Buffer
			_, _ = fmt.Fprintln(&text, "ts,user_id"+c.column)
			for i := range 12_000 {
				_, _ = fmt.Fprintf(&text, "%s,u%d%s\n", at(i, time.Minute).Format(time.RFC3339), random.IntN(1000), c.row)
			}
			if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := c.cmd
			cmd.File, cmd.Out = file, out
			said, err := run(t, cmd)
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			for _, want := range append(c.want, "user user_id (guessed), time ts (guessed)\n", "one user counts with up to ",
				"how many events there are, or one user has: events ", "Chosen: windows of ") {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
			if name != "median" && (!strings.Contains(said, " events ± ") || !strings.Contains(said, "Chosen: events.")) {
				t.Errorf("it does not show numbers of events:\n%s", said)
			}
			streams, err := parse.Load(out, os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			if s := streams.Streams[0]; s.Contribution != windows.Count || s.Input.Value != "" || s.Unit != "events" ||
				len(streams.FromData) != 8 {
				t.Errorf("%+v, %d values from the data, want 8", s, len(streams.FromData))
			}
		})
	}
}

// Bounds of events are whole numbers, and a limit that one window's bounds do not hold moves them.
func TestBoundsOfEvents(t *testing.T) {
	var text bytes.Buffer
	_, _ = fmt.Fprintln(&text, "ts,user_id")
	for i := range 3000 {
		_, _ = fmt.Fprintf(&text, "%s,u%d\n", at(i, time.Minute).Format(time.RFC3339), i%30)
	}
	file := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	flag := func(text string) *cli.Number { return flagged(t, text) }
	for name, c := range map[string]struct {
		cmd  Command
		want string // of the error, or of what is said
	}{
		"a limit above all":    {Command{Above: flag("7000")}, "│ above 7000 "},
		"a limit at the bound": {Command{Above: flag("5"), Upper: flag("5")}, "want a value from 0 to less than 5"},
		"half an event":        {Command{Upper: flag("2.5")}, "--upper 2.5, but events are counted"},
		"a lower bound":        {Command{Lower: flag("3000")}, "Chosen: windows of "},
		"one user less":        {Command{Upper: flag("1")}, "one user counts with up to 1 event in a window"},
		"with a value":         {Command{Figure: "events", FileColumns: feed.FileColumns{Value: "x"}}, "--figure events with"},
	} {
		cmd := c.cmd
		cmd.File, cmd.Out = file, "-"
		if said, err := run(t, cmd); !strings.Contains(fmt.Sprint(said, err), c.want) {
			t.Errorf("%s: %v, want %q\n%s", name, err, c.want, said)
		}
	}
}

// Three stations have no figures, however long they measure. Nothing is written.
func TestTooFewUsers(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "a.csv"), filepath.Join(dir, "streams.yaml")
	text := "timestamp,station,temperature,humidity\n"
	for i := range 6000 {
		text += fmt.Sprintf("%s,%s,%d.5,40\n", at(i/3, time.Hour).Format(time.DateTime),
			[]string{"north", "south", "east"}[i%3], i%30)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := run(t, Command{File: file, Out: out})
	if err == nil || !strings.Contains(err.Error(), "only 3 users in column station") ||
		!strings.Contains(said, "value temperature (guessed)") {
		t.Errorf("%v, %s", err, said)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a streams file was written: %v", err)
	}
}

// The requests to a real web site have useful figures with no flags.
func TestWebRequests(t *testing.T) {
	dir := os.Getenv("LOUVER_TEST_DATA")
	file := filepath.Join(dir, "web_requests.csv")
	if _, err := os.Stat(file); dir == "" || err != nil {
		t.Skipf("no web_requests.csv in LOUVER_TEST_DATA=%q", dir)
	}
	said, err := run(t, Command{File: file, Out: "-"})
	if err != nil || !strings.Contains(said, "user client (guessed), value bytes (guessed), time time (guessed)") ||
		!strings.Contains(said, "Chosen: windows of 24h with ε 1 each.") {
		t.Errorf("%v, %s", err, said)
	}
}

// A file of nothing that can be used says what is missing.
func TestNoColumns(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\nx,y\nx,z\n":                                               "want --time with one of a, b",
		"time,b\n2026-03-01,1.5\n2026-03-01,2.5\n":                      "want --user with one of b",
		"time,user\n2026-03-01,x\n2026-03-01,x\n":                       "only 1 user in column user",
		"time,user,n\n2026-03-01,x,a\n2026-03-01,x,1\n2026-03-01,x,b\n": "only 1 user in column user",
		"time,user,n\n2026-03-01,x,1\n2026-03-01,x,2\n":                 "only 1 user in column user",
		"":              "the file is empty",
		"time,user,n\n": "has no events",
		"[1]":           "JSON array",
		"time,user,n\n2026-03-01,,1\n2026-03-01,,2\n":          "want --user",
		"time,user,n\n2026-03-01,x,1\n2026-03-01,x,2\nshort\n": "does not have as many fields",
	} {
		file := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := run(t, Command{File: file, Out: "-"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q\n%s", text, err, want, said)
		}
	}
}

// Of many columns those are guessed that a person would choose. Wrong users would protect nobody.
func TestGuesses(t *testing.T) {
	for _, c := range []struct{ header, row, want string }{
		{"ts,client_ip_hash,status,bytes,latency_ms", "2026-03-01T08:00:%02[1]dZ,c%[2]d,200,%[3]d,%[3]d",
			"client_ip_hash latency_ms ts "},
		{"household_id,store_id,basket_id,product_id,quantity,sales_value,time",
			"%[2]d,3,%[3]d,%[3]d,%[4]d,%[3]d.5,2026-03-01T08:00:%02[1]dZ", "household_id sales_value time "},
		{"user_id:token\titem_id:token\trating:float\ttimestamp:float", "%[2]d\t%[3]d\t%[4]d\t88125%04[3]d",
			"user_id:token rating:float timestamp:float "},
		{"origin,year,month,temp,humid,precip,time_hour", "EWR,2013,%[4]d,%[3]d.1,%[3]d.5,0,2013-01-01T08:00:%02[1]dZ",
			"origin temp time_hour "},
		{"Aircraft Model,Flight Date,Cost Other,Cost Total $,Speed IAS in knots", "M%[2]d,1990-01-%02[1]d,0,0,%[3]d",
			"Aircraft Model Speed IAS in knots Flight Date "},
		{"customer_id,date,number_of_cds,dollar_value", "%05[2]d,199701%02[1]d,%[4]d,%[3]d.77",
			"customer_id dollar_value date "},
		{"InvoiceNo,InvoiceDate,Customer ID,Quantity,UnitPrice", "%[3]d,12/%[1]d/2010 8:26,%[2]d,%[4]d,%[3]d.5",
			"Customer ID UnitPrice InvoiceDate "},
		{"day,hour,userId,duration", "%[1]d.11.2026,%[4]d,u%[2]d,%[3]d", "userId duration day hour"},
		{"day,Uhrzeit,uid,n", "%[1]d.11.2026,0%[4]d:30,u%[2]d,%[3]d", "uid n day Uhrzeit"},
		{"ts,user,path,status", "2026-03-01T08:00:%02[1]dZ,u%[2]d,/a,%[3]d", "user  ts "},
		{"ts,user,order_id,year", "2026-03-01T08:00:%02[1]dZ,u%[2]d,%[3]d,202%[4]d", "user  ts "},
	} {
		text := c.header + "\n"
		for i := range 40 {
			text += fmt.Sprintf(c.row+"%[5]s\n", 1+i%28, i%13, 100+7*i, 1+i%5, "")
		}
		look, _, err := replay.LookAt("f", strings.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := complete("f", replay.Columns{}, look, false)
		if is := strings.Join([]string{got.User, got.Value, got.Time, got.Clock}, " "); err != nil || is != c.want {
			t.Errorf("%s: %q, %v; want %q", c.header, is, err, c.want)
		}
	}
}

// Bounds are round numbers around the values, and a step divides their width.
func TestRound(t *testing.T) {
	for x, want := range map[string]string{"0": "0", "-3": "0", "1": "1", "1.01": "2", "3": "5", "7": "10", "200": "200",
		"0.03": "0.05", "480001": "500000"} {
		if got := round(number(t, x)); !got.Equal(number(t, want)) {
			t.Errorf("%s: %s, want %s", x, got, want)
		}
	}
}

// The comment that marks values is the one that the parser looks for.
func TestMarks(t *testing.T) {
	d := draft{File: "a", Name: "a", Lower: number(t, "0"), Upper: number(t, "10"), Step: number(t, "1"),
		High: number(t, "5"), Groups: []string{"eu", "on"}, Columns: replayColumns, Last: int64(48 * time.Hour)}
	s, f, err := d.stream(plan{window: time.Hour, epsilon: number(t, "1")})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.FromData) != 11 || f.FromData[0].Key != "streams[a].groups" || s.Groups[1] != "on" {
		t.Errorf("%v of %v are marked with %q", f.FromData, s.Groups, config.FromDataComment)
	}
}

// flagged is what a flag says.
func flagged(t *testing.T, text string) *cli.Number {
	t.Helper()
	n := new(cli.Number)
	if err := n.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return n
}
