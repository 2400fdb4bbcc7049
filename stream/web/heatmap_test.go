package web

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A histogram has a heat map, with the quantiles from it. A click on a window opens its shares.
func TestHeatmap(t *testing.T) {
	w := newWorld(t, 1<<22)
	for i := range 40 {
		w.publish(0, histogramText("latency", i, 1))
		p50 := strings.NewReplacer(`"statistic":"count","p":null`, `"statistic":"quantile","p":0.5`, `"unit":"users"`, `"unit":"ms"`,
			`"budget_windows_left":9`, `"budget_windows_left":9,"from":"latency"`, `"epsilon":0.1`, `"epsilon":0`,
			`"interval":null`, `"interval":{"level":0.95,"low":0,"high":100}`).Replace(text("h", "", "p50", i, "83"))
		w.publish(0, p50)
	}
	s := &restartable{T: t, handler: New(Config{Store: w.store})}
	s.start()
	b := browse(t, s.address)
	b.run(chromedp.EmulateViewport(1400, 1800), chromedp.Navigate("http://"+s.address+"/#/s/h"))
	b.shows(".heat h2", "Distribution of latency")
	b.shows(".heat .about", "Lines: p50")
	b.until(`(() => { const c = document.querySelector(".heat canvas"), d = c.getContext("2d").getImageData(c.width / 2, c.height - 60, 1, 1).data; return d[3] > 0; })()`)
	b.run(chromedp.Click(".heat h2 + canvas", chromedp.ByQuery))
	b.until(`document.querySelectorAll(".heat canvas:not([hidden])").length === 2`)
	b.shows(".heat .about:last-child", "There is no window of a day before")
	if path := os.Getenv("LOUVER_TEST_HEATMAP"); path != "" {
		var picture []byte
		b.run(chromedp.FullScreenshot(&picture, 100))
		if err := os.WriteFile(path, picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
