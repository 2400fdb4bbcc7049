package config

import (
	"fmt"
	"time"

	"github.com/louver/louver/windows"
)

func (n node) window() (w Window) {
	m, ok := n.mapping("size", "every", "grace", "start", "end")
	if !ok {
		return w
	}
	errors := len(n.errs)
	const sizeWant = "a duration of whole seconds, such as 15m"
	const graceWant = "a duration of whole seconds, such as 30s: how long after its end a window waits for late events"
	size, ok := m.require("size", sizeWant)
	if ok {
		w.Size = size.duration(time.Second, sizeWant)
	}
	w.Every = w.Size
	every, hopping := m.get("every")
	if hopping {
		w.Every = every.duration(time.Second, sizeWant)
	}
	if v, ok := m.require("grace", graceWant); ok {
		w.Grace = v.duration(0, graceWant)
	}
	w.StartNow = true
	start, given := m.get("start")
	if given {
		if text, ok := start.text("now or a time"); ok && text != "now" {
			w.StartNow = false
			w.Start = start.instant("now, or a time of whole seconds such as 2026-11-20T08:00:00Z")
		}
	}
	end, ends := m.get("end")
	if ends {
		w.End = end.instant("a time of whole seconds such as 2026-11-20T08:00:00Z")
	}
	if len(n.errs) > errors || w.Size == 0 || w.Every == 0 {
		return w
	}
	switch {
	case w.Every > w.Size:
		every.refuse("%q is more than size, %s: events between windows would be lost; want at most the size", Duration(w.Every), Duration(w.Size))
		return w
	case w.Size%w.Every != 0:
		size.refuse("%q is not a multiple of every, %s; want %s", Duration(w.Size), Duration(w.Every), multiples(w.Size, w.Every))
		return w
	case !w.StartNow && w.Start%int64(w.Every) != 0:
		start.refuse("%q is not on a multiple of every, %s, since 1970; want %s", clock(w.Start), Duration(w.Every), around(w.Start, w.Every))
		return w
	case ends && w.End%int64(w.Every) != 0:
		end.refuse("%q is not on a multiple of every, %s, since 1970; want %s", clock(w.End), Duration(w.Every), around(w.End, w.Every))
		return w
	case ends && w.End < w.Start+int64(w.Size): // Start is 0 where it is now
		end.refuse("%q is before the end of the first window; want %s or later", clock(w.End), clock(w.Start+int64(w.Size)))
		return w
	}
	schedule := windows.Schedule{Size: w.Size, Every: w.Every, Grace: w.Grace, Start: w.Start, End: w.End}
	if err := schedule.Validate(); err != nil {
		n.refuseErr(err)
	}
	return w
}

// FirstStart is when the first window starts, in Unix nanoseconds, for a stream that begins at now.
func (w Window) FirstStart(now time.Time) int64 {
	if w.StartNow {
		return windows.NextBoundary(now.UnixNano(), w.Every)
	}
	return w.Start
}

// multiples names the multiples of step next to d.
func multiples(d, step time.Duration) string {
	below := d / step * step
	return fmt.Sprintf("%s or %s", Duration(below), Duration(below+step))
}

// around names the boundaries next to t.
func around(t int64, every time.Duration) string {
	above := windows.NextBoundary(t, every)
	return fmt.Sprintf("%s or %s", clock(above-int64(every)), clock(above))
}

func clock(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339) }
