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

func maxWindows() form.Kind[maxWindowsNode] {
	return form.MappingOf(maxWindowsForm, func(m form.Mapping, w *maxWindowsNode, _ bool) { w.Mapping = m })
}

var maxWindowsForm = form.Form{
	{Name: "count", Required: true, Example: "8",
		Meaning: "in how many windows of any period one user counts at most. At least `parts` + 1; where windows " +
			"overlap, so many times that as windows hold one event",
		Value: form.Into(form.Whole("of windows "), func(m *maxWindowsNode, v int64) { m.Count = v })},
	{Name: "per", Required: true, Example: "24h",
		Meaning: "the length of the period. The limit holds for every stretch of time of this length, whenever it " +
			"begins",
		Value: form.Into(form.Duration(time.Second), func(m *maxWindowsNode, v time.Duration) { m.Per = v })},
	{Name: "parts", Fallback: "3", Example: "1",
		Meaning: "into how many parts a period is divided. In each part a user counts in the first `count` / " +
			"(`parts` + 1) windows in which they appear. With more parts a user counts at more times of the day, " +
			"and less often at each",
		Value: form.Into(form.Whole("of parts "), func(m *maxWindowsNode, v int64) { m.Parts = v })},
}

// makeRule makes the rule for windows of a schedule. What is wrong with it is placed at its key.
func (m *maxWindowsNode) makeRule(w config.Window) {
	var err error
	m.By, err = m.Rule(w.Schedule(0))
	if wrong := (*windows.CapError)(nil); errors.As(err, &wrong) {
		m.Values[wrong.Field].Refuse("%s", wrong.Problem)
	}
}
