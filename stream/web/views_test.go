package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record/recordtest"
)

// open shows a view of a page and waits for all figures.
func open(t *testing.T, a *act, view string) *tab {
	t.Helper()
	return visit(t, a.handler(), view)
}

// visit does the same for the page of a server.
func visit(t *testing.T, h http.Handler, view string) *tab {
	t.Helper()
	s := &restartable{T: t, handler: h}
	s.start()
	b := browse(t, s.address)
	b.run(chromedp.Navigate("http://" + s.address + "/" + view))
	b.complete()
	return b
}

// goTo goes to another view.
func (b *tab) goTo(view string) {
	b.Helper()
	b.run(chromedp.Evaluate(fmt.Sprintf("location.hash = %q", view), nil))
}

// clean fails the test if the page did what it must not.
func (b *tab) clean() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bad) > 0 || len(b.foreign) > 0 || b.requests == 0 {
		b.Errorf("errors in the console: %q; requests to others: %q; requests seen: %d", b.bad, b.foreign, b.requests)
	}
}

// key presses a key while nothing has the focus.
func (b *tab) key(name string, shift bool) {
	b.Helper()
	b.run(chromedp.Evaluate(fmt.Sprintf(`document.activeElement.blur();
		document.body.dispatchEvent(new KeyboardEvent("keydown", { key: %q, shiftKey: %t, bubbles: true }))`,
		name, shift), nil))
}

// click clicks on the button with a text.
func (b *tab) click(text string) {
	b.Helper()
	b.run(chromedp.Click(fmt.Sprintf("//button[text()=%q]", text), chromedp.BySearch))
}

// drawn is JavaScript that notes what a plot puts on its canvas: how many arcs, how thick its lines are, and what
// fades. A busy page may draw twice, so fades are counted from when the canvas was cleared.
const drawn = `(() => {
	window.arcs = window.pieces = window.fades = 0; window.thick = new Set();
	if (window.noted) return;
	window.noted = true;
	const { arc, clearRect, createLinearGradient } = CanvasRenderingContext2D.prototype, { rect } = Path2D.prototype;
	CanvasRenderingContext2D.prototype.arc = function (...at) { window.arcs++; return arc.apply(this, at); };
	CanvasRenderingContext2D.prototype.clearRect = function (...at) { window.pieces = window.fades = 0; return clearRect.apply(this, at); };
	CanvasRenderingContext2D.prototype.createLinearGradient = function (...at) { window.fades++; return createLinearGradient.apply(this, at); };
	Path2D.prototype.rect = function (...at) { window.pieces++; window.thick.add(Math.round(10 * at[3]) / 10); return rect.apply(this, at); };
})()`

// draws draws a plot anew, and returns what it put on its canvas.
func (b *tab) draws() (d struct {
	Arcs, Pieces, Fades int
	Thick               bool
}) {
	b.Helper()
	b.run(twoFrames, chromedp.Evaluate(drawn, nil),
		chromedp.Evaluate(`document.querySelector(".plot.large").plot.redraw()`, nil), twoFrames,
		chromedp.Evaluate(`({ arcs, pieces, fades, thick: thick.has(4) })`, &d))
	return d
}

// written are the words that are painted when something is drawn anew.
func (b *tab) written(redraw string) (said []string) {
	b.Helper()
	b.run(chromedp.Evaluate(`(async () => {
		const said = [], { fillText } = CanvasRenderingContext2D.prototype;
		CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { said.push(text); return fillText.call(this, text, ...at); };
		`+redraw+`;
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		CanvasRenderingContext2D.prototype.fillText = fillText;
		return said;
	})()`, &said, awaited))
	return said
}

