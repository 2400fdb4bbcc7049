package parse

import (
	"errors"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows"
)

var windowForm = form.Form{
	{Name: "size", Required: true, Example: "15m", Meaning: "how long a window is",
		Value: form.Into(form.Duration(time.Second), func(w *config.Window, v time.Duration) { w.Size = v })},
	{Name: "every", Absent: "as `size`", Example: "5m",
		Meaning: "the time from the start of one window to the start of the next. `size` must be a multiple of it. " +
			"If it is less than `size`, windows overlap, and each costs ε",
		Value: form.Into(form.Duration(time.Second), func(w *config.Window, v time.Duration) { w.Every = v })},
	{Name: "grace", Required: true, Example: "30s",
		Meaning: "how long a window waits for late events after its end. Events that are read after that count in " +
			"no figure. When a broker was away, windows that are due wait as long again from its return",
		Value: form.Into(form.Duration(0), func(w *config.Window, v time.Duration) { w.Grace = v })},
	{Name: "start", Fallback: "now", Example: "2026-11-20T08:00:00Z",
		Meaning: "when the first window starts: a multiple of `every` since 1970, in UTC. So windows of 7d begin on " +
			"Thursdays. `now`: the next such time. If the start is in the past, windows that are over are " +
			"released, and paid for, at once",
		Value: form.Into(form.OrWord("now", form.Instant()), func(w *config.Window, v *int64) {
			if w.StartNow = v == nil; v != nil {
				w.Start = *v
			}
		})},
	{Name: "end", Absent: "no end", Example: "2026-12-20T08:00:00Z",
		Meaning: "when the last window ends: a multiple of `every` since 1970. The service outlives the last window of " +
			"all streams: it shows what is published, and takes a later end on SIGHUP",
		Value: form.Into(form.Instant(), func(w *config.Window, v int64) { w.End = v })},
}

func window() form.Kind[config.Window] {
	return form.MappingOf(windowForm, func(m form.Mapping, w *config.Window, ok bool) {
		if w.Every == 0 {
			w.Every = w.Size
		}
		if ok {
			checkSchedule(m, w)
		}
	})
}

// checkSchedule reports what is wrong with the schedule at its key. The start is 0 if it is now.
func checkSchedule(m form.Mapping, w *config.Window) {
	err := (*windows.Error)(nil)
	if _, ends := m.Values["end"]; ends && w.End == 0 { // which means no end to a schedule
		m.Values["end"].Refuse("1970-01-01T00:00:00Z is too early; want the end of a window")
	} else if errors.As(w.Schedule(w.Start).Validate(), &err) {
		m.Values[err.Field].Refuse("%s", err.Problem)
	}
}
