package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	onpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// What the page may take of a quiet machine's processor. A test fails only far beyond, because caches are shared with
// other work on the machine; it logs what it saw.
const (
	loadWithin   = time.Second
	redrawWithin = 50 * time.Millisecond
	busy         = 8
)

// The first figure comes before the rest is there, even with 60 streams that have a long past.
func TestFirstFigureComesSoon(t *testing.T) {
	a := played(t, 60, 60)
	s := &restartable{T: t, handler: a.handler()}
	s.start()
	b := browse(t, s.address)
	var first, all, moved, worked float64
	b.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := onpage.AddScriptToEvaluateOnNewDocument(`new MutationObserver((_, observer) => {
			if (![...document.querySelectorAll(".card .value")].some((e) => /\d/.test(e.textContent))) return;
			observer.disconnect();
			window.first = performance.now();
		}).observe(document, { childList: true, subtree: true, characterData: true });
		window.moved = 0;
		new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.moved += e.value; })).observe({ type: "layout-shift", buffered: true })`).Do(ctx)
		return err
	}), threadTime(&worked), chromedp.Navigate("http://"+s.address+"/"))
	b.complete()
	b.run(chromedp.Evaluate("window.first", &first), chromedp.Evaluate("performance.now()", &all),
		chromedp.Evaluate("window.moved", &moved), threadTime(&worked))
	t.Logf("first figure after %.0f ms, all 54,000 after %.0f ms, with %.2f s of the processor; layout shift %.3f; "+
		"want the processor for %v", first, all, worked, moved, loadWithin)
	if first <= 0 || first >= all {
		t.Errorf("the first figure came after %.0f ms, all of them after %.0f ms", first, all)
	}
	if worked <= 0 || worked > (busy*loadWithin).Seconds() {
		t.Errorf("the page has worked for %.2f s", worked)
	}
	// Web vitals call a shift of up to 0.1 good.
	if moved > 0.02 {
		t.Errorf("the layout moves by %.3f while the page loads; want nearly nothing", moved)
	}
}

// threadTime reads how long the page's thread has worked, in seconds.
func threadTime(at *float64) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		if err := performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks).Do(ctx); err != nil {
			return err
		}
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			if m.Name == "TaskDuration" {
				*at = m.Value
			}
		}
		return err
	})
}

// Fifty series of a thousand windows are redrawn in a blink.
func TestRedrawIsFast(t *testing.T) {
	w := newWorld(t, 512<<20)
	for window := range 1000 {
		for series := range 50 {
			value := 100 + 10*series + (window*(series+7))%13
			w.publish(0, strings.NewReplacer(`"statistic":"count","p":null`, `"statistic":"quantile","p":0.5`,
				`"unit":"users"`,
				`"unit":"ms"`, `"error_95":30,"low"`, fmt.Sprintf(`"error_95":null,"low":%d,"high":%d,"was"`, value-6, value+6),
				`,"high":`, `,"were":`).Replace(text("s", "", fmt.Sprintf("q%02d", series), window, fmt.Sprint(value))))
		}
	}
	b := visit(t, w.handler(), "#/s/s?from=all")
	b.until(`document.querySelectorAll(".plot.large").length === 50 && [...document.querySelectorAll(".plot.large")].every((host) => host.plot.lines[0].figures.length === 1000)`)
	// cost is the processor time of the page's thread: other work on the machine does not count.
	cost := func(what string) time.Duration {
		const times = 15
		var before, after float64
		b.run(twoFrames, threadTime(&before), chromedp.Evaluate(fmt.Sprintf(`(async () => {
			const hosts = [...document.querySelectorAll(".plot.large")], seen = hosts.filter((host) => host.querySelector("canvas"));
			for (let i = 0; i < %d; i++) {
				%s;
				await null; // uPlot draws in a microtask
				for (const host of seen) host.querySelector("canvas").getContext("2d").getImageData(0, 0, 1, 1); // waits for the canvas
			}
		})()`, times, what), nil, awaited), threadTime(&after))
		return time.Duration((after - before) / times * float64(time.Second)).Round(time.Millisecond / 10)
	}
	redraw := cost(`for (const { plot } of hosts) plot.show(plot.lines, plot.start, plot.end, plot.axis, plot.extras)`)
	step := cost(`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }))`)
	t.Logf("50 series of 1,000 windows: redrawn in %v, the cursor moved in %v; want the plot within %v", redraw, step,
		redrawWithin)
	if redraw > busy*redrawWithin {
		t.Errorf("a redraw takes %v", redraw)
	}
}