// Modes are dots and no line. Other figures have no dots, and a piece of a line for each window. Noise has no line but
// fog, one for all its windows: it does not follow the values. The smoothed line is thicker than the values, comes on
// request, and is part of the address. Without smoothed values nobody is asked.
func TestLinesDotsAndFog(t *testing.T) {
	a := played(t, 1, 30, func(window int, e *ledger.Entry) {
		if window >= 10 {
			e.Groups[1].Values[0].Quality = "noise"
		}
	})
	b := open(t, a, "#/s/checkout-latency/eu/top")
	shows := func(view, release string) {
		b.goTo("#/s/checkout-latency/" + view + "/" + release)
		b.until(fmt.Sprintf(`document.querySelector("h1").textContent.endsWith(%q) && document.querySelector(".plot.large").plot.lines.map((line) => line.name).join() === %q`,
			view, release))
	}
	if d := b.draws(); d.Arcs < 30 {
		t.Errorf("%+v of 30 modes", d)
	}
	shows("us", "p50")
	if d := b.draws(); d.Pieces >= 30 || d.Fades != 1 {
		t.Errorf("%+v of 10 medians and 20 that are noise", d)
	}
	shows("eu", "p50")
	if d := b.draws(); d.Arcs != 0 || d.Pieces < 30 || d.Fades != 0 || d.Thick {
		t.Errorf("%+v of 30 medians", d)
	}
	b.run(chromedp.Click(`//a[text()="smoothed"]`, chromedp.BySearch))
	b.until(`location.hash.includes("smoothed=1") && document.querySelector(".plot.large").plot.extras.smoothed`)
	if d := b.draws(); !d.Thick {
		t.Errorf("%+v with smoothed values", d)
	}
	b.goTo("#/s/checkout-latency/eu/users")
	b.until(`[...document.querySelectorAll(".bar a")].find((e) => e.textContent === "smoothed").hidden`)
}

// Where a figure is noise the words are large, and beside them stands what would help; the value is in the title.
func TestNoiseSaysWhatHelps(t *testing.T) {
	a := played(t, 1, 5, func(_ int, e *ledger.Entry) {
		e.Groups[0].Values[0].Quality, e.Groups[0].Users = "noise", new(int64(200))
		e.Groups[1].Values[0].Quality, e.Groups[1].Users = "noise", new(int64(200))
	})
	b := open(t, a, "#/")
	b.shows(".fold", "2 of 3 groups: too few users to say (about 880 users would do): eu, us")
	b.goTo("#/s/checkout-latency/eu")
	b.shows(".readout .noise .number", "too few users to say")
	b.shows(".readout .noise .error", "about 880 users would do")
	b.until(`/ms, exactly/.test(document.querySelector(".readout .noise .number").title)`)
}

// A gap says why it is there, to the mouse and to the keyboard.
func TestGapSaysWhy(t *testing.T) {
	a := played(t, 1, 20, func(window int, e *ledger.Entry) {
		switch window {
		case 10:
			for g := range e.Groups {
				countedAs(e, g, 12)
			}
			e.WithholdBelow("users", 50)
		case 18:
			e.Incomplete = true
		}
	})
	b := open(t, a, "#/s/checkout-latency/eu?from=all")
	b.until(`document.querySelector(".plot.large").plot.start > 0 && document.querySelectorAll(".windows tbody tr").length === 20`)
	b.point(10.5 / 20)
	b.shows(".plot.large .tip", "withheld: too few users")
	b.point(5.5 / 20)
	b.until(`document.querySelector(".plot.large .tip").hidden`)
	b.key("End", false)
	b.key("ArrowLeft", false)
	b.shows(".plot.large .tip", "part of the input was lost")
}

// A figure that differs from those before it by more than noise and the usual variation explain has a mark in the plot,
// and words and a sentence for the mouse and the keyboard. A legend says what the mark means.
func TestSignalIsMarked(t *testing.T) {
	a := played(t, 1, 20, func(window int, e *ledger.Entry) {
		if window == 19 {
			countedAs(e, 0, 8000)
		}
	})
	b := open(t, a, "#/s/checkout-latency/eu/users")
	const says = "by more than noise and the usual variation explain."
	b.until(fmt.Sprintf(`document.querySelector(".windows .signal")?.title.endsWith(%q) && document.querySelectorAll(".windows .signal").length === 1`, says))
	b.shows(".windows .signal", "↑ higher")
	b.shows(".legend", "◆ From here on figures are higher or lower than the median of the hour before")
	b.key("End", false)
	b.shows(".plot .tip", "8,000 users is above ")
	b.goTo("#/")
	b.click("users")
	b.until(fmt.Sprintf(`document.querySelector(".card.changed .said").title.endsWith(%q)`, says))
	b.showsAt(".card.changed .said", "↑ higher since %s", a.end(18))
	b.shows(".legend", "◆ From here on")
}

