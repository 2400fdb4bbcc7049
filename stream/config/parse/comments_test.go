package parse_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// A value with the comment counts as chosen by the data until it differs from what the comment says, or the comment is
// gone.
func TestFromData(t *testing.T) {
	const file = `version: 1
streams:
  - name: s
    input: {topic: in, user: u, value: v, group: g}
    groups: [eu, us] # from the data
    bounds:
      lower: 0 # from the data: 0
      upper: 600 # from the data: 500
      step: 1 # from the bottom: 1
    window:
      size: 1h # from the data: 1h, or so
      grace: 0s
      start: 2026-11-20T00:00:00Z #from the data: 2026-11-20T00:00:00Z
    releases:
      - name: users
        statistic: count
        epsilon: 0.25 # from the data: 0.25
    output: {topic: out}
    budget: {epsilon: 6, per: 24h}
`
	f, err := parse.File("f.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := []config.FromData{{Where: "f.yaml:5", Key: "streams[s].groups"},
		{Where: "f.yaml:7", Key: "streams[s].bounds.lower"}, {Where: "f.yaml:13", Key: "streams[s].window.start"},
		{Where: "f.yaml:17", Key: "streams[s].releases[users].epsilon"}}
	if d := cmp.Diff(want, f.FromData); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	f, err = parse.File("f.yaml", []byte(strings.ReplaceAll(file, "from the data", "chosen")), os.LookupEnv)
	if err != nil || f.FromData != nil {
		t.Errorf("%v, %v without the comment", f.FromData, err)
	}
}
