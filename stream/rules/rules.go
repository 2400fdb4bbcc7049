// Package rules writes Prometheus alert rules for published figures. The rules take the figures' noise into account.
//
// An alert fires when the whole band of a figure is beyond a threshold for several windows in a row, not when only the
// value is. Its description says how many alarms the noise alone raises in 30 days. The rules follow from the streams
// file: nothing here reads data.
package rules

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// Wanted says which alerts are written, beside those of watches.
type Wanted struct {
	Thresholds []Threshold
	Objectives []Objective
	// Runbook is the address below which each alert has a runbook_url; "": none.
	Runbook string
}

// Write writes one rule file for all the streams. The first group has the recording rules, which merge the series of
// all replicas into one, once for all streams. Then comes a group for each stream that has alerts: one for each
// threshold, objective and watch. An error says which threshold or objective cannot be watched, and why; one reason is
// that noise alone raises the alarm more than once a day. The warnings name alerts that noise may raise more than three
// times in 30 days.
func Write(w io.Writer, streams []*config.Stream, want Wanted) (warnings []string, err error) {
	var f file
	var omitted []string
	thresholds := want.Thresholds
	shortest, alerts := time.Duration(math.MaxInt64), len(thresholds)+len(want.Objectives) > 0
	for _, s := range streams {
		shortest = min(shortest, s.Window.Every)
		g := group{Name: "louver-" + s.Name, Interval: interval(s.Window.Every)}
		for _, t := range thresholds {
			if t.Stream != s.Name {
				continue
			}
			r, warning, err := alert(s, t)
			if err != nil {
				return nil, err
			}
			if warning != "" {
				warnings = append(warnings, warning)
			}
			g.Rules = append(g.Rules, r)
		}
		burns, without, err := objectiveRules(s, want.Objectives)
		if err != nil {
			return nil, err
		}
		g.Rules, omitted = append(g.Rules, burns...), append(omitted, without...)
		for _, w := range config.All[*config.Watch](s) {
			g.Rules = append(g.Rules, watchAlert(s, w), blindAlert(s, w))
			alerts = true
		}
		for _, r := range g.Rules {
			if r.Alert != "" && want.Runbook != "" {
				r.Annotations["runbook_url"] = want.Runbook + "#" + strings.ToLower(r.Alert)
			}
		}
		if len(g.Rules) > 0 {
			f.Groups = append(f.Groups, g)
		}
	}
	f.Groups = slices.Insert(f.Groups, 0, group{Name: "louver-newest", Interval: interval(shortest),
		Rules: merged(streams, thresholds)})
	if err := known(streams, want); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("# Written by louver rules. Prometheus has to scrape the public address, LOUVER_HTTP_ADDR, of "+
		"every process at least\n"+
		"# every %s. All processes of an app need the same job label.\n",
		promDuration(min(max(shortest/4, time.Second), time.Minute)))
	if !alerts {
		text += "# There is no alert without a threshold or a watch: --above STREAM/RELEASE=VALUE or --below\n" +
			"# STREAM/RELEASE=VALUE adds one, and --behind STREAM/RELEASE=7d for a running total or a number of active " +
			"users.\n"
	}
	for _, line := range append(omitted, unwanted(streams, want.Objectives)...) {
		text += "# " + line + "\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return nil, err
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return warnings, e.Encode(f)
}

// known refuses thresholds and objectives of streams that do not exist.
func known(streams []*config.Stream, want Wanted) error {
	asked := map[string]string{}
	for _, t := range want.Thresholds {
		asked[t.Stream] = t.String()
	}
	for _, o := range want.Objectives {
		asked[o.Stream] = o.String()
	}
	for _, s := range streams {
		delete(asked, s.Name)
	}
	if names := slices.Sorted(maps.Keys(asked)); len(names) > 0 {
		return fmt.Errorf("%s: there is no stream %q in the files", asked[names[0]], names[0])
	}
	return nil
}

// interval is how often rules of windows that come so often are evaluated.
func interval(every time.Duration) string {
	return promDuration(min(max(every/5, time.Second), time.Minute))
}

// merged are the recording rules of all streams.
func merged(streams []*config.Stream, thresholds []Threshold) (all []rule) {
	var names, behind []string
	for _, s := range streams {
		names = append(names, s.Name)
		if slices.ContainsFunc(thresholds, func(t Threshold) bool { return t.Stream == s.Name && t.Ago != 0 }) {
			behind = append(behind, s.Name)
		}
	}
	for _, metric := range []string{"value", "low", "high", "window_end_timestamp_seconds"} {
		all = append(all, newest(names, "release_"+metric))
	}
	if behind != nil {
		all = append(all, newest(behind, "release_since_timestamp_seconds"))
	}
	return all
}

// newest records one series from those of all replicas, for each series of some streams. A replica may be behind, so
// the one with the newest window counts. Replicas that show the same window show the same figure.
func newest(streams []string, metric string) rule {
	end := selector("louver_release_window_end_timestamp_seconds", streams...)
	return rule{Record: "louver:" + metric + ":newest", Expr: newestOf(selector("louver_"+metric, streams...), end, "")}
}

// newestOf is the expression of such a series. more are further labels that it keeps, each after a comma.
func newestOf(of, end, more string) string {
	const series = "job, stream, group, release"
	if of == end {
		return fmt.Sprintf("max by (%s) (%s)", series, end)
	}
	return fmt.Sprintf("max by (%s%s) (\n  %s\n  and on (job, instance, stream, group, release)\n"+
		"  (%s == on (%[1]s) group_left () max by (%[1]s) (%[4]s))\n)", series, more, of, end)
}

// alert makes the rule of a threshold. If noise may raise it often, warning says so.
func alert(s *config.Stream, t Threshold) (_ rule, warning string, _ error) {
	if t.Ago != 0 && slices.Contains(releases(s), t.Release) {
		of, err := compared(s, t)
		if err != nil {
			return rule{}, "", err
		}
		r, err := behindAlert(s, of, t)
		return r, "", err
	}
	figures := computedOf(s)
	if i := slices.IndexFunc(figures, func(c computed) bool { return c.name == t.Release }); i >= 0 {
		return computedAlert(s, figures[i], t)
	}
	f, place := s.Named(t.Release)
	r, drawn := f.(*config.Release)
	var about config.About
	if f != nil {
		about = f.About()
	}
	switch {
	case about.Noise != nil:
		return lastingAlert(s, about, f.Series()[place], t)
	case about.OnChange:
		return rule{}, "", fmt.Errorf("%s: release %s is published on change and has no band; want a release of every "+
			"window, or a watch in the streams file", t, t.Release)
	case !drawn:
		return rule{}, "", fmt.Errorf("%s: stream %s has no release %q; it has %s", t, s.Name, t.Release,
			strings.Join(releases(s), ", "))
	}
	b, ok := bandOf(s, r)
	if !ok {
		return rule{}, "", fmt.Errorf("%s: nothing public bounds the error of this %s, so its noise cannot be told "+
			"from news; want a figure that has a band: a count, a mean, a sum, a quantile with an interval, or an "+
			"adaptive quantile in a stream that also counts its users", t, r.Query.Statistic.Each())
	}
	series := r.Series()[place]
	if err := reachable(s, t, mechanisms.Statistic(series.Statistic), b); err != nil {
		return rule{}, "", err
	}
	return alertOf(s, t, b, s.Window.Every, series.Unit)
}

// releases names what may have a threshold: what is drawn in every window, what says itself how noisy it is, and what
// is computed.
func releases(s *config.Stream) (names []string) {
	for _, f := range s.Figures {
		if f.Cost().Per == config.PerWindow || f.About().Noise != nil {
			for _, x := range f.Series() {
				names = append(names, x.Name)
			}
		}
	}
	for _, c := range computedOf(s) {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}
