package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
)

// Threshold says which figures one alert fires on.
type Threshold struct {
	// Stream and Release name a published figure: the release of a stream, or one of several quantiles, such as
	// tail.p99.
	Stream, Release string
	// Below says that low figures are the bad ones; otherwise high ones are.
	Below bool
	Value decimal.Decimal
	// Ago is not 0 if the alert is that a running total is behind its own value of that long ago, by more than noise.
	// Then the other fields mean nothing.
	Ago time.Duration
	// Windows is how many windows in a row have to be beyond the value. 0 means as many as keep false alarms below one
	// in 30 days, if that is known.
	Windows int
	// Noisy says that the alert is wanted even if noise alone raises it more than once a day.
	Noisy bool
}

// Noise alone may raise an alarm this many times in 30 days before there is a warning, or a refusal.
const (
	often    = 3
	tooOften = 30
)

func (t Threshold) String() string {
	if t.Ago != 0 {
		return fmt.Sprintf("--behind %s/%s=%s", t.Stream, t.Release, config.Duration(t.Ago))
	}
	return fmt.Sprintf("--%s %s/%s=%s", t.side(), t.Stream, t.Release, t.Value)
}

func (t Threshold) side() string {
	if t.Below {
		return "below"
	}
	return "above"
}

// alertOf makes the rule of a threshold for figures with a band. There is one figure in every step of time.
func alertOf(s *config.Stream, t Threshold, b band, every time.Duration, unit string) (_ rule, warning string,
	_ error) {
	threshold := strings.TrimSpace(t.Value.String() + " " + unit)
	perMonth, series := math.Floor(month/float64(every)), s.MostGroups()
	if b.together {
		series++
	}
	k := t.Windows
	if k == 0 {
		k = wait(b, series, perMonth)
	}
	alarms := float64(series) * falseAlarms(b.known, b.miss, k, perMonth)
	const remedies = "more windows in a row (--windows), a release with an interval, or a watch in the streams file"
	if usual := float64(series) * usualAlarms(b.known, b.miss, k, perMonth); usual > tooOften && !t.Noisy {
		return rule{}, "", fmt.Errorf("%s: noise alone raises this alarm about %s times in 30 days while the truth is "+
			"at the threshold; want %s, or --noisy", t, count(usual), remedies)
	}
	if alarms > often {
		warning = fmt.Sprintf("%s: noise alone may raise this alarm %s times in 30 days while the truth is at the "+
			"threshold. Better: %s", t, count(alarms), remedies)
	}
	end, sign := "low", ">"
	if t.Below {
		end, sign = "high", "<"
	}
	of := fmt.Sprintf("stream=%s, release=%s", strconv.Quote(s.Name), strconv.Quote(t.Release))
	if b.without != "" {
		of += ", group!=" + strconv.Quote(b.without)
	}
	expr := fmt.Sprintf("louver:release_%s:newest{%s} %s %s", end, of, sign, t.Value)
	var holds time.Duration
	if k > 1 {
		// From the first figure to the last are k−1 windows. Add half a window, as figures come a little early or late.
		// After a pause many windows may be published at once. Only windows that were seen count.
		holds = time.Duration(k)*every - every/2
		expr += fmt.Sprintf("\nand changes(louver:release_window_end_timestamp_seconds:newest{%s}[%s]) >= %d", of,
			promDuration(holds), k-1)
	}
	windows := "1 window"
	if k > 1 {
		windows = fmt.Sprintf("%d windows in a row", k)
	}
	return rule{
		Alert: "LouverFigure" + strings.ToUpper(t.side()[:1]) + t.side()[1:], Expr: expr, For: promDuration(holds),
		Labels: map[string]string{"severity": "warning", "stream": s.Name, "release": t.Release},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("%s of %s{{ with $labels.group }}, group {{ . }},{{ end }} is %s %s", t.Release,
				s.Name, t.side(), threshold),
			"description": fmt.Sprintf("The whole band of the figure has been %s %s for %s. Its nearest end is now {{ "+
				"$value }}. %s", t.side(), threshold, windows, chance(b, alarms, series)),
			"false_alarms_30d": count(alarms),
		},
	}, warning, nil
}

