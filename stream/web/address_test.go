package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The filter and the figure that is chosen are in the address, and a reload shows the same. What is said of that figure
// is asked for, too.
func TestOverviewIsInTheAddress(t *testing.T) {
	a := played(t, 3, 30)
	b := open(t, a, "#/")
	b.run(chromedp.SendKeys("#find", "checkout", chromedp.ByQuery))
	b.until(`document.querySelectorAll(".stream").length === 1`)
	b.click("users")
	b.shows(".card .unit", "users")
	b.shows(".card.normal .said", "normal")
	var address string
	b.run(chromedp.Evaluate(`location.hash`, &address))
	want(t, "the address", address, "#/?find=checkout&show=checkout-latency%2Fusers")
	b.run(chromedp.Reload())
	b.complete()
	b.until(`document.querySelectorAll(".stream").length === 1 && document.getElementById("find").value === "checkout"`)
	b.shows(".card .unit", "users")
	b.shows(".card.normal .said", "normal")
	// Who opens a detail and comes back sees the same.
	b.goTo("#/s/checkout-latency/eu/p90")
	b.shows(".headline .name", "p90")
	b.key("Escape", false)
	b.until(`document.querySelectorAll(".stream").length === 1 && location.hash.includes("find=checkout")`)
}

// Whether the simulated truth is shown is in the address.
func TestTruthIsInTheAddress(t *testing.T) {
	b, _ := picture{serve: troubles, view: "#/s/checkout-latency/eu/p50?truth=1", ready: table}.open(t)
	b.until(`document.getElementById("truth").checked && location.hash.endsWith("?truth=1")`)
	b.run(chromedp.Click("#truth"))
	b.until(`location.hash.endsWith("?truth=0")`)
	b.goTo("#/")
	b.until(`location.hash.endsWith("#/?truth=0")`)
}

// The ranges to choose from hold some windows: an hour is no range for windows of a day.
func TestRangesFitTheWindows(t *testing.T) {
	b := open(t, newAct(t, 1, ample, recent(3)), "#/s/checkout-latency/eu")
	b.until(`[...document.querySelectorAll("[aria-label=Range] a")].map((e) => e.textContent).join(", ") === "120 windows, 1 h, 1 d, 7 d, all"`)
	for size, wanted := range map[time.Duration]string{10 * time.Second: "120 windows, 1 h, 1 d, 7 d, all",
		15 * time.Minute: "120 windows, 1 d, 7 d, 30 d, all", 24 * time.Hour: "120 windows, 30 d, 90 d, 365 d, all",
		14 * 24 * time.Hour: "120 windows, 365 d, all"} {
		var names string
		b.run(chromedp.Evaluate(fmt.Sprintf(`import("./range.js").then(({ choices }) => choices(%v).map(([name]) => name).join(", "))`,
			size.Seconds()), &names, awaited))
		want(t, fmt.Sprint("ranges of windows of ", size), names, wanted)
	}
}
