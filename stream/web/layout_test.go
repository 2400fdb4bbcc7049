package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// A few streams fill the window and leave nothing to scroll, whatever its size.
func TestOverviewFitsTheWindow(t *testing.T) {
	a := played(t, 2, 30)
	b := open(t, a, "#/")
	for _, size := range [][2]int64{{1280, 800}, {1920, 1080}, {2560, 1440}} {
		var over float64
		b.run(emulation.SetDeviceMetricsOverride(size[0], size[1], 1, false), twoFrames, chromedp.Evaluate(
			`document.documentElement.scrollHeight - window.innerHeight`, &over))
		if over > 0 {
			t.Errorf("%d × %d: %v px to scroll", size[0], size[1], over)
		}
	}
}

// The place of an alarm is there before it: when a watch fires, cards and plots stay where they are, and so does what
// stands in a detail.
func TestAlarmMovesNothing(t *testing.T) {
	for view, c := range map[string]struct{ silent, alarm, stays, place string }{
		"#/": {".card", ".card .alarm", ".card, .card .plot, .stream h2, .choice", "[x, y, width, height]"},
		// below the plots there may be more to say
		"#/s/checkout-latency/eu": {".values", ".head .pill.bad", ".detail nav, .panel, .plot.large", "[y]"},
	} {
		a := played(t, 1, 30)
		a.streams = parsed(t, watchedServices(1))
		says := func(since int) {
			for _, group := range []string{"eu", "us", "ap"} {
				a.watch("checkout-latency", group, "fire", 29, "", since)
				a.watch("checkout-latency", group, "gone", 29, "", since)
			}
		}
		says(-1)
		b := open(t, a, view)
		b.shows(c.silent, "")
		places := func() (at string) {
			b.run(twoFrames, chromedp.Evaluate(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll(%q)].map((e) => {
				const { x, y, width, height } = e.getBoundingClientRect();
				return %s.map(Math.round);
			}))`, c.stays, c.place), &at))
			return at
		}
		for _, width := range []int64{360, 600, 1280, 1920} {
			b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, false), twoFrames)
			before := places()
			says(29)
			b.shows(c.alarm, "armed again at")
			if after := places(); before != after {
				t.Errorf("%s, %d px: %s before, %s with an alarm", view, width, before, after)
			}
			want(t, "alarms that are cut", b.cut(".card .alarm"), 0)
			says(-1)
			b.until(fmt.Sprintf(`![...document.querySelectorAll(%q)].some((e) => e.textContent.includes("armed"))`, c.alarm))
		}
	}
}

// cut is how many elements have more text than they show.
func (b *tab) cut(selector string) (n int) {
	b.Helper()
	b.run(chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility() && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)).length`,
		selector), &n))
	return n
}

// An alarm of several groups fits its two lines on a phone. Its title has all names and times.
func TestAlarmOfSeveralGroupsFitsAPhone(t *testing.T) {
	a := newAct(t, 1, ample, recent(30))
	a.streams = parsed(t, watchedServices(1))
	a.play(0, 30)
	for _, name := range []string{"fire", "gone"} {
		for i, group := range []string{"us", "ap"} {
			a.watch("checkout-latency", group, name, 29, "", 29-i) // at two times
		}
	}
	b := open(t, a, "#/s/checkout-latency/eu")
	b.run(emulation.SetDeviceMetricsOverride(360, 800, 1, true), twoFrames)
	b.shows(".head .pill.warn", "alarm of other groups: fire in 2 groups, gone in 2 groups")
	var box []int
	b.run(chromedp.Evaluate(`((e) => [e.scrollHeight, e.clientHeight])(document.querySelector(".head .pill"))`, &box))
	if box[0] > box[1] {
		t.Errorf("the alarm is %d px high, in a box of %d px", box[0], box[1])
	}
	b.until(`["fire in us", "gone in ap", "armed again at"].every((text) => document.querySelector(".head .pill").title.includes(text))`)
	b.goTo("#/")
	b.shows(".stream .pill.bad", "alarm: fire in 2 groups, gone in 2 groups")
	b.shows(".card .alarm", "armed again at")
}