// Two ranges are compared by dragging, with the button or with Shift, and by the keyboard.
func TestCompareRangesInBrowser(t *testing.T) {
	a := played(t, 1, 20)
	b := open(t, a, "#/s/checkout-latency/eu/users?from=all")
	b.until(`document.querySelectorAll(".windows tbody tr").length === 20`)
	b.click("compare ranges")
	b.drag(".plot.counts", 0.01, 0.24)
	b.shows(".comparison p", "(5 windows)")
	b.drag(".plot.counts", 0.51, 0.99)
	b.shows(".comparison h2", "(10 windows)")
	b.shows(".comparison li", " and 10 windows: noise alone does this")
	b.shows(".comparison h2", "(5 windows)")
	// A reload and a shared link show the same.
	var before, after string
	b.run(chromedp.Text(".comparison", &before), chromedp.Reload())
	b.complete()
	b.shows(".comparison h2", "(10 windows)")
	b.shows(".comparison li", " and 10 windows: noise alone does this")
	if b.run(chromedp.Text(".comparison", &after)); before != after {
		t.Errorf("before a reload:\n%s\nafter:\n%s", before, after)
	}
	b.click("compare ranges")
	b.run(chromedp.KeyEvent("\x1b"))
	b.until(
		`document.querySelector(".comparison").hidden && document.querySelector(".bar button").ariaPressed === "false"`)
	b.drag(".plot.counts", 0.01, 0.14, input.ModifierShift)
	b.shows(".comparison p", "(3 windows)")
	b.key("End", false)
	b.key("Enter", false)
	b.shows(".comparison h2", "(3 windows), then B")
	b.key("ArrowLeft", false)
	b.key("Enter", true)
	b.shows(".comparison h2", "(2 windows)")
	b.shows(".comparison li", ", means of 3 and ")
	// Without Shift and the button a drag zooms.
	b.drag(".plot.counts", 0.2, 0.6)
	b.until(`/from=2.*&to=2/.test(location.hash)`)
}

// The keys put the cursor on a window. A mouse that rests does not take it away when the plot moves away below it.
func TestRestingMouseLeavesTheCursor(t *testing.T) {
	a := played(t, 1, 20)
	b := open(t, a, "#/s/checkout-latency/eu/users?from=all")
	b.until(`document.querySelectorAll(".windows tbody tr").length === 20`)
	x, y := b.place(".plot.counts", 0.13)
	b.run(chromedp.MouseEvent(input.MouseMoved, x-1, y), chromedp.MouseEvent(input.MouseMoved, x, y))
	b.until(`document.querySelector(".readout .when").textContent.startsWith("Window")`)
	b.key("End", false)
	b.key("ArrowLeft", false)
	b.run(chromedp.Evaluate(`
		window.at = document.querySelector(".readout .when").textContent;
		window.left = false;
		document.querySelector(".plot.counts .u-over").addEventListener("mouseleave", () => { window.left = true; });
		document.querySelector(".panel").style.marginTop = "2000px"`, nil), twoFrames,
		chromedp.MouseEvent(input.MouseMoved, x, y))
	b.until(`window.left`)
	b.key("Enter", false)
	b.until(
		`document.querySelector(".comparison p")?.textContent.startsWith("A is " + window.at.slice("Window ".length))`)
	// A mouse that moves takes it.
	b.run(chromedp.Evaluate(`document.querySelector(".panel").style.marginTop = ""`, nil), twoFrames)
	x, y = b.place(".plot.counts", 0.13)
	b.run(chromedp.MouseEvent(input.MouseMoved, x-1, y), chromedp.MouseEvent(input.MouseMoved, x, y))
	b.until(`document.querySelector(".readout .when").textContent !== window.at`)
}

