package web

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Who types into the search box goes on typing, although the first letter leads from another view to the overview.
func TestFindKeepsTheFocus(t *testing.T) {
	a := played(t, 2, 5)
	b := open(t, a, "#/s/checkout-latency/eu")
	for _, view := range []string{"#/s/checkout-latency/eu", "#/budget"} {
		b.goTo(view)
		b.until(`!document.querySelector(".streams")`)
		b.run(chromedp.Focus("#find"), chromedp.KeyEvent("s"))
		b.until(`location.hash.startsWith("#/?find=") && document.querySelector(".streams")`)
		b.run(chromedp.KeyEvent("earch"))
		b.until(`document.getElementById("find").value === "search"`)
		b.run(chromedp.Evaluate(`document.getElementById("find").value = ""`, nil))
	}
}

// The line of the header has no gap: nothing stands behind the age, which has a room of its own.
func TestStateEndsWithTheAge(t *testing.T) {
	a := played(t, 1, 5)
	b := open(t, a, "#/")
	b.until(`document.getElementById("state").lastElementChild?.className === "ago"`)
	b.until(`/times in UTC · newest window ended at .*\sago$/.test(document.getElementById("state").textContent)`)
}

// The title of the tab says what needs a look, and how many streams do, as long as it lasts.
func TestTitleSaysWhatNeedsALook(t *testing.T) {
	a := newAct(t, 2, ample, recent(30))
	a.streams = parsed(t, watchedServices(2))
	a.play(0, 30)
	a.watch("checkout-latency", "eu", "fire", 29, "", 29)
	b := open(t, a, "#/")
	b.until(`/^1 alarm\b.* · Louver$/.test(document.title)`)
	a.watch("checkout-latency", "eu", "fire", 29, "", -1)
	b.until(`!document.title.includes("alarm")`)
}
