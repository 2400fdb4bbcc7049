package web

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A detail has one large number with one error in its unit. Percentiles, ε and mechanisms stand behind a click.
func TestDetailHasOneHeadline(t *testing.T) {
	a := played(t, 1, 20)
	b := open(t, a, "#/s/checkout-latency/eu")
	b.shows(".headline .unit", "ms")
	var said, behind string
	b.run(chromedp.Text(".readout", &said), chromedp.Click(".readout summary"), chromedp.Text(".readout details", &behind))
	for _, word := range []string{"percentile", "0.05", "tree", "useful", "exponential"} {
		if strings.Contains(said, word) {
			t.Errorf("without a click the detail says %q: %s", word, said)
		}
	}
	for _, word := range []string{"percentile", "0.05", "useful", "between"} {
		if !strings.Contains(behind, word) {
			t.Errorf("behind the click there is no %q: %s", word, behind)
		}
	}
	var sizes []string
	b.run(chromedp.Evaluate(`[".headline .number", ".values .number", ".values .error"].map((of) => {
		const { fontSize, fontWeight, color } = getComputedStyle(document.querySelector(of));
		return [fontSize, fontWeight, color].join();
	})`, &sizes))
	if sizes[0] == sizes[1] || sizes[1] == sizes[2] || sizes[0] == sizes[2] {
		t.Errorf("a headline, values and captions look alike: %q", sizes)
	}
	// Another release, when it is asked for alone.
	b.goTo("#/s/checkout-latency/eu/users")
	b.shows(".headline .unit", "users")
}

// No row of the readout is cut, however many figures there are and however low the window is, and going from window to
// window moves no plot.
func TestReadoutCutsNoRow(t *testing.T) {
	b, _ := picture{serve: troubles, view: "#/s/checkout-latency/eu", ready: table}.open(t)
	for _, size := range [][2]int64{{360, 500}, {1280, 500}, {2560, 700}} {
		var cut []string
		b.run(emulation.SetDeviceMetricsOverride(size[0], size[1], 1, size[0] < 500), twoFrames, chromedp.Evaluate(
			`[...document.querySelectorAll(".readout, .readout .values, .readout li")].filter((e) => e.scrollHeight > e.clientHeight + 1 && e.clientHeight > 0).map((e) => e.className)`, &cut))
		want(t, "what is cut", cut, []string{})
	}
	b.run(emulation.SetDeviceMetricsOverride(1280, 800, 1, false), twoFrames)
	var tops []float64
	for range 60 { // the windows differ: withheld, incomplete, higher, noise
		b.key("ArrowLeft", false)
		var top float64
		b.run(chromedp.Evaluate(`document.querySelector(".plot.large").offsetTop`, &top))
		tops = append(tops, top)
	}
	for _, top := range tops {
		if top != tops[0] {
			t.Fatalf("the plot moves with the window: %v", tops)
		}
	}
}