// The header has as many lines whatever it says of how long ago the newest window was, so that nothing below it moves.
func TestHeaderKeepsItsHeight(t *testing.T) {
	a := played(t, 1, 20)
	b := open(t, a, "#/")
	b.until(`document.querySelector("#state .ago") !== null`)
	var moved []string
	b.run(chromedp.Evaluate(`(() => {
		const line = document.getElementById("state"), ago = line.querySelector(".ago"), moved = [];
		for (let width = 300; width < 900; width++) {
			line.style.width = width + "px";
			const heights = ["0\u00a0s", "9\u00a0s", "10\u00a0s", "59\u00a0s", "1\u00a0min", "59\u00a0min"].map((text) => {
				ago.textContent = text + "\u00a0ago";
				return line.offsetHeight;
			});
			if (new Set(heights).size > 1) moved.push(width + ": " + heights);
		}
		return moved;
	})()`, &moved))
	if len(moved) > 0 {
		t.Errorf("the header's height changes at these widths: %q", moved)
	}
}

// On a phone fingers drag ranges while they are compared.
func TestFingersCompareRanges(t *testing.T) {
	a := played(t, 1, 20)
	b := open(t, a, "#/s/checkout-latency/eu/users?from=all")
	b.run(emulation.SetDeviceMetricsOverride(360, 740, 1, true), emulation.SetTouchEmulationEnabled(true), twoFrames)
	b.click("compare ranges")
	for _, part := range [][2]float64{{0.01, 0.24}, {0.51, 0.99}} {
		from, y := b.place(".plot.counts", part[0])
		to, _ := b.place(".plot.counts", part[1])
		finger := func(kind input.TouchType, at ...float64) chromedp.Action {
			points := []*input.TouchPoint{}
			for _, x := range at {
				points = append(points, &input.TouchPoint{X: x, Y: y})
			}
			return input.DispatchTouchEvent(kind, points)
		}
		b.run(finger(input.TouchStart, from), finger(input.TouchMove, (from+to)/2), finger(input.TouchMove, to),
			finger(input.TouchEnd))
	}
	b.shows(".comparison h2", "(5 windows), then B")
	b.shows(".comparison h2", "(10 windows)")
}

// A watch is a strip and words, and no line. It is red from the window in which it fires until it is armed again. Its
// stream comes first, whose alarm it is stands there, and nothing is said of watches that are not armed again.
func TestWatchFires(t *testing.T) {
	first := recent(20)
	a := newAct(t, 2, ample, first)
	checkout, search, _ := strings.Cut(services(2, ample), "  - name: search-latency")
	a.streams = parsed(t, checkout+"  - name: search-latency"+strings.NewReplacer("    output: {topic: out}\n", twoWatches,
		"value: v,", "value: v, where: {kind: server},").Replace(search))
	a.play(0, 18)
	says := func(window int) {
		since := -1
		if window >= 17 {
			since = 17
		}
		a.watch("search-latency", "us", "fire", window, "", since)
		reason := ""
		if window > 17 {
			reason = "not_armed"
		}
		a.watch("search-latency", "eu", "fire", window, reason, -1)
	}
	for window := range 18 {
		says(window)
	}
	b := open(t, a, "#/")
	b.until(`document.querySelector(".stream h2").textContent === "search-latency"`)
	// It waits for 19 minutes. The first window after that begins 19 minutes after the one that fired, and ends a
	// minute later.
	const what = "fired %s, armed again at %s"
	fired, again := a.end(17), a.end(17).Add(20*time.Minute)
	b.showsAt(".stream:first-child .pill.bad", "alarm: fire in us "+what, fired, again)
	b.showsAt(".card .alarm", "alarm: fire "+what, fired, again)
	b.until(`![...document.querySelectorAll(".choice button")].some((e) => e.textContent === "fire")`)
	b.goTo("#/s/search-latency/us")
	b.shows(".readout .fires", "fires")
	b.shows(".detail .about", " ms · only events with kind = server")
	b.shows(".head .pill.bad", "alarm: fire fired ")
	b.until(`document.querySelector(".plot.watches canvas") && document.querySelector(".plot.watches").plot.lines[0].name === "fire"`)
	b.until(`!document.querySelector(".plot.large").plot.lines.some((line) => line.name === "fire")`)
	b.goTo("#/s/search-latency/eu")
	b.shows(".head .pill.warn", "alarm of another group: fire in us fired ")
	a.play(18, 20)
	says(18)
	says(19)
	b.shows(".windows td", "not armed again yet")
	b.goTo("#/s/search-latency/us")
	b.shows(".readout .fires", "waits") // red stays red until the watch is armed again
	b.shows(".head .pill.bad", "alarm: fire fired ")
}

