package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A share is read in percent, with its band and its axis. The API has the number itself.
func TestShareIsInPercent(t *testing.T) {
	w := newWorld(t, 1<<22)
	for i := range 5 {
		w.publish(0, strings.NewReplacer(`"statistic":"count"`, `"statistic":"share"`, `"unit":"users"`, `"unit":""`,
			`"value":17`, `"value":0.17`, `"low":0,"high":47`, `"low":0.15,"high":0.19`).
			Replace(text("s", "", "late", i, "17")))
	}
	b := visit(t, w.handler(), "")
	var card string
	b.run(chromedp.Evaluate(`[".value", ".unit", ".error", ".most"].map((of) => document.querySelector(".card " + of).textContent).join(" ")`, &card))
	want(t, "the card", card, "17 % ± 2.0 21")
	b.goTo("#/s/s")
	b.shows(".windows .number", "17 %")
	b.shows(".headline", "17 %")
	if exact := w.get("/api/v1/releases/latest").Body.String(); !strings.Contains(exact, `"value":0.17`) {
		t.Errorf("the API has another number: %s", exact)
	}
}
