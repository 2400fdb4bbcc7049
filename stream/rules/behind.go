package rules

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows/period"
)

// total is a running total whose law of noise is known.
type total interface {
	config.Periodic
	config.Ongoing
}

// past is what a figure is compared with.
type past struct {
	alert string // its name
	// agos are how long before its records may end, and same is what holds if both records are at the same time.
	agos []time.Duration
	same func(ago time.Duration) string
	when string // in words, after how long before
	// lasts is how often as many values as there are laws are published.
	lasts time.Duration
}

// pastOf returns the past of a running total, or of a number of active users.
//
// It compares totals at the same time after the beginnings of their periods, so days of 23 hours do no harm, and an
// instance that began within a period is compared with none. Active users are compared with those at the same time of
// day in UTC.
func pastOf(s *config.Stream, of config.Ongoing, t Threshold) (past, error) {
	labels := labelsOf(s, t)
	end := newestFigure("window_end_timestamp_seconds", labels)
	total, ok := of.(total)
	if !ok {
		update := of.About().Update
		if t.Ago <= 0 || t.Ago%config.Day != 0 || t.Ago%update != 0 || t.Ago > mostAgo {
			return past{}, fmt.Errorf("%s: want a multiple of 24h, and of the %s from one value to the next, up to %s", t,
				config.Duration(update), config.Duration(mostAgo))
		}
		return past{alert: "LouverActiveUsersBehind", agos: []time.Duration{t.Ago}, lasts: update,
			same: func(ago time.Duration) string {
				return fmt.Sprintf("%s - %[1]s%s == %d", end, offset(ago), int64(ago/time.Second))
			}}, nil
	}
	unit := total.About().Since
	switch {
	case unit == period.Month:
		return past{}, fmt.Errorf("%s: months are not equally long, and begin on other days of the week; want a total "+
			"since hour, midnight or monday", t)
	case t.Ago <= 0 || t.Ago%unit.Nominal() != 0 || t.Ago > mostAgo:
		return past{}, fmt.Errorf("%s: the total begins anew each %s; want a multiple of %s up to %s", t, unit.Noun(),
			config.Duration(unit.Nominal()), config.Duration(mostAgo))
	}
	since := newestFigure("since_timestamp_seconds", labels)
	return past{alert: "LouverTotalBehind", agos: agos(s, total, t.Ago), lasts: unit.Nominal(),
		when: ", as long after the beginning of the " + unit.Noun(),
		same: func(ago time.Duration) string {
			return fmt.Sprintf("%[1]s - %[2]s == %[1]s%[3]s - %[2]s%[3]s", end, since, offset(ago))
		}}, nil
}

// compared returns the figure that an alert compares with itself. It refuses all others, and says why.
func compared(s *config.Stream, t Threshold) (config.Ongoing, error) {
	f, _ := s.Named(t.Release)
	of, ongoing := f.(config.Ongoing)
	if ongoing && of.Numbers() > 1 {
		return nil, fmt.Errorf("%s: %s belongs to a distribution so far, and nothing bounds how often noise alone makes "+
			"two of them differ so much; want a count or a sum with since, or a count with active", t, t.Release)
	}
	if !ongoing {
		return nil, fmt.Errorf("%s: %s is no running total; want a release with since or active, which is compared with "+
			"itself", t, t.Release)
	}
	return of, nil
}

func offset(ago time.Duration) string { return " offset " + promDuration(ago) }

func labelsOf(s *config.Stream, t Threshold) string {
	return fmt.Sprintf("{stream=%s, release=%s}", strconv.Quote(s.Name), strconv.Quote(t.Release))
}

func newestFigure(metric, labels string) string {
	return "louver:release_" + metric + ":newest" + labels
}

// behindAlert makes the alert that a running total, or a number of active users, is behind what it was some days or
// periods ago, by more than noise.
//
// The margin is a multiple of the root of the sum of the squares of both published errors. The multiple is the least of
// two digits with which noise alone raises the alarm at most once in 30 days, on average. Each value of a period is
// beyond the margin with a probability that [running.Strategy.Apart] bounds. There are no more alarms than such values,
// however they depend on each other.
func behindAlert(s *config.Stream, of config.Ongoing, t Threshold) (rule, error) {
	about := of.About()
	before, err := pastOf(s, of, t)
	if err != nil {
		return rule{}, err
	}
	const least, most = 10, 100 // tenths
	times := float64(least+sort.Search(most-least, func(n int) bool {
		return behindByNoise(s, of, before.lasts, float64(least+n)/10) <= 1
	})) / 10
	alarms, labels := behindByNoise(s, of, before.lasts, times), labelsOf(s, t)
	value, high := newestFigure("value", labels), newestFigure("high", labels)
	var either []string
	for _, d := range before.agos {
		either = append(either,
			fmt.Sprintf("(\n  %[1]s%[4]s - %[1]s\n    > %[5]s * sqrt((%[2]s - %[1]s) ^ 2 + (%[2]s%[4]s - %[1]s%[4]s) "+
				"^ 2)\n  and %[3]s\n)", value, high, before.same(d), offset(d), strconv.FormatFloat(times, 'f', 1, 64)))
	}
	ago := config.Duration(t.Ago)
	return rule{
		Alert: before.alert, Expr: strings.Join(either, "\nor\n"), KeepFiringFor: promDuration(about.Update),
		Labels: map[string]string{"severity": "warning", "stream": s.Name, "release": t.Release},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("%s of %s{{ with $labels.group }}, group {{ . }},{{ end }} is behind what it was "+
				"%s before", t.Release, s.Name, ago),
			"description": fmt.Sprintf("%s before%s, it was more by %s. That is "+
				"more than %.1f times the root of the sum of the squares of both errors. While the truth is not "+
				"behind, noise alone raises this alarm at most %s times in 30 days%s, if both were drawn with ε "+
				"%s. This follows from the law of the noise.", ago, before.when,
				strings.TrimSpace("{{ $value }} "+of.Series()[0].Unit), times, count(alarms),
				together(len(s.Groups)), about.Epsilon),
			"false_alarms_30d": count(alarms),
		},
	}, nil
}

// mostAgo is how far back figures are compared at most: with the year before.
const mostAgo = 53 * 7 * 24 * time.Hour

// behindByNoise bounds how often noise alone raises the alarm in 30 days, in all groups, for a multiple of the errors.
// lasts is how long a period is, or for active users how long it is from one value to the next. It takes each period to
// have as many values as the longest.
func behindByNoise(s *config.Stream, of config.Ongoing, lasts time.Duration, times float64) float64 {
	law, longest := of.Law()
	sum := 0.0
	for leaf := int64(1); leaf <= longest; leaf++ {
		margin := math.Floor(times * math.Sqrt2 * float64(law.Error95(leaf)))
		sum += law.Apart(leaf, int64(margin))
	}
	return sum * float64(len(s.Groups)) * month / float64(lasts)
}

// agos returns how long before the beginning of a period the one to compare with begins, in the next two years. That is
// one time, and others where clocks change.
func agos(s *config.Stream, of total, ago time.Duration) []time.Duration {
	all := []time.Duration{ago}
	now, every := time.Now(), s.Window.Every
	for at := now.UnixNano(); at < now.AddDate(2, 0, 0).UnixNano(); {
		since, until := of.PeriodAt(at, every)
		then, _ := of.PeriodAt(since-int64(ago)+int64(of.About().Since.Nominal())/2, every)
		if d := time.Duration(since - then); !slices.Contains(all, d) {
			all = append(all, d)
		}
		at = until
	}
	slices.Sort(all)
	return all
}