// Where a figure has no window, its cell is empty: between two roll-ups the table has no column of dashes.
func TestTableIsEmptyBetweenRollUps(t *testing.T) {
	w := newWorld(t, 1<<22)
	for i := range 5 {
		w.publish(0, text("s", "", "users", i, "100"))
	}
	w.publish(0, text("s", "", "hourly", 4, "500"))
	b := visit(t, w.handler(), "#/s/s")
	b.until(`document.querySelectorAll(".windows tbody tr").length === 5`)
	var cells []string
	b.run(chromedp.Evaluate(`[...document.querySelectorAll(".windows td:not(:first-child)")].map((e) => e.textContent ? "value" : "")
		.sort()`, &cells))
	want(t, "cells", cells, []string{"", "", "", "", "value", "value", "value", "value", "value", "value"})
}

// Groups of a stream share a scale, unless one of them would press most others flat. The ends of a scale have no more
// digits than its plot can show.
func TestOneGroupFlattensNoOthers(t *testing.T) {
	for factor, want := range map[int64]int{1: 1, 300: 3} {
		a := played(t, 1, 30, func(_ int, e *ledger.Entry) {
			v := e.Groups[2].Values[0]
			for _, d := range []*decimal.Decimal{v.Value, v.Band.Low, v.Band.High} {
				*d = d.Mul(decimal.NewFromInt(factor))
			}
		})
		b := open(t, a, "#/")
		var scales []string
		b.run(chromedp.Evaluate(`[...new Set([...document.querySelectorAll(".card .most")].map((e) => e.textContent))]`, &scales))
		if len(scales) != want || strings.Contains(strings.Join(scales, ""), ".") {
			t.Errorf("one group is %d times the others: scales up to %q; want %d", factor, scales, want)
		}
	}
}

// Axes of users have no halves.
func TestAxesOfUsersAreWhole(t *testing.T) {
	w := newWorld(t, 1<<22)
	for i := range 20 {
		w.publish(0, strings.NewReplacer(`"error_95":30,"low":118,"high":178`, `"error_95":1,"low":148,"high":150`).
			Replace(text("s", "", "users", i, fmt.Sprint(148+i%3))))
	}
	b := visit(t, w.handler(), "#/s/s")
	b.until(`document.querySelector(".plot.counts canvas")`)
	labels := b.written(`document.querySelector(".plot.counts").plot.redraw()`)
	if len(labels) < 4 || strings.Contains(strings.Join(labels, " "), ".") {
		t.Errorf("labels: %q", labels)
	}
}

// The first label of the times does not run into the lowest one of the values: at the left edge there is none.
func TestAxisLabelsKeepApart(t *testing.T) {
	a := newAct(t, 1, ample, time.Now().UTC().Truncate(time.Hour).Add(-3*time.Hour))
	a.play(0, 120) // from a full hour, where there is a mark
	b := open(t, a, "#/s/checkout-latency/eu/p50")
	b.until(`document.querySelector(".plot.large canvas")`)
	var left []float64
	b.run(chromedp.Evaluate(`(async () => {
		const found = [], { fillText } = CanvasRenderingContext2D.prototype, { plot } = document.querySelector(".plot.large");
		CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
			if (/^\d\d:\d\d$/.test(text)) found.push(this.getTransform().transformPoint({ x, y }).x);
			return fillText.call(this, text, x, y);
		};
		plot.redraw();
		await new Promise(requestAnimationFrame);
		const edge = document.querySelector(".plot.large .u-over").offsetLeft;
		return found.map((x) => x / devicePixelRatio - edge);
	})()`, &left, awaited))
	if len(left) < 3 {
		t.Fatalf("only %d times", len(left))
	}
	for _, x := range left {
		if x < 20 {
			t.Errorf("a time stands %.0f px from the left edge, below the values", x)
		}
	}
}
