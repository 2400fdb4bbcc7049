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

// maxWindowsNode is MaxWindows and its place.
type maxWindowsNode struct {
	config.MaxWindows
	form.Mapping
}

func maxWindows(f form.Form) form.Kind[maxWindowsNode] {
	return form.MappingOf(f, func(m form.Mapping, w *maxWindowsNode, _ bool) { w.Mapping = m })
}

var maxWindowsForm = form.Form{
	{Name: "count", Required: true, Example: "8",
		Meaning: "in how many windows of any period one user counts at most. At least `parts` + 1; where windows " +
			"overlap, that times the number of windows that hold one event",
		Value: ofWindows},
	{Name: "per", Required: true, Example: "24h",
		Meaning: "the length of the period. The limit holds for every stretch of time of this length, whenever it " +
			"begins",
		Value: ofPer},
	{Name: "parts", Fallback: "3", Example: "1",
		Meaning: "into how many parts a period is divided. In each part a user counts in the first `count` / " +
			"(`parts` + 1) windows in which they appear. With more parts a user counts at more times of the day, " +
			"and less often at each",
		Value: ofParts},
}

// maxPeriodsForm is maxWindowsForm for a discovery, whose windows are its periods.
var maxPeriodsForm = form.Form{
	{Name: "count", Required: true, Example: "2",
		Meaning: "in how many periods of the discovery one user counts at most, of those in any `per`. At least " +
			"`parts` + 1",
		Value: ofWindows},
	{Name: "per", Required: true, Example: "24h",
		Meaning: "a multiple of `every`. The limit holds for every stretch of time of this length, whenever it begins",
		Value:   ofPer},
	{Name: "parts", Fallback: "3", Example: "1",
		Meaning: "into how many parts `per` is divided. In each part a user counts in the first `count` / (`parts` + " +
			"1) periods in which they have any record with a good name, listed or not",
		Value: ofParts},
}

var (
	ofWindows = form.Into(form.Whole("of windows "), func(m *maxWindowsNode, v int64) { m.Count = v })
	ofPer     = form.Into(form.Duration(time.Second), func(m *maxWindowsNode, v time.Duration) { m.Per = v })
	ofParts   = form.Into(form.Whole("of parts "), func(m *maxWindowsNode, v int64) { m.Parts = v })
)

// makeRule makes the rule for windows of a schedule. It reports a mistake at its key.
func (m *maxWindowsNode) makeRule(s windows.Schedule) {
	var err error
	m.By, err = m.Rule(s)
	if wrong := (*windows.CapError)(nil); errors.As(err, &wrong) {
		m.Values[wrong.Field].Refuse("%s", wrong.Problem)
	}
}

// cap makes the rule for the periods of a discovery. It also limits for how many of them a user is charged in a period
// of the budget.
func (d *discoveryNode) cap() {
	m := d.maxWindows
	if m == nil {
		return
	}
	if m.Per%d.Every != 0 {
		m.Values["per"].Refuse("%s; want a multiple of every, %s", config.Duration(m.Per), config.Duration(d.Every))
		return
	}
	m.makeRule(windows.Schedule{Size: d.Every, Every: d.Every})
	if d.MaxWindows = &m.MaxWindows; m.By.Most > 0 && d.AtMost < config.Endless {
		d.AtMost = d.Cap(0).Most(d.AtMost, d.Every)
	}
}
