package parse

import (
	"errors"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows"
)

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
	if d.MaxWindows = &m.MaxWindows; m.By.Most > 0 && d.AtMost < endless {
		d.AtMost = d.Cap(0).Most(d.AtMost, d.Every)
	}
}
