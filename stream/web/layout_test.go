package web

import (
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
