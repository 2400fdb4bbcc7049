package rules

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/louver/louver/stream/config"
)

// month is the period for which false alarms are counted: 30 days in nanoseconds.
const month = 30 * 24 * 60 * 60 * 1e9

// falseAlarms is how many alarms noise alone raises in n windows of one series, on average, if the truth stays at the
// threshold and an alarm takes k windows in a row whose band is beyond it. A window's band is beyond it with
// probability q.
//
// exactly: an alarm begins with a run of k windows beyond the threshold. Such a run starts at the first window with
// probability q^k, and at each of the n−k later ones with (1−q)·q^k, because the window before is not beyond. Together:
// q^k·(1 + (n−k)(1−q)).
//
// atMost: the same without the factor 1−q, which need not hold: (n−k+1)·q^k.
//
// nominal: each alarm uses up k windows that are beyond, and on average there are q·n of them, so at most q·n/k alarms.
// This is true of any arrangement of these windows.
//
// While the truth is on the quiet side of the threshold, alarms are rarer still.
func falseAlarms(known knowledge, q float64, k int, n float64) float64 {
	if n < float64(k) {
		return 0
	}
	switch run := math.Pow(q, float64(k)); known {
	case exactly:
		return run * (1 + (n-float64(k))*(1-q))
	case atMost:
		return run * (n - float64(k) + 1)
	}
	return q * n / float64(k)
}

// most is the largest number of windows that an alarm waits for by default.
const most = 6

// unknownWait is the least number of windows that an alarm waits for by default if misses may cluster.
const unknownWait = 3

// usualAlarms is falseAlarms, but takes the misses of a nominal band as independent. The bound for any arrangement of
// them is too far from what happens to choose by.
func usualAlarms(known knowledge, q float64, k int, n float64) float64 {
	if known == nominal {
		known = exactly
	}
	return falseAlarms(known, q, k, n)
}

// wait returns the least number of windows in a row that usually keeps the false alarms below one, for n windows of
// each series.
func wait(b band, series int, n float64) int {
	k := 1
	if b.known == nominal {
		k = unknownWait
	}
	for k < most && float64(series)*usualAlarms(b.known, b.miss, k, n) > 1 {
		k++
	}
	return k
}

// watchAlert makes the alert of a watch. The watch has its own margin against noise, so its alert waits for nothing.
func watchAlert(s *config.Stream, w *config.Watch) rule {
	alarms := w.Query.FalseAlarms.InexactFloat64() * month / float64(w.FalseAlarmsPer)
	return rule{
		Alert: "LouverWatchFiring",
		Expr: fmt.Sprintf("max by (job, stream, group, watch) (louver_watch_firing{stream=%s, watch=%s}) == 1",
			strconv.Quote(s.Name), strconv.Quote(w.Name)),
		Labels: map[string]string{"severity": "warning", "stream": s.Name, "watch": w.Name},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("Watch %s of %s{{ with $labels.group }}, group {{ . }},{{ end }} fires: %s", w.Name,
				s.Name, w.Query.Conditions[0].Words(s.Unit)),
			"description": fmt.Sprintf("It fires if in a window %s. As long as that is not so, noise alone raises "+
				"this alarm within %s with a probability of at most %s %%%s. It stays for %s; then the watch is armed "+
				"again, at most %d times in a period of the budget.", w.Query.Conditions[0].Words(s.Unit),
				config.Duration(w.FalseAlarmsPer), w.Query.FalseAlarms.Shift(2), together(int(w.Query.Groups)),
				config.Duration(w.Hold), w.AtMost),
			"false_alarms_30d": count(alarms),
		},
	}
}

// blindAlert makes the alert that the watch looks at nothing. Without it, an alarm whose cause lasts would seem to be
// over once the watch may not be armed again.
func blindAlert(s *config.Stream, w *config.Watch) rule {
	const by = "job, stream, watch"
	of := fmt.Sprintf("{stream=%s, watch=%s}", strconv.Quote(s.Name), strconv.Quote(w.Name))
	in := ""
	if s.Budget.Per != 0 {
		in = " in " + config.Duration(s.Budget.Per)
	}
	return rule{
		Alert: "LouverWatchBlind",
		Expr: fmt.Sprintf("max by (%s) (louver_watch_armed%s) == 0\nunless\n"+
			"max by (%[1]s) (louver_watch_firing%[2]s) == 1", by, of),
		For:    promDuration(max(2*s.Window.Every, time.Minute)),
		Labels: map[string]string{"severity": "warning", "stream": s.Name, "watch": w.Name},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("Watch %s of %s looks at nothing", w.Name, s.Name),
			"description": fmt.Sprintf("It was armed as often as at_most allows (%d times%s), budget %s cannot pay "+
				"for it, or nothing of stream %s is published. The log of louver run says which, and until when. "+
				"LouverWatchFiring is silent meanwhile, also if what it found goes on.", w.AtMost, in,
				s.Budget.Name, s.Name),
		},
	}
}
