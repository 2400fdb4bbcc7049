package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// shares serves a share of 17 % in some windows, of which a demo knows that 16 % are true.
func shares(t *testing.T) (*world, http.Handler) {
	w := newWorld(t, 1<<22)
	told := []map[string]any{}
	for i := range 5 {
		w.publish(0, strings.NewReplacer(`"statistic":"count"`, `"statistic":"share"`, `"unit":"users"`, `"unit":""`,
			`"value":17`, `"value":0.17`, `"low":0,"high":47`, `"low":0.15,"high":0.19`).
			Replace(text("checkout-latency", "eu", "late", i, "17")))
		told = append(told, map[string]any{"stream": "checkout-latency", "window_end": epoch.Add(time.Duration(i+1) * time.Minute),
			"truth": map[string]any{"eu/late": 0.16}, "incident": nil})
	}
	return w, New(Config{Store: w.store, Demo: rehearsal{told}})
}

// A share is read in percent, with its band, its axis and a demo's truth. The API has the number itself.
func TestShareIsInPercent(t *testing.T) {
	w, h := shares(t)
	b := visit(t, h, "")
	var card string
	b.run(chromedp.Evaluate(`[".value", ".unit", ".error", ".most"].map((of) => document.querySelector(".card " + of).textContent).join(" ")`, &card))
	want(t, "the card", card, "17 % ± 2.0 21")
	b.goTo("#/s/checkout-latency")
	b.shows(".windows .number", "17 %")
	b.shows(".headline", "17 %")
	b.shows(".headline .error", "truth 16")
	if exact := w.get("/api/v1/releases/latest").Body.String(); !strings.Contains(exact, `"value":0.17`) {
		t.Errorf("the API has another number: %s", exact)
	}
}
