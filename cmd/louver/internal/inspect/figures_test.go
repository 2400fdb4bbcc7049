package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// watched are records as they are published: a median, a mean without an error, a withheld one, a count and noise.
func watched(t testing.TB) (records []string) {
	t.Helper()
	const record = `{"schema":"louver.release.v1","id":"checkout/eu/2026-11-20T08:00:00Z/p50","stream":"checkout","group":"eu","release":"p50",` +
		`"window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T08:15:00Z","due_at":"2026-11-20T08:15:30Z","incomplete":false,"statistic":"median","p":0.5,` +
		`"mechanism":"margin","unit":"ms","value":812,"status":"ok","reason":null,"epsilon":0.1,"delta":0,"rank_error_95":554.2,"error_95":null,"quality":"useful",` +
		`"users":10412,"p_low":0.4,"p_high":0.6,"interval":null,"smoothed":null,"stream_epsilon_spent":12.5,"budget":"b","budget_epsilon_spent":12.5,` +
		`"budget_epsilon_limit":24,"budget_windows_left":46}`
	of := func(pairs ...string) string {
		text := strings.NewReplacer(pairs...).Replace(record)
		if text == record {
			t.Fatal("nothing was replaced")
		}
		return text
	}
	return []string{record,
		of(`"p50"`, `"average"`, `"rank_error_95":554.2`, `"rank_error_95":null`, `"p_low":0.4,"p_high":0.6`,
			`"p_low":null,"p_high":null`, `"useful"`, `null`, `"value":812`, `"value":95.5`),
		of(`"eu"`, `"ap"`, `"value":812`, `"value":null`, `"reason":null`, `"reason":"budget_exhausted"`, `"useful"`,
			`null`),
		of(`"p50"`, `"users"`, `"statistic":"median"`, `"statistic":"count"`, `"rank_error_95":554.2,"error_95":null`,
			`"error_95":150,"low":10260,"high":10560,"level":0.95,"basis":"noise"`,
			`"p_low":0.4,"p_high":0.6`, `"p_low":null,"p_high":null`,
			`"value":812`, `"value":10410`, `"unit":"ms"`, `"unit":"users"`),
		of(`"useful"`, `"noise"`, `"users":10412`, `"users":600`, `"p_low":0.4,"p_high":0.6`, `"p_low":0,"p_high":1`)}
}

func TestWatchLines(t *testing.T) {
	file, err := parse.File("s.yaml", []byte(clitest.StreamsFile), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		live  bool
		width int
		want  string
	}{
		{false, 0, `2026-11-20T08:15:00Z  checkout/eu/p50    812 ms          40th–60th percentile     useful  ε 12.5 of 24
2026-11-20T08:15:00Z  checkout/eu/average  95.5 ms         no band                  -       ε 12.5 of 24
2026-11-20T08:15:00Z  checkout/ap/p50    withheld        the budget is exhausted          ε 12.5 of 24
2026-11-20T08:15:00Z  checkout/eu/users  10,410 users    ± 150                    useful  ε 12.5 of 24
2026-11-20T08:15:00Z  checkout/eu/p50    812 ms          0th–100th percentile     noise   ε 12.5 of 24  about 880 users or ε 0.085 would do
`},
		{true, 80, `2026-11-20T08:15:00Z  checkout  ε 12.5 of 24
  eu/p50    812 ms          40th–60th percentile     useful
  eu/average  95.5 ms         no band                  -
  ap/p50    withheld        the budget is exhausted
  eu/users  10,410 users    ± 150                    useful
  eu/p50    too noisy to read: about 880 users or ε 0.085 would do
`},
		{true, 40, `2026-11-20T08:15:00Z  checkout  ε 12.5 of 24
  eu/p50
      812 ms          40th–60th percentile     useful
  eu/average
      95.5 ms         no band                  -
  ap/p50
      withheld        the budget is exhausted
  eu/users
      10,410 users    ± 150                    useful
  eu/p50
      too noisy to read: about 880 users or ε 0.085 would do
`},
	} {
		var out bytes.Buffer
		lines := newWatchLines(&cli.App{Out: &out}, file.Streams)
		if c.live {
			lines.live, lines.width, lines.series = true, func() int { return c.width }, len("eu/users")
		}
		for _, value := range watched(t) {
			r, _, err := outputs.Decode([]byte(value))
			if err != nil {
				t.Fatal(err)
			}
			if err := lines.print(r); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != c.want {
			t.Errorf("terminal %v of %d columns:\n%s\nwant\n%s", c.live, c.width, out.String(), c.want)
		}
	}
}

// How many names are on a list has no error, public or not.
func TestWatchLineOfAList(t *testing.T) {
	const about = `{"schema":"louver.release.v1","stream":"web","group":"","release":"daily","statistic":"groups","value":214,` +
		`"unit":"groups","window_end":"2026-11-20T08:15:00Z","budget_epsilon_spent":12.5,"budget_epsilon_limit":24}`
	r, _, err := outputs.Decode([]byte(about))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := newWatchLines(&cli.App{Out: &out}, nil).print(r); err != nil {
		t.Fatal(err)
	}
	want := "2026-11-20T08:15:00Z  web/daily  214 groups      on the list              -       ε 12.5 of 24\n"
	if out.String() != want {
		t.Errorf("%q; want %q", out.String(), want)
	}
}

// Which events count is told first. A topic that is missing is named, and what comes once it is there is shown, from
// its first record on.
func TestWatchWaitsForTheTopic(t *testing.T) {
	b := kafkatest.Fake(t)
	path := clitest.File(t, "s.yaml", strings.Replace(clitest.StreamsFile, "value: latency_ms",
		"where: {kind: server}, value: latency_ms", 1))
	ctx, cancel := context.WithCancel(kafkatest.Context(t))
	out, writesOut := io.Pipe()
	errOut, writesErr := io.Pipe()
	program := cli.Program{Commands: func() any {
		return &struct {
			Watch WatchCommand `cmd:""`
		}{}
	}}
	code := make(chan int, 1)
	go func() {
		code <- program.Execute(ctx, []string{"watch", "--streams", path, "--kafka-brokers",
			strings.Join(b.Conn.Brokers, ",")}, strings.NewReader(""), writesOut, writesErr)
	}()
	read := func(from io.Reader) string {
		t.Helper()
		line := make([]byte, 1000)
		n, err := from.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		return string(line[:n])
	}
	if got, want := read(errOut), "louver: stream checkout: only events with kind = server\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const waiting = "louver: waiting for topic checkout.private: it does not exist yet, or you may not describe it; " +
		"louver run creates it\n"
	if got := read(errOut); got != waiting {
		t.Errorf("%q, want %q", got, waiting)
	}
	b.CreateTopic(t, "checkout.private", 1, nil)
	b.Produce(t, "checkout.private", 0, kafkatest.Values(watched(t)[0])...)
	if got, want := read(errOut), "louver: topic checkout.private exists now\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := read(out); !strings.HasPrefix(got, "2026-11-20T08:15:00Z  checkout/eu/p50") {
		t.Errorf("%q", got)
	}
	cancel()
	if got := <-code; got != cli.ExitDone {
		t.Errorf("exit code %d", got)
	}
}

