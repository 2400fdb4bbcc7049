package rules

import (
	"fmt"
	"strconv"

	"github.com/louver/louver/stream/config"
)

// watchAlert makes the alert of a watch. The watch has its own margin against noise, so its alert waits for nothing.
func watchAlert(s *config.Stream, w config.Watch) rule {
	alarms := w.Query.FalseAlarms.InexactFloat64() * month / float64(w.FalseAlarmsPer)
	together := ""
	if len(s.Groups) > 1 {
		together = fmt.Sprintf(" in all %d groups together", len(s.Groups))
	}
	return rule{
		Alert:  "LouverWatchFiring",
		Expr:   fmt.Sprintf("max by (job, stream, group, watch) (louver_watch_firing{stream=%s, watch=%s}) == 1", strconv.Quote(s.Name), strconv.Quote(w.Name)),
		Labels: map[string]string{"severity": "warning", "stream": s.Name, "watch": w.Name},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("Watch %s of %s{{ with $labels.group }}, group {{ . }},{{ end }} fires: %s", w.Name, s.Name, w.Query.Conditions[0]),
			"description": fmt.Sprintf("It fires if this holds of the users of a window: %s. As long as it does not, noise alone raises this alarm within %s with a probability of at most %s %%%s. "+
				"It stays for %s; then the watch is armed again, at most %d times in a period of the budget.",
				w.Query.Conditions[0], config.Duration(w.FalseAlarmsPer), w.Query.FalseAlarms.Shift(2), together, config.Duration(w.Hold), w.AtMost),
			"false_alarms_30d": count(alarms),
		},
	}
}
