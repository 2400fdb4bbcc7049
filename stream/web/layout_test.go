package web

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
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
	for _, width := range []int64{1280, 1920} {
		b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, false), twoFrames)
		const places = `JSON.stringify([...document.querySelectorAll(".card, .card .plot")].map((e) => { const { x, y, width, height } =
			e.getBoundingClientRect(); return [x, y, width, height].map(Math.round); }))`
		var before, after string
		b.run(chromedp.Evaluate(places, &before))
		says(29, 29)
		b.shows(".card .alarm", "armed again at")
		b.run(twoFrames, chromedp.Evaluate(places, &after))
		if before != after {
			t.Errorf("%d px: %s before, %s with an alarm", width, before, after)
		}
		says(29, -1)
		b.until(`![...document.querySelectorAll(".card .alarm")].some((e) => e.textContent)`)
	}
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