// What was published before comes by window and then as in the streams file, however it lies in the topic.
func TestWatchSince(t *testing.T) {
	b := kafkatest.Fake(t)
	path := clitest.File(t, "s.yaml", clitest.StreamsFile)
	b.CreateTopic(t, "checkout.private", 3, nil)
	first := watched(t)[0]
	later := strings.NewReplacer("08:00:00Z", "08:15:00Z", "08:15:00Z", "08:30:00Z", "08:15:30Z",
		"08:30:30Z").Replace(first)
	old := strings.ReplaceAll(first, "2026-11-20T", "1926-11-20T")
	users := func(of string) string { return strings.ReplaceAll(of, "p50", "users") }
	b.Produce(t, "checkout.private", 2, kafkatest.Values(old, users(first), users(later))...)
	b.Produce(t, "checkout.private", 0, kafkatest.Values(later)...)
	b.Produce(t, "checkout.private", 1, kafkatest.Values("{}", first)...)
	ctx, cancel := context.WithCancel(kafkatest.Context(t))
	out, writesOut := io.Pipe()
	program := cli.Program{Commands: func() any {
		return &struct {
			Watch WatchCommand `cmd:""`
		}{}
	}}
	code := make(chan int, 1)
	go func() {
		code <- program.Execute(ctx, []string{"watch", "--streams", path, "--since", "36500d", "--kafka-brokers",
			strings.Join(b.Conn.Brokers, ",")}, strings.NewReader(""), writesOut, io.Discard)
	}()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"2026-11-20T08:15:00Z  checkout/eu/p50 ", "2026-11-20T08:15:00Z  checkout/eu/users ",
		"2026-11-20T08:30:00Z  checkout/eu/p50 ", "2026-11-20T08:30:00Z  checkout/eu/users "} {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Errorf("%q, want %q", lines.Text(), want)
		}
	}
	cancel()
	if got := <-code; got != cli.ExitDone {
		t.Errorf("exit code %d", got)
	}
}

// A watch that was armed as often as at_most allows is not withheld for want of budget. Times of another day have that
// day, and a pipe hears of lost input too.
func TestFigureColumnsInWords(t *testing.T) {
	for text, want := range map[string]string{
		`{"statistic":"watch","value":null,"reason":"budget_exhausted"}`:                  "at_most or the budget allows no more",
		`{"statistic":"median","value":null,"reason":"budget_exhausted"}`:                 "withheld        the budget is exhausted",
		`{"statistic":"median","changed":false,"value":null,"reason":"not_armed"}`:        "not armed again yet",
		`{"statistic":"watch","value":1,"since":"2026-11-20T08:00:00Z"}`:                  "firing          since 08:00:00Z",
		`{"statistic":"watch","value":1,"since":"2026-11-19T23:45:00Z"}`:                  "since 2026-11-19T23:45:00Z",
		`{"statistic":"median","changed":false,"value":7,"since":"2026-11-18T08:00:00Z"}`: "since 2026-11-18T08:00:00Z",
	} {
		var r outputs.Record
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		r.WindowEnd = time.Date(2026, 11, 20, 8, 15, 0, 0, time.UTC)
		if got := figureColumns(r); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for whole, want := range map[bool]string{true: "", false: "incomplete: part of the input was lost"} {
		if got := strings.TrimSpace(incomplete(outputs.Record{Incomplete: !whole})); got != want {
			t.Errorf("a window that is whole (%t): %q, want %q", whole, got, want)
		}
	}
}
