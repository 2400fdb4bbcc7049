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

// behindAlert makes the alert that a running total is behind what it was some periods ago, by more than noise. It
// compares totals at the same time after the beginnings of their periods, so days of 23 hours do no harm, and an
// instance that began within a period is compared with none.
//
// The margin is a multiple of the root of the sum of the squares of both published errors. The multiple is the least of
// two digits with which noise alone raises the alarm at most once in 30 days, on average. Each value of a period is
// beyond the margin with a probability that [running.Strategy.Apart] bounds. There are no more alarms than such values,
// however they depend on each other.
func behindAlert(s *config.Stream, of total, t Threshold) (rule, error) {
	about := of.About()
	unit := about.Since
	switch {
	case unit == period.Month:
		return rule{}, fmt.Errorf("%s: months are not equally long, and begin on other days of the week; want a total "+
			"since hour, midnight or monday", t)
	case t.Ago <= 0 || t.Ago%unit.Nominal() != 0 || t.Ago > mostAgo:
		return rule{}, fmt.Errorf("%s: the total begins anew each %s; want a multiple of %s up to %s", t, unit.Noun(),
			config.Duration(unit.Nominal()), config.Duration(mostAgo))
	}
	const least, most = 10, 100 // tenths
	times := float64(least+sort.Search(most-least, func(n int) bool {
		return behindByNoise(s, of, float64(least+n)/10) <= 1
	})) / 10
	alarms := behindByNoise(s, of, times)
	labels := fmt.Sprintf("{stream=%s, release=%s}", strconv.Quote(s.Name), strconv.Quote(t.Release))
	newest := func(metric string) string { return "louver:release_" + metric + ":newest" + labels }
	value, high := newest("value"), newest("high")
	end, since := newest("window_end_timestamp_seconds"), newest("since_timestamp_seconds")
	var either []string
	for _, d := range agos(s, of, t.Ago) {
		either = append(either,
			fmt.Sprintf("(\n  %[1]s%[5]s - %[1]s\n    > %[6]s * sqrt((%[2]s - %[1]s) ^ 2 + (%[2]s%[5]s - %[1]s%[5]s) "+
				"^ 2)\n  and %[3]s - %[4]s == %[3]s%[5]s - %[4]s%[5]s\n)", value, high, end, since,
				" offset "+promDuration(d), strconv.FormatFloat(times, 'f', 1, 64)))
	}
	ago := config.Duration(t.Ago)
	return rule{
		Alert: "LouverTotalBehind", Expr: strings.Join(either, "\nor\n"), KeepFiringFor: promDuration(about.Update),
		Labels: map[string]string{"severity": "warning", "stream": s.Name, "release": t.Release},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("%s of %s{{ with $labels.group }}, group {{ . }},{{ end }} is behind what it was "+
				"%s before", t.Release, s.Name, ago),
			"description": fmt.Sprintf("%s before, as long after the beginning of the %s, it was more by %s. That is "+
				"more than %.1f times the root of the sum of the squares of both errors. While the truth is not "+
				"behind, noise alone raises this alarm at most %s times in 30 days%s, if both were drawn with ε "+
				"%s. This follows from the law of the noise.", ago, unit.Noun(),
				strings.TrimSpace("{{ $value }} "+of.Series()[0].Unit), times, count(alarms),
				together(len(s.Groups)), about.Epsilon),
			"false_alarms_30d": count(alarms),
		},
	}, nil
}

// mostAgo is how far back a total is compared at most: with the year before.
const mostAgo = 53 * 7 * 24 * time.Hour

// behindByNoise bounds how often noise alone raises the alarm in 30 days, in all groups, for a multiple of the errors.
// It takes each period to be as long as the longest.
func behindByNoise(s *config.Stream, of total, times float64) float64 {
	law, longest := of.Law()
	sum := 0.0
	for leaf := int64(1); leaf <= longest; leaf++ {
		margin := math.Floor(times * math.Sqrt2 * float64(law.Error95(leaf)))
		sum += law.Apart(leaf, int64(margin))
	}
	return sum * float64(len(s.Groups)) * month / float64(of.About().Since.Nominal())
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
