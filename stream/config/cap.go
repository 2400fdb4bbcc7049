package config

import (
	"errors"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows"
)

// MaxWindows limits in how many windows of a period one user counts.
type MaxWindows struct {
	windows.CapSpec
	// By says in which windows a user counts.
	By windows.CapRule
}

// maxWindowsNode is MaxWindows and its place.
type maxWindowsNode struct {
	MaxWindows
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

// checkMaxWindows makes the rule. What is wrong with it is placed at its key.
func (s *streamNode) checkMaxWindows() {
	if s.maxWindows == nil {
		return
	}
	var err error
	if s.MaxWindows.By, err = s.MaxWindows.Rule(s.Window.Schedule(0)); err == nil {
		return
	}
	if wrong := (*windows.CapError)(nil); errors.As(err, &wrong) {
		s.maxWindows.Values[wrong.Field].Refuse("%s", wrong.Problem)
	}
}

// Cap returns how the costs of the stream's windows add up, in an era. It is the zero value if everybody counts in every
// window.
func (s *Stream) Cap(era int64) budget.Cap {
	if s.MaxWindows == nil {
		return budget.Cap{}
	}
	return budget.Cap{Count: s.MaxWindows.By.AtMost(), Per: s.MaxWindows.Per, Era: era}
}

// in returns in how many windows one user counts at most, of those that end in any half-open stretch of time.
func (m *MaxWindows) in(stretch time.Duration, w Window) int64 {
	return m.By.AtMostOf(int64((stretch-1)/w.Every) + 1)
}