// What somebody has unfolded in the budget view stays so when figures come.
func TestUnfoldedStaysSo(t *testing.T) {
	a := newAct(t, 1, ample, recent(30))
	a.play(0, 29)
	b := open(t, a, "#/budget")
	b.shows(".amounts", "one person can have lost ε 4.35")
	b.run(chromedp.Click("summary"))
	b.shows("details dd", "from 0 to 60,000 ms, in steps of 1")
	a.play(29, 30)
	b.shows(".amounts", "one person can have lost ε 4.5")
	b.shows("details dd", "from 0 to 60,000 ms, in steps of 1")
}

// Whoever scrolls the table of windows sideways still sees which window a row is of.
func TestTableKeepsTheWindowInSight(t *testing.T) {
	b, _ := picture{serve: troubles, view: "#/s/checkout-latency/eu", ready: table}.open(t)
	var left float64
	b.run(emulation.SetDeviceMetricsOverride(360, 740, 1, true), twoFrames, chromedp.Evaluate(`(() => {
		const scroll = document.querySelector(".windows .scroll");
		scroll.scrollLeft = 300;
		return scroll.scrollLeft < 300 ? -1 : scroll.querySelector("tbody th").getBoundingClientRect().left - scroll.getBoundingClientRect().left;
	})()`, &left))
	if left < 0 || left > 20 {
		t.Errorf("the window stands %.0f px from the left; want it there", left)
	}
}

// Values have the digits that their error allows, before and behind the point, and errors are rounded up.
func TestFiguresAreRounded(t *testing.T) {
	b := open(t, newAct(t, 1, ample, recent(3)), "#/")
	var got []string
	b.run(chromedp.Evaluate(`import("./format.js").then(({ rounded, roundedUp }) => [
		rounded(23.73795, 1.298), roundedUp(1.298), rounded(23.73795, 0.5), rounded(0.004321, 0.0004), roundedUp(0.0412),
		rounded(1234567, 4200), roundedUp(1298), rounded(143.634), rounded(-0.004, 3), rounded(-12.5, 1)])`, &got, awaited))
	want(t, "figures", got, []string{"23.7", "1.3", "23.7", "0.0043", "0.05", "1,235,000", "1,300", "143.6",
		"0", "−12.5"})
}

// The page shows the band of a record, with the numbers that louver watch prints: only its minus is longer.
func TestPageShowsTheBand(t *testing.T) {
	b := open(t, newAct(t, 1, ample, recent(3)), "#/")
	for _, c := range recordtest.AllBanded(t) {
		var got [3]string
		b.run(chromedp.Evaluate(`Promise.all([import("./format.js"), import("./figures.js")]).then(([{ errorText, figureText }, { Figures }]) => {
			const [figure] = new Figures().merge([`+c.Record+`]), { value, unit, error, exact } = figureText(figure);
			return [value + (unit ? " " + unit : ""), error + "; " + errorText(figure), exact];
		})`, &got, awaited))
		if c.Name == "share" { // is read in percent
			c.Low, c.High = "2.1", "4.21"
		}
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "−", "-")
		}
		exact := ""
		if c.Low != "" {
			exact = "band " + c.Low + "–" + c.High
			if strings.HasPrefix(c.Low, "-") {
				exact = "band " + c.Low + " to " + c.High
			}
		}
		bounds := strings.Split(cmp.Or(c.Bound, "no band"), "; ") // the error, and what else is known of it
		if got[0] != c.Value || c.Low != "" && !strings.HasPrefix(got[1], bounds[0]+"; ") ||
			!strings.Contains(got[1], bounds[len(bounds)-1]) || !strings.HasSuffix(got[2], exact) {
			t.Errorf("%s: %q, want %q, %q and … %q", c.Name, got, c.Value, c.Bound, exact)
		}
	}
}
