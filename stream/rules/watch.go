package rules

import (
	"fmt"
	"strconv"
	"time"

	"github.com/louver/louver/stream/config"
)

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
