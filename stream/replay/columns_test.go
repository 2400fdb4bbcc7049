package replay_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/replay"
)

// reading returns the decoder of a stream whose input is what Columns.Input says.
func reading(t *testing.T, c replay.Columns) codec.Decoder {
	t.Helper()
	input := strings.ReplaceAll(strings.TrimSpace(c.Input("web.requests")), "\n", "\n      ")
	groups := ""
	if c.Group != "" {
		groups = "groups: [eu, us]"
	}
	file, err := parse.File("s.yaml", fmt.Appendf(nil, `
version: 1
streams:
  - name: s
    input:
      %s
    %s
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 1s, start: now}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 100, per: 24h}
`, input, groups), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%v\n%s", err, input)
	}
	s := file.Streams[0]
	in := s.Input
	if in.Topic != "web.requests" {
		t.Errorf("topic %q", in.Topic)
	}
	d, err := codec.New(s.Codec())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A stream with the input that is printed reads every record as it stood in the file, whatever the columns are called.
func TestInputReadsWhatIsWritten(t *testing.T) {
	for _, c := range []replay.Columns{
		{User: "client", Value: "bytes", Time: "time", Group: "section"},
		{User: "client", Value: "bytes", Time: "time"},
		{User: "Client Id", Value: "latency (ms)", Time: "time, UTC", Group: "région"},
		{User: "user.id", Value: "user.ms.total", Time: "at", Group: "user.ms.zone"},
		{User: `a "b"`, Value: "c: d", Time: "#e", Group: "- f"},
		{User: "a${HOME}", Value: "x$", Time: `\n`, Group: "{g}"},
		{User: "null", Value: "true", Time: "7", Group: "1e5"},
		{User: "yes", Value: "~", Time: "0x1", Group: "*a"},
		{User: "a\nb", Value: "v\u00a0w", Time: "<t>", Group: "😀"},
		{User: "user", Value: "USER", Time: "User", Group: "value"},
	} {
		t.Run(c.User, func(t *testing.T) {
			var text strings.Builder
			w := csv.NewWriter(&text)
			rows := [][]string{{"", c.Group, c.Time, c.Value, c.User},
				{"x", "us", "2015-05-17 10:05:00", "12.5", "007"}, {"y", "eu", "2015-05-17 10:05:01", "-3", "ann"}}
			if err := w.WriteAll(rows); err != nil {
				t.Fatal(err)
			}
			records, err := read(t, text.String(), c, replay.Options{})
			if err != nil || len(records) != 2 {
				t.Fatalf("%d records, %v", len(records), err)
			}
			d := reading(t, c)
			for i, want := range []string{"007 0 13", "ann 0 -1"} {
				if c.Group != "" && i == 0 {
					want = "007 1 13"
				}
				var e codec.Event
				if reason := d.Decode(codec.Record{Value: records[i].Value, Time: time.Now().UnixNano()},
					&e); reason != codec.OK {
					t.Fatalf("%s is rejected: %v\n%s", records[i].Value, reason, c.Input("t"))
				}
				if got := fmt.Sprintf("%s %d %d", e.User, e.Group, e.Value); got != want ||
					e.Time != records[i].Time.UnixNano() {
					t.Errorf("%s reads as %s, want %s", records[i].Value, got, want)
				}
			}
		})
	}
}

func TestInput(t *testing.T) {
	got := replay.Columns{User: "client", Value: "latency (ms)", Time: "at"}.Input("web.requests")
	if want := "topic: web.requests\nformat: json\nuser: client\nvalue: \"latency (ms)\"\ntime: at\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A trial foretells what a stream rejects, and where that begins.
func TestTrial(t *testing.T) {
	c := replay.Columns{User: "u", Value: "v", Time: "t"}
	records, err := read(t, "u,v,t\nann,1,0\nbob,n/a,0\n,2,0\nbob,3,2999-01-01\n", c, replay.Options{})
	if err != nil || len(records) != 3 { // no stream has windows as late as that
		t.Fatalf("%d records, %v", len(records), err)
	}
	records, err = read(t, "u,v,t\nann,1,0\nbob,\"1,5\",0\n,2,0\nann,,0\nbob,3,2030-01-01\n", c, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := replay.NewTrial(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		trial.Add(r, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	if got, want := fmt.Sprint(trial.Rejected()), "[{bad_value 2 3} {bad_user 1 4} {future 1 6}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("\ufeff" + table)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if records, err := read(t, packed.String(), columns, replay.Options{}); err != nil || len(records) != 2 {
		t.Errorf("%d records, %v", len(records), err)
	}
	_, err := read(t, packed.String()[:20], columns, replay.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "f.csv: ") {
		t.Errorf("a cut file: %v", err)
	}
}
