package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// noisy serves a service whose p50 in one region has been only noise for its newest windows. Its users are still
// there, so nobody calls it silent.
func noisy(t *testing.T, windows, noise int) *act {
	a := newAct(t, 1, "{epsilon: 4000, per: 24h}", recent(windows+noise))
	a.change = func(window int, e *ledger.Entry) {
		if v := &e.Groups[0].Values[0]; window >= windows {
			v.Quality, v.Value, v.Smoothed = "noise", new(decimal.NewFromInt(int64(a.noise.IntN(60000)))), nil
		}
	}
	a.play(0, windows+noise)
	return a
}

// A series may have been noise for longer than a view shows. Then it has no plot, but words: the last value that could
// be read, and its time. In the detail view a link leads there.
func TestLastReadableValueStays(t *testing.T) {
	const windows, noise = 30, 150 // cards show 60 windows, and details 120
	a := noisy(t, windows, noise)
	b := open(t, a, "#/")
	at := a.end(windows - 1)
	b.shows(".fold", "1 of 3 groups: too few users to say")
	b.showsAt(".fold", " at %s", at)
	b.until(`document.querySelectorAll(".card:not([hidden])").length === 2`)
	b.goTo("#/s/checkout-latency/eu")
	b.showsAt(".headline .error", " at %s", at)
	b.shows(".panel .fold", "p50: too few users to say in all of this range, last ")
	b.until(`!document.querySelector(".plot[data-release=p50]") && document.querySelector(".plot[data-release=p90]")`)
	a.play(windows+noise, windows+noise+3)
	b.until(fmt.Sprintf(`document.querySelector(".plot.large").plot.lines[0].figures.at(-1).end === %d`, a.end(windows+noise+2).Unix()))
	b.run(chromedp.Click(".panel .fold a"))
	b.until(`document.querySelector(".plot[data-release=p50]")?.plot.lines[0].figures.some((f) => f.quality === "useful") && !document.querySelector(".panel .fold")?.textContent.startsWith("p50")`)
	b.goTo("#/")
	b.showsAt(".fold", " at %s", at)
}

// The page stays open: what it has read once it does not forget, however many windows of noise come.
func TestOpenPageKeepsTheLastReadableValue(t *testing.T) {
	const windows, noise = 30, 5
	a := noisy(t, windows, noise)
	b := open(t, a, "#/")
	at := a.end(windows - 1)
	b.showsAt(".card.few .error", " at %s", at)
	a.play(windows+noise, windows+noise+80)
	b.until(fmt.Sprintf(`document.querySelector(".card[hidden] .plot")?.plot.lines[0].figures.at(-1).end === %d`, a.end(windows+noise+79).Unix()))
	b.showsAt(".fold", " at %s", at)
}

// The API has the newest record that is more than noise.
func TestNewestReadableRecord(t *testing.T) {
	w := newWorld(t, 1<<20)
	useful := func(group string, window int) string { return text("s", group, "users", window, "100") }
	noise := func(group string, window int) string {
		return strings.Replace(useful(group, window), `"quality":"useful"`, `"quality":"noise"`, 1)
	}
	withheld := strings.NewReplacer(`"value":100,"status":"ok","reason":null`, `"value":null,"status":"withheld","reason":"too_few_users"`,
		`"quality":"useful"`, `"quality":null`).Replace(useful("eu", 4))
	for _, record := range []string{useful("eu", 1), useful("eu", 2), noise("eu", 3), withheld, noise("eu", 5),
		useful("us", 4), useful("us", 5), noise("ap", 5)} {
		w.publish(0, record)
	}
	want(t, "newest that can be read", w.get("/api/v1/releases/latest?readable=true&fields=group,window_start").Body.String(),
		`{"releases":[{"group":"eu","window_start":"2026-11-20T08:02:00Z"},`+"\n"+
			`{"group":"us","window_start":"2026-11-20T08:05:00Z"}]}`+"\n")
}
