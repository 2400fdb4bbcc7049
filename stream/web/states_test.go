package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// climbs serves a service whose first region is three times as slow in some of its windows.
func climbs(t *testing.T, windows int, slow func(window int) bool) *act {
	a := played(t, 1, windows, func(window int, e *ledger.Entry) {
		if v := &e.Groups[0].Values[0]; slow(window) {
			for _, d := range []*decimal.Decimal{v.Value, &v.Smoothed.Value, v.Band.Low, v.Band.High} {
				*d = d.Mul(decimal.NewFromInt(3))
			}
		}
	})
	return a
}

// A reader is told in words whether a figure is as usual, since when it is higher, and when it is as before again.
func TestStateInAReadersWords(t *testing.T) {
	const windows = 40
	back := false
	slow := func(window int) bool { return window >= 30 && !back }
	a := climbs(t, windows, slow)
	b := open(t, a, "#/")
	const said = "↑ higher since %s"
	b.showsAt(".card.changed .said", said, a.end(29))
	b.until(`document.querySelectorAll(".card.normal").length === 2`)
	b.shows(".card.normal .said", "normal")
	b.showsAt(".pill.warn", "p50 "+said+" in eu", a.end(29))
	b.shows("#state", "1 needs a look: 1 changed")
	b.until(`document.title === "1 changed · Louver"`)
	var words []string
	b.run(chromedp.Evaluate(`document.querySelector("main").innerText.match(/on time|useful|rough|only noise|◆(?! From here on)/g) ?? []`, &words))
	want(t, "words of the record", words, []string{})
	b.goTo("#/s/checkout-latency/eu")
	b.showsAt(".pill.warn", "p50 "+said, a.end(29))
	b.showsAt(".headline .said", said, a.end(29))
	b.goTo("#/s/checkout-latency/us")
	b.shows(".pill.good", "normal")

	// It returns: three windows later nothing is said of it any more.
	back = true
	a.play(windows, windows+3)
	b.goTo("#/")
	b.until(`document.querySelectorAll(".card.normal").length === 3`)
	b.shows("#state", "nothing needs a look")
}

// A second climb is told from its own beginning. The first one was short, so figures were not lower than usual after it.
func TestSecondClimbHasItsOwnBeginning(t *testing.T) {
	a := climbs(t, 60, func(window int) bool { return window >= 22 && window < 25 || window >= 56 })
	b := open(t, a, "#/")
	b.showsAt(".card.changed .said", "↑ higher since %s", a.end(55))
}

// Nothing is said of figures that are not compared with any: too few are before them.
func TestYoungStreamIsNotCalledNormal(t *testing.T) {
	a := climbs(t, 5, func(int) bool { return false })
	b := open(t, a, "#/")
	b.shows(".pill.good", "up to date")
	b.until(`document.querySelectorAll(".card .said").length === 3 && document.querySelectorAll(".card.normal").length === 0`)
}

// What was readable stays in sight when the newest windows are noise: the group keeps its card, with its last value and
// when that was. No card cuts that short, however narrow it is.
func TestNoiseKeepsItsPast(t *testing.T) {
	a := played(t, 9, 30, func(window int, e *ledger.Entry) {
		if window >= 20 {
			e.Groups[0].Values[0].Quality, e.Groups[1].Values[0].Quality = "noise", "noise"
		}
	})
	b := open(t, a, "#/")
	b.until(`document.querySelectorAll(".card:not([hidden])").length === 27 && document.querySelectorAll(".card.few").length === 18`)
	b.shows(".card.few .value", "too few users to say")
	b.showsAt(".card.few .error", " at %s", a.end(19))
	for _, width := range []int64{360, 700, 1280, 1920} {
		b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, false), twoFrames)
		want(t, fmt.Sprint("cards that are cut at ", width), b.cut(".card.few .figure"), 0)
	}
}
