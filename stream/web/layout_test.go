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
	a := newAct(t, 2, "{epsilon: 400, per: 24h}", recent(30))
	a.play(0, 30)
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

// The place of an alarm is there before it: when a watch fires, cards and plots stay where they are.
func TestAlarmMovesNothing(t *testing.T) {
	a := newAct(t, 1, "{epsilon: 400, per: 24h}", recent(30))
	a.streams = parsed(t,
		strings.Replace(services(1, "{epsilon: 400, per: 24h}"), "    output: {topic: out}\n", twoWatches, 1))
	a.play(0, 30)
	says := func(window, since int) {
		for _, group := range []string{"eu", "us", "ap"} {
			a.watch("checkout-latency", group, "fire", window, "", since)
			a.watch("checkout-latency", group, "gone", window, "", since)
		}
	}
	says(28, -1)
	says(29, -1)
	b := open(t, a, "#/")
	for _, width := range []int64{360, 600, 1280, 1920} {
		b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, false), twoFrames)
		const places = `JSON.stringify([...document.querySelectorAll(".card, .card .plot, .stream h2, .choice")].map((e) => { const { x, y, width, height } =
			e.getBoundingClientRect(); return [x, y, width, height].map(Math.round); }))`
		var before, after string
		b.run(chromedp.Evaluate(places, &before))
		says(29, 29)
		b.shows(".card .alarm", "armed again at")
		b.run(twoFrames, chromedp.Evaluate(places, &after))
		if before != after {
			t.Errorf("%d px: %s before, %s with an alarm", width, before, after)
		}
		var cut int
		b.run(chromedp.Evaluate(`[...document.querySelectorAll(".card .alarm")].filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1).length`, &cut))
		if cut > 0 {
			t.Errorf("%d px: %d alarms are cut", width, cut)
		}
		says(29, -1)
		b.until(`![...document.querySelectorAll(".card .alarm")].some((e) => e.textContent)`)
	}
}

// Nor does an alarm move anything in a detail: what stands above its plots has the same room with and without one.
func TestAlarmMovesNothingInADetail(t *testing.T) {
	a := newAct(t, 1, "{epsilon: 400, per: 24h}", recent(30))
	a.streams = parsed(t,
		strings.Replace(services(1, "{epsilon: 400, per: 24h}"), "    output: {topic: out}\n", twoWatches, 1))
	a.play(0, 30)
	says := func(since int) {
		a.watch("checkout-latency", "eu", "fire", 29, "", since)
		a.watch("checkout-latency", "eu", "gone", 29, "", since)
	}
	says(-1)
	b := open(t, a, "#/s/checkout-latency/eu")
	b.shows(".values", "silent")
	const tops = `JSON.stringify([...document.querySelectorAll(".detail nav, .panel, .plot.large")].map((e) => Math.round(e.getBoundingClientRect().top)))`
	for _, width := range []int64{360, 600, 1280} {
		var before, after string
		b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, false), twoFrames, chromedp.Evaluate(tops, &before))
		says(29)
		b.shows(".head .pill.bad", "armed again at")
		b.run(twoFrames, chromedp.Evaluate(tops, &after))
		if before != after {
			t.Errorf("%d px: %s before, %s with an alarm", width, before, after)
		}
		says(-1)
		b.until(`!document.querySelector(".head .pill.bad")`)
	}
}

// An alarm of several groups fits its two lines on a phone. Its title has all names and times.
func TestAlarmOfSeveralGroupsFitsAPhone(t *testing.T) {
	a := newAct(t, 1, "{epsilon: 400, per: 24h}", recent(30))
	a.streams = parsed(t,
		strings.Replace(services(1, "{epsilon: 400, per: 24h}"), "    output: {topic: out}\n", twoWatches, 1))
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
	b.run(chromedp.Evaluate(`location.hash = "#/"`, nil))
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
	s := &restartable{T: t, handler: New(Config{Store: w.store})}
	s.start()
	b := browse(t, s.address)
	b.run(chromedp.Navigate("http://" + s.address + "/#/s/s"))
	b.complete()
	b.until(`document.querySelectorAll(".windows tbody tr").length === 5`)
	var cells []string
	b.run(chromedp.Evaluate(`[...document.querySelectorAll(".windows td:not(:first-child)")].map((e) => e.textContent ? "value" : "")
		.sort()`, &cells))
	want(t, "cells", cells, []string{"", "", "", "", "value", "value", "value", "value", "value", "value"})
	b.clean()
}

// Groups of a stream share a scale, unless one of them would press most others flat. The ends of a scale have no more
// digits than its plot can show.
func TestOneGroupFlattensNoOthers(t *testing.T) {
	for factor, want := range map[int64]int{1: 1, 300: 3} {
		a := newAct(t, 1, "{epsilon: 400, per: 24h}", recent(30))
		a.change = func(_ int, e *ledger.Entry) {
			v := e.Groups[2].Values[0]
			for _, d := range []*decimal.Decimal{v.Value, v.Band.Low, v.Band.High} {
				*d = d.Mul(decimal.NewFromInt(factor))
			}
		}
		a.play(0, 30)
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
	s := &restartable{T: t, handler: New(Config{Store: w.store})}
	s.start()
	b := browse(t, s.address)
	b.run(chromedp.Navigate("http://" + s.address + "/#/s/s"))
	b.complete()
	b.until(`document.querySelector(".plot.counts canvas")`)
	var labels []string
	b.run(chromedp.Evaluate(`(() => {
		const said = [], { fillText } = CanvasRenderingContext2D.prototype;
		CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { said.push(text); return fillText.call(this, text, ...at); };
		document.querySelector(".plot.counts").plot.redraw();
		return said;
	})()`, &labels))
	if len(labels) < 4 || strings.Contains(strings.Join(labels, " "), ".") {
		t.Errorf("labels: %q", labels)
	}
	b.clean()
}

// The first label of the times does not run into the lowest one of the values: at the left edge there is none.
func TestAxisLabelsKeepApart(t *testing.T) {
	a := newAct(t, 1, "{epsilon: 400, per: 24h}", time.Now().UTC().Truncate(time.Hour).Add(-3*time.Hour))
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
