package rules

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

type file struct {
	Groups []group `yaml:"groups"`
}

type group struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval"`
	Rules    []rule `yaml:"rules"`
}

type rule struct {
	Record string `yaml:"record,omitempty"`
	Alert  string `yaml:"alert,omitempty"`
	Expr   string `yaml:"expr"`
	For    string `yaml:"for,omitempty"`
	// KeepFiringFor bridges the moments in which one of two figures is newer than the other.
	KeepFiringFor string            `yaml:"keep_firing_for,omitempty"`
	Labels        map[string]string `yaml:"labels,omitempty"`
	Annotations   map[string]string `yaml:"annotations,omitempty"`
}

// selector selects the series of some streams.
func selector(metric string, streams ...string) string {
	if len(streams) == 1 {
		return fmt.Sprintf("%s{stream=%s}", metric, strconv.Quote(streams[0]))
	}
	names := make([]string, len(streams))
	for i, name := range streams {
		names[i] = regexp.QuoteMeta(name)
	}
	return fmt.Sprintf("%s{stream=~%s}", metric, strconv.Quote(strings.Join(names, "|")))
}

// together says that a bound is for all groups together, if there are several.
func together(groups int) string {
	if groups == 1 {
		return ""
	}
	return fmt.Sprintf(" in all %d groups together", groups)
}

// count writes a number of alarms with two digits.
func count(x float64) string {
	switch {
	case x >= 10:
		return strconv.FormatFloat(math.Ceil(x), 'f', 0, 64)
	case x < 0.001:
		return "0.001"
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// promDuration writes a duration as Prometheus reads it; "" for 0.
func promDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return model.Duration(d).String()
}
