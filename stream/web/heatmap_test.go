package web

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A histogram has a heat map, with the quantiles from it. It is drawn anew when the window changes its size. A click on
// a window opens its shares.
func TestHeatmap(t *testing.T) {
	w := newWorld(t, 1<<22)
	for i := range 40 {
		w.publish(0, histogramText("latency", i, 1))
		p50 := strings.NewReplacer(`"statistic":"count","p":null`, `"statistic":"quantile","p":0.5`, `"unit":"users"`,
			`"unit":"ms"`,
			`"budget_windows_left":9`, `"budget_windows_left":9,"from":"latency"`, `"epsilon":0.1`, `"epsilon":0`,
			`"interval":null`, `"interval":{"level":0.95,"low":0,"high":100}`).Replace(text("h", "", "p50", i, "83"))
		w.publish(0, p50)
	}
	b := visit(t, w.handler(), "#/s/h")
	b.run(chromedp.EmulateViewport(1400, 1800))
	b.shows(".heat h2", "Distribution of latency")
	b.shows(".heat .about", "Lines: p50")
	// Its first window is where the plots above have theirs: nothing is left of it.
	b.until(`(() => {
		const map = document.querySelector(".heat canvas"), over = document.querySelector(".plot .u-over").getBoundingClientRect();
		const edge = over.left - map.getBoundingClientRect().left, scale = map.width / map.clientWidth;
		const painted = (x) => map.getContext("2d").getImageData(Math.round(x * scale), 15, 1, 1).data[3] > 0 || map.getContext("2d").getImageData(Math.round(x * scale), map.height - 60, 1, 1).data[3] > 0;
		return painted(edge + 3) && !painted(edge - 3) && painted(edge + over.width - 3) && !painted(edge + over.width + 3);
	})()`)
	b.until(`(() => { const c = document.querySelector(".heat canvas"), d = c.getContext("2d").getImageData(c.width / 2, c.height - 60, 1, 1).data; return d[3] > 0; })()`)
	b.setAway(true) // there is no window of a day before, and the browser notes that in its console
	b.run(chromedp.Click(".heat h2 + canvas", chromedp.ByQuery))
	b.until(`document.querySelectorAll(".heat canvas").length === 2`)
	// The buckets have names, and the colours a key.
	said := b.written(`document.getElementById("theme").click()`)
	for _, text := range []string{"≤ 100", "100–800", "> 800", "0 %", "60 %", "noise"} {
		if !slices.Contains(said, text) {
			t.Errorf("the heat map does not say %q: %q", text, said)
		}
	}
	b.shows(".heat .about:last-child", "There is no window of a day before")
	b.picture("heatmap.png")
}

// A quantile that is noise has no line through the heat map: its ups and downs are no course of the figure.
func TestHeatmapHasNoLineThroughNoise(t *testing.T) {
	for quality, want := range map[string]int{"useful": 39, "noise": 0} {
		w := newWorld(t, 1<<22)
		for i := range 40 {
			w.publish(0, histogramText("latency", i, 1))
			w.publish(0, strings.NewReplacer(`"statistic":"count","p":null`, `"statistic":"quantile","p":0.5`,
				`"budget_windows_left":9`, `"budget_windows_left":9,"from":"latency"`,
				`"quality":"useful"`, `"quality":"`+quality+`"`).Replace(text("h", "", "p50", i, "83")))
		}
		b := visit(t, w.handler(), "#/s/h")
		b.run(chromedp.EmulateViewport(1400, 1800))
		b.shows(".heat .about", "Lines: p50")
		var pieces int
		b.run(chromedp.Evaluate(`(() => {
			const { lineTo } = CanvasRenderingContext2D.prototype, map = document.querySelector(".heat canvas");
			let pieces = 0;
			CanvasRenderingContext2D.prototype.lineTo = function (...at) {
				if (this.canvas === map && this.lineWidth === 2) pieces++;
				return lineTo.apply(this, at);
			};
			document.getElementById("theme").click(); // draws anew
			CanvasRenderingContext2D.prototype.lineTo = lineTo;
			return pieces;
		})()`, &pieces))
		if pieces != want {
			t.Errorf("%s: %d pieces of a line; want %d", quality, pieces, want)
		}
	}
}

// The shares of a window have those of the same time a day before beside them, dashed.
func TestHeatmapOfTheDayBefore(t *testing.T) {
	const day = 24 * 60
	w := newWorld(t, 1<<22)
	for i := range 40 {
		w.publish(0, strings.NewReplacer(`"raw":[600,300,100]`, `"raw":[200,300,500]`, `"count":[600,300,100]`,
			`"count":[200,300,500]`).Replace(histogramText("latency", i, 1)))
	}
	for i := range 40 {
		w.publish(0, histogramText("latency", day+i, 1))
	}
	b := visit(t, w.handler(), "#/s/h")
	b.run(chromedp.EmulateViewport(1400, 1800))
	b.shows(".heat h2", "Distribution of latency")
	b.run(chromedp.SendKeys(".heat h2 + canvas", kb.Enter, chromedp.ByQuery)) // the newest window
	b.until(`document.querySelectorAll(".heat canvas").length === 2`)
	b.shows(".heat .about:last-child", "Dashed: a day before")
	b.picture("heatmap-day-before.png")
}

// picture writes what the whole page looks like to a folder, if LOUVER_TEST_HEATMAP names one.
func (b *tab) picture(name string) {
	b.Helper()
	folder := os.Getenv("LOUVER_TEST_HEATMAP")
	if folder == "" {
		return
	}
	var picture []byte
	b.run(chromedp.FullScreenshot(&picture, 100))
	if err := os.WriteFile(filepath.Join(folder, name), picture, 0o600); err != nil {
		b.Fatal(err)
	}
}
