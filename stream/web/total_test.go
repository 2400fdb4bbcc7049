package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/louver/louver/stream/ledger"
)

// What totals cost is known from their records alone: each instance once a period, from its first window on, although
// not each window has a record. The page's API says of what periods they are, and what one costs a person.
func TestBudgetOfTotals(t *testing.T) {
	streams := parsed(t,
		strings.Replace(streamsFile,
			"releases: [{name: users, statistic: count, epsilon: 0.2}, {name: tail, statistic: quantiles, p: [0.9, "+
				"0.99], epsilon: 0.1}]", "releases: [{name: today, statistic: count, since: hour, update: 2m, "+
				"epsilon: 0.5}]", 1))[:1]
	s := streams[0]
	for _, minutes := range []int{6, 58, 62, 70} {
		w := newWorld(t, 1<<20)
		books := ledger.NewBooks()
		for m := 1; m <= minutes; m++ {
			end := epoch.Add(time.Duration(m) * time.Minute)
			w.watched(books, s, end.Add(-s.Window.Size), end, nil)
		}
		now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
		want(t, "totals", ledger.NewReport(books, now).Watches[0].Watch, "today")
		asTheLedger(t, fmt.Sprint("after minutes: ", minutes), w, streams, books, now)
		if said := ask(t, served(w, streams, now), "/api/v1/statement?stream="+s.Name); !strings.Contains(said,
			"Running total today costs one person ε 0.5 in each hour, over all windows together.") {
			t.Errorf("%s", said)
		}
		if said := ask(t, served(w, streams, now), "/api/v1/streams"); !strings.Contains(said,
			`"total":{"since":"hour","zone":"UTC","update_seconds":120,"max_total":null}`) {
			t.Errorf("%s", said)
		}
	}
}

// hoursOf serves a stream with a total of users that grows from 10 to 600 within an hour, twice. All figures have the
// quality.
func hoursOf(quality string) func(t *testing.T) http.Handler {
	return func(t *testing.T) http.Handler { return twoHours(t, quality) }
}

func twoHours(t *testing.T, quality string) http.Handler {
	a := newAct(t, 1, ample, recent(120))
	before, after, _ := strings.Cut(services(1, ample), "    releases:\n")
	_, after, _ = strings.Cut(after, "    output:")
	a.streams = parsed(t, before+"    releases: [{name: today, statistic: count, since: hour, epsilon: 0.5}]\n"+
		"    output:"+after)
	for window := range 120 {
		a.instance("checkout-latency", "eu", "today", window, func(r map[string]any) {
			r["statistic"], r["mechanism"], r["unit"], r["epsilon"], r["quality"] = "count", "tree",
				"users", 0.5, quality
			value := 10 * (window%60 + 1)
			r["value"], r["error_95"] = value, 3
			r["low"], r["high"], r["level"], r["basis"] = value-3, value+3, 0.95, "noise"
			r["since"], r["final"] = a.end(window/60*60-1), window%60 == 59
		})
	}
	return a.handler()
}

// Each period of a total is a line of its own: nothing falls from the last value of one to the first of the next.
func TestPeriodsOfTotalsInBrowser(t *testing.T) {
	const view, plot = "#/s/checkout-latency/eu/today", `document.querySelector(".plot.counts").plot.redraw();`
	t.Run("solid", func(t *testing.T) {
		b, _ := picture{serve: hoursOf("useful"), view: view, ready: counted}.open(t)
		var drew struct{ Flat, Upright int }
		b.run(chromedp.Evaluate(`(() => {
			const { rect } = Path2D.prototype;
			window.drew = { flat: 0, upright: 0 };
			Path2D.prototype.rect = function (...at) { window.drew.flat += at[3] === 2; window.drew.upright += at[2] === 2 && at[3] > 2; return rect.apply(this, at); };
			`+plot+`
		})()`, nil), twoFrames, chromedp.Evaluate(`window.drew`, &drew))
		// a busy page may draw twice
		if drew.Flat == 0 || drew.Flat%120 != 0 || drew.Upright*120 != drew.Flat*118 {
			t.Errorf("%+v, want 120 values, and 59 pieces that join those of an hour", drew)
		}
	})
	t.Run("dashed", func(t *testing.T) {
		b, _ := picture{serve: hoursOf("rough"), view: view, ready: counted}.open(t)
		var drew struct{ MoveTo, LineTo int }
		b.run(chromedp.Evaluate(`(() => {
			window.drew = { moveTo: 0, lineTo: 0 };
			for (const name of ["moveTo", "lineTo"]) {
				const drawn = Path2D.prototype[name];
				Path2D.prototype[name] = function (...at) { window.drew[name]++; return drawn.apply(this, at); };
			}
			`+plot+`
		})()`, nil), twoFrames, chromedp.Evaluate(`window.drew`, &drew))
		if drew.MoveTo == 0 || drew.MoveTo%2 != 0 || drew.LineTo != 119*drew.MoveTo {
			t.Errorf("%+v, want 2 beginnings, and 119 pieces after each", drew)
		}
	})
}

