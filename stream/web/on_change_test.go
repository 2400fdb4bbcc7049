package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A figure on change has a step line that is flat while its value holds, and a dot where it was drawn. The page says
// since when it holds, and what it cost once.
func TestFiguresOnChangeInBrowser(t *testing.T) {
	b, _ := picture{serve: steady, view: "#/s/checkout-latency/eu/calm", ready: table}.open(t)
	var drew struct{ Dots, Jumps int }
	b.run(chromedp.Evaluate(drawn, nil), chromedp.Evaluate(`(() => { // the line's upright pieces
		const { rect } = Path2D.prototype;
		window.jumps = 0;
		Path2D.prototype.rect = function (...at) { window.jumps += at[2] === 2 && at[3] > 2; return rect.apply(this, at); };
		document.querySelector(".plot.large").plot.redraw();
	})()`, nil), twoFrames, chromedp.Evaluate(`({ dots: window.arcs, jumps: window.jumps })`, &drew))
	// a busy page may draw twice; one of the draws comes after a gap
	if drew.Dots == 0 || drew.Dots%5 != 0 || 5*drew.Jumps != 3*drew.Dots {
		t.Errorf("%+v, want a dot for each of 5 draws, and 3 jumps", drew)
	}
	b.run(chromedp.Click(".readout summary"))
	b.shows(".readout td", "held since ")
	b.shows(".readout td", "0.15 once")
	b.point(48.5 / 120)
	b.shows(".plot.large .tip", "drawn anew: calm")
	b.point(50.5 / 120)
	b.until(`document.querySelector(".plot.large .tip").hidden`)
	b.point(62.5 / 120)
	b.shows(".plot.large .tip", "withheld: at_most or the budget allows no more") // as louver watch says
}

// The page says that figures of a stream with max_windows describe those who still count, and what that does to a
// person's loss.
func TestMaxWindowsInBrowser(t *testing.T) {
	b, _ := picture{serve: steady, view: "#/", ready: card}.open(t)
	b.shows(".stream .about", "about the users who still count")
	b.goTo("#/s/checkout-latency/eu")
	b.shows(".detail .about",
		"about the users who still count: one person counts in at most 8 windows of any 24h; watches and figures on "+
			"change are about everybody")
	b.goTo("#/s/search-latency/eu")
	b.until(`document.querySelector("h1").textContent.includes("search-latency") && !document.querySelector(".detail .about").textContent.includes("who still count")`)
	b.goTo("#/budget")
	b.shows(".loss", "in any 24 h with its figures on change. One person counts in at most 8 windows of any 24h.")
	b.shows(".loss", "One person loses at most ε 0.15 in a window, ε 216 in any 24 h.")
}

// Streams of one budget lose together: the budget view does not say that each loses all of it.
func TestBudgetViewOfASharedBudget(t *testing.T) {
	a := newAct(t, 1, ample, recent(30))
	a.streams = parsed(t, strings.Replace(services(2, "both"), "version: 1\n",
		"version: 1\nbudgets: [{name: both, epsilon: 500, per: 24h}]\n", 1))
	b := open(t, a, "#/budget")
	b.shows(".loss", "ε 432 in any 24 h, in all 2 streams of budget both together.")
}

// Two windows that show the same draw are not two draws that happen to agree.
func TestCompareOneDraw(t *testing.T) {
	h := steady(t)
	latest := answered[struct {
		Releases []struct {
			ID, Since string
			Changed   *bool
		}
	}](t, h, "/api/v1/releases?stream=checkout-latency&group=eu&release=calm&last=120")
	ids := map[int]string{}
	for i, r := range latest.Releases {
		if r.Changed == nil {
			t.Fatalf("%s has no field changed", r.ID)
		}
		ids[i] = r.ID
	}
	compare := func(a, b int) struct{ Verdict, Sentence string } {
		return answered[struct{ Verdict, Sentence string }](t, h,
			"/api/v1/compare?"+url.Values{"a": {ids[a]}, "b": {ids[b]}}.Encode())
	}
	if c := compare(30, 40); c.Verdict != "noise" || !strings.Contains(c.Sentence,
		"both are the one value that was drawn in the window that ends at "+latest.Releases[20].Since) {
		t.Errorf("windows 30 and 40: %+v", c)
	}
	if c := compare(40, 50); c.Verdict != "unknown" || strings.Contains(c.Sentence, "both are") {
		t.Errorf("windows 40 and 50: %+v", c)
	}
}

// What the API says of streams tells which figures are drawn on change and who counts, also where only the records
// tell.
func TestStreamsTellOfChangeAndCap(t *testing.T) {
	w := newWorld(t, 1)
	calm := strings.NewReplacer(`"error_95":30`, `"error_95":null`, `"quality"`,
		`"since":"2026-11-20T08:01:00Z","changed":true,"instance":1,"quality"`)
	w.publish(0, calm.Replace(text("foreign", "eu", "calm", 0, "100")))
	w.publish(0, strings.Replace(text("foreign", "eu", "users", 0, "100"), `"users":100`,
		`"users":100,"max_windows":{"count":8,"per":"24h"}`, 1))
	for name, h := range map[string]string{"records": ask(t, w.handler(), "/api/v1/streams"),
		"file": ask(t, steady(t), "/api/v1/streams?stream=checkout-latency")} {
		var answer struct {
			Streams []struct {
				MaxWindows *struct {
					Count int
					Per   string
				} `json:"max_windows"`
				Releases []struct {
					Release  string
					OnChange bool `json:"on_change"`
				}
			}
		}
		if err := json.Unmarshal([]byte(h), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Streams) != 1 || answer.Streams[0].MaxWindows == nil ||
			fmt.Sprint(*answer.Streams[0].MaxWindows) != "{8 24h}" {
			t.Errorf("%s: %s", name, h)
			continue
		}
		for _, r := range answer.Streams[0].Releases {
			if r.OnChange != (r.Release == "calm") {
				t.Errorf("%s: %s is on change: %t", name, r.Release, r.OnChange)
			}
		}
	}
}
