package check

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/config/parse"
)

// So many series that a metrics store may suffer are worth a warning. Other figures of a stream are in a script.
func TestWarningOfTooManySeries(t *testing.T) {
	file, err := parse.File("s.yaml", []byte(`version: 1
streams:
  - name: page-load
    input: {topic: in, user: u, value: ms, group: path}
    groups: [eu]
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: 15m, grace: 10s}
    releases:
      - {name: p50, statistic: median, epsilon: 0.02}
      - {name: p90, statistic: quantile, p: 0.9, epsilon: 0.02}
      - {name: users, statistic: count, epsilon: 0.02}
    output: {topic: out}
    budget: {epsilon: 24, delta: 0.000001, per: 24h}
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for most, warned := range map[int64]bool{3330: false, 4000: true} { // and three that are always there
		file.Streams[0].Groups, file.Streams[0].Found = nil, &config.Found{Keep: 7 * 24 * time.Hour, Max: most,
			Other: "(other)", Always: []string{"/", "/login"}}
		found, err := find(file, &forecastFlags{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		all := warnings(file, found, time.Now())
		if got := slices.ContainsFunc(all, func(m *form.Mistake) bool {
			return strings.Contains(m.Error(), "groups.max: up to 12,009 series: 4,003 groups with 3 figures each; want at "+
				"most 10,000")
		}); got != warned {
			t.Errorf("max %d: warned %v in %v", most, got, all)
		}
	}
}