// What a total is compared with was then as late in local time, also where days have 23, 24.5 or 25 hours, or no
// midnight. A month before is the same day of the month.
func TestLocalTimesOfTotalsInBrowser(t *testing.T) {
	b, _ := picture{serve: hoursOf("useful"), view: "#/s/checkout-latency/eu/today", ready: counted}.open(t)
	const day, week, month = "{seconds: 86400}", "{seconds: 604800}", "{months: 1}"
	for _, c := range []struct{ zone, at, step, want string }{
		{"UTC", "2026-11-20T08:15:00Z", day, "2026-11-19T08:15:00Z"},
		{"Europe/Berlin", "2026-03-29T08:00:00Z", day, "2026-03-28T09:00:00Z"}, // 10:00 on a day of 23 hours
		{"Europe/Berlin", "2026-03-29T01:00:00Z", day, "2026-03-28T01:00:00Z"}, // the window until 02:00
		{"Europe/Berlin", "2026-03-29T22:00:00Z", day, "2026-03-28T23:00:00Z"}, // the end of the day
		{"Europe/Berlin", "2026-03-30T08:00:00Z", day, "2026-03-29T08:00:00Z"},
		{"Europe/Berlin", "2026-10-25T09:00:00Z", day, "2026-10-24T08:00:00Z"}, // 25 hours
		{"Europe/Berlin", "2026-10-27T09:00:00Z", week, "2026-10-20T08:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-05T00:00:00Z", day, "2026-04-03T23:30:00Z"}, // 24.5 hours
		// it begins at 01:00: then the day begins
		{"America/Sao_Paulo", "2018-11-04T03:00:00Z", day, "2018-11-03T03:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T15:00:00Z", day, "2018-11-03T16:00:00Z"},
		{"Asia/Kolkata", "2026-11-20T08:15:00Z", "{seconds: 3600}", "2026-11-20T07:15:00Z"},
		{"Europe/Berlin", "2026-11-20T11:00:00Z", month, "2026-10-20T10:00:00Z"},
		{"UTC", "2026-03-01T00:00:00Z", month, "2026-02-01T00:00:00Z"},
		{"UTC", "2026-03-31T08:00:00Z", month, ""},
	} {
		var got string
		b.run(chromedp.Evaluate(`import(new URL("totals.js", document.baseURI)).then(({ back }) => {
			const then = back(Date.parse("`+c.at+`") / 1000, `+c.step+`, "`+c.zone+`");
			return then === undefined ? "" : new Date(1000 * then).toISOString().replace(".000", "");
		})`, &got, awaited))
		if got != c.want {
			t.Errorf("%s in %s: %s before it was %q, want %q", c.at, c.zone, c.step, got, c.want)
		}
	}
}

// The line of the period before lies behind that of a total, below the same times, and the sentence beside it says what
// it was by then. An instance that began within its period is compared with nothing.
func TestPeriodsBeforeInBrowser(t *testing.T) {
	b, _ := picture{serve: hoursOf("useful"), view: "#/s/checkout-latency/eu/today", ready: counted}.open(t)
	var before struct {
		Name  string
		Steps [][]any
	}
	b.run(chromedp.Evaluate(`document.querySelector(".plot.counts").plot.lines[0].before`, &before))
	if before.Name != "an hour before" || len(before.Steps) != 60 {
		t.Errorf("the line %q has %d values; want the 60 of the hour before", before.Name, len(before.Steps))
	}
	for i, step := range before.Steps {
		if step[2] != float64(10*(i+1)) {
			t.Errorf("after %d minutes it was %v", i+1, step[2])
		}
	}
	b.shows(".readout .said", "an hour before by then 600 ± 3")
}
