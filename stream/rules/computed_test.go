package rules

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// withHistogramText has the streams of other tests with a histogram in place of the mean.
var withHistogramText = strings.Replace(streams, "{name: avg, statistic: mean, epsilon: 0.1}",
	`{name: shape, statistic: histogram, buckets: [100, 400], epsilon: 0.1, rollup: [1h], last: [1h]}
      - {name: p99, statistic: quantile, p: 0.99, from: shape}
      - {name: slow, statistic: share, above: 400, from: shape}
      - {name: many, statistic: count, above: 400, from: shape}
      - {name: peak, statistic: mode, from: shape}`, 1)

func withHistogram(t *testing.T) []*config.Stream {
	t.Helper()
	f, err := parse.File("streams.yaml", []byte(withHistogramText), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams
}

// A band of a figure from a histogram is on one side of the truth in at most 2.6 % of windows. Two groups have 4,320
// windows in 30 days: three in a row come at most 2·4318·0.026³ = 0.15 times, and of 720 hours two in a row at most
// 2·719·0.026² = 0.97 times.
func TestAlertsOfHistograms(t *testing.T) {
	for _, c := range []struct {
		threshold Threshold
		want      []string
	}{
		{above("web", "p99", "500", 0), []string{`louver:release_low:newest{stream="web", release="p99"} > 500`,
			"is above 500 ms", "for 3 windows in a row", "at most 0.15 times", "in all 2 groups together",
			"the 95 % band of figures from a histogram with ε 0.1"}},
		{above("web", "slow", "0.05", 0), []string{"is above 0.05\n", "at most 0.15 times"}},
		{below("many", "500", 0), []string{`louver:release_high:newest{stream="web", release="many"} < 500`,
			"is below 500 users"}},
		{above("web", "shape", "500", 0), []string{"is above 500 users", "at most 0.15 times"}},
		{above("web", "p99.1h", "500", 0), []string{`release="p99.1h"} > 500`, "for 2 windows in a row", "for: 1h30m",
			"at most 0.97 times"}},
		// Windows share their noise, so misses come in runs: of 4,320 in two groups at most 2·0.026·4320/3 alarms.
		{above("web", "p99.last_1h", "500", 0), []string{`louver:release_low:newest{stream="web", release="p99.last_1h"} > 500`,
			"for 3 windows in a row", "at most 75 times", "the band keeps its level"}},
	} {
		var b strings.Builder
		if _, err := Write(&b, withHistogram(t), Wanted{Thresholds: []Threshold{c.threshold}}); err != nil {
			t.Errorf("%s: %v", c.threshold, err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is not in\n%s", c.threshold, want, b.String())
			}
		}
	}
	for _, c := range []struct {
		threshold Threshold
		want      string
	}{
		{above("web", "peak", "500", 0), "--above web/peak=500: nothing bounds the error of a mode"},
		{above("web", "slow", "5", 0),
			"--above web/slow=5: a share is a number from 0 to 1; want a threshold between them"},
		{above("web", "p99", "1000", 0), "--above web/p99=1000: values lie within the bounds of the stream, 0 to 1000"},
		{above("web", "many", "-1", 0), "--above web/many=-1: a count is never below 0"},
		// ⌈2.12·√2/0.1·√2 + ½⌉: two buckets of one level. An hour has six windows, so √6 of the noise.
		{below("many", "43", 0), "--below web/many=43: this count is off by up to 43 users"},
		{below("many.1h", "105", 0), "--below web/many.1h=105: this count is off by up to 105 users"},
		{above("web", "p98", "500", 0),
			`--above web/p98=500: stream web has no release "p98"; it has p50, p95, sure, tail.p90, tail.p99, shape, `},
	} {
		if _, err := Write(io.Discard, withHistogram(t), Wanted{Thresholds: []Threshold{c.threshold}}); err == nil ||
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.threshold, err, c.want)
		}
	}
}

// Prometheus takes the rules of such figures.
func TestRulesOfHistogramsInPrometheus(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	thresholds := []Threshold{above("web", "p99.1h", "500", 0), above("web", "slow", "0.05", 0),
		below("shape", "500", 0)}
	if _, err := Write(f, withHistogram(t), Wanted{Thresholds: thresholds}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint-fatal", f.Name())
}

// Shares and quantiles of all groups together are looked at as one more group, and numbers of users are not.
func TestAlertsOfAllGroupsTogether(t *testing.T) {
	streams := withHistogram(t)
	streams[0].Together = "all"
	for release, want := range map[string]string{"p99": `release="p99"} > 500`, "many": `release="many", group!="all"} > 500`,
		"shape": `release="shape", group!="all"} > 500`} {
		var b strings.Builder
		if _, err := Write(&b, streams, Wanted{Thresholds: []Threshold{above("web", release, "500", 0)}}); err != nil {
			t.Fatal(err)
		}
		if groups := strings.Contains(b.String(), "in all 3 groups together"); !strings.Contains(b.String(), want) ||
			groups != (release == "p99") {
			t.Errorf("%s: want %s in\n%s", release, want, b.String())
		}
	}
}