// reachable refuses thresholds that no value of a statistic with this band can be beyond.
func reachable(s *config.Stream, t Threshold, of mechanisms.Statistic, b band) error {
	switch family := of.Family(); {
	case of == mechanisms.Mode:
		return fmt.Errorf("%s: nothing bounds the error of a mode; want a quantile, a share or a count", t)
	case of == mechanisms.Sum:
		return nil
	case family == mechanisms.OfUsers:
		return reachableCount(t, b)
	case family == mechanisms.OfShares:
		if at := t.Value.InexactFloat64(); at < 0 || at > 1 || at == 0 && t.Below || at == 1 && !t.Below {
			return fmt.Errorf("%s: a share is a number from 0 to 1; want a threshold between them, such as "+
				"0.05 for 5 %%", t)
		}
		return nil
	}
	return withinBounds(s, t)
}

// reachableCount refuses thresholds that no number of users with this band can be beyond.
func reachableCount(t Threshold, b band) error {
	if at := t.Value.InexactFloat64(); t.Below && at <= b.reach {
		return fmt.Errorf("%s: this count is off by up to %v users, so its band is never below %s; want more "+
			"than %[2]v", t, b.reach, t.Value)
	} else if !t.Below && at < 0 {
		return fmt.Errorf("%s: a count is never below 0; want 0 or more", t)
	}
	return nil
}

// withinBounds refuses thresholds that no value of the stream can be beyond.
func withinBounds(s *config.Stream, t Threshold) error {
	lower, upper := s.Grid.Lower(), s.Grid.Upper()
	if t.Value.LessThanOrEqual(lower) && t.Below || t.Value.GreaterThanOrEqual(upper) && !t.Below ||
		t.Value.LessThan(lower) || t.Value.GreaterThan(upper) {
		return fmt.Errorf("%s: values lie within the bounds of the stream, %s to %s; want a threshold between them", t,
			lower, upper)
	}
	return nil
}

// chance says in words how often noise alone raises an alarm.
func chance(b band, alarms float64, groups int) string {
	together := together(groups)
	switch b.known {
	case exactly:
		return fmt.Sprintf("If the truth stays exactly at the threshold, noise alone raises this alarm about %s times "+
			"in 30 days%s; further away, less often. This follows from %s.", count(alarms), together, b.basis)
	case atMost:
		return fmt.Sprintf("If the truth stays exactly at the threshold, noise alone raises this alarm at most %s "+
			"times in 30 days%s; further away, less often. This follows from %s.", count(alarms), together, b.basis)
	}
	return fmt.Sprintf("If the truth stays exactly at the threshold and the band keeps its level, it raises this "+
		"alarm falsely at most %s times in 30 days%s; further away, less often. This goes by %s. It is not proven how "+
		"often that band misses the truth; for a release with an interval it is.", count(alarms), together, b.basis)
}

// lastingAlert makes the rule of a threshold of a series whose values are of more than one window. The noise of a value
// is also in later ones, so misses may come one after another. The alert of a running total says that the threshold is
// passed in this period.
func lastingAlert(s *config.Stream, about config.About, series record.Series, t Threshold) (rule, string, error) {
	of := mechanisms.Statistic(series.Statistic)
	family := of.Family()
	if t.Below && about.Since != "" && (family == mechanisms.OfUsers || family == mechanisms.OfAmounts) {
		return rule{}, "", fmt.Errorf("%s: a running total begins at 0 in each %s, so it is always below at first; "+
			"want --above, or a release of every window", t, about.Since.Noun())
	}
	b := band{miss: about.Noise.Miss, known: nominal, reach: about.Noise.Error, basis: about.Noise.Basis}
	if err := reachable(s, t, of, b); err != nil {
		return rule{}, "", err
	}
	return alertOf(s, t, b, about.Update, series.Unit)
}
