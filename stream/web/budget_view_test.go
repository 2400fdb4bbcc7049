package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The budget view begins with the budgets that withhold windows, and says what one person can lose in a window and in a
// day.
func TestBudgetView(t *testing.T) {
	b, _ := picture{serve: spent, view: "#/budget", ready: `document.querySelectorAll(".budget").length === 3`}.open(t)
	var names []string
	b.run(chromedp.Evaluate(`[...document.querySelectorAll(".budget h2")].map((e) => e.textContent)`, &names))
	want(t, "budgets", names, []string{"checkout-latency withholds windows", "search-latency will withhold windows",
		"basket-size pays every window"})
	b.shows(".loss", "One person loses at most ε 0.15 in a window, ε 96 in any 24 h.")
	b.shows(".budget p", "It pays for every window on schedule")
}

// A reader gets four digits of a loss, rounded up because it is a bound. The API has all of them.
func TestBudgetViewSaysFourDigits(t *testing.T) {
	a := newAct(t, 1, ample, recent(30))
	a.streams = parsed(t, strings.Replace(services(1, ample), "epsilon: 0.05",
		"epsilon: 0.0512345", 1))
	a.play(0, 30)
	b := open(t, a, "#/budget")
	b.shows(".amounts", "one person can have lost ε 4.538") // of 30 windows at 0.1512345 each
	b.shows(".loss", "One person loses at most ε 0.1513 in a window, ε 217.8 in any 24 h.")
	b.shows(".losses li", "ε 0.1513")
	var long []string
	b.run(chromedp.Evaluate(`document.querySelector("main").innerText.match(/ε \d+\.\d{5,}/g) ?? []`, &long))
	want(t, "losses with more digits", long, []string{})
	if exact := ask(t, a.handler(), "/api/v1/statement"); !strings.Contains(exact, "0.1512345") {
		t.Error("the API has lost digits of a loss: ", exact)
	}
	b.goTo("#/s/checkout-latency/eu")
	b.run(chromedp.Click(".readout summary"))
	b.shows(".readout .number", "0.05124")
}

// Nothing returns to a budget for ever, even if it pays every window and has none left.
func TestBudgetViewForEver(t *testing.T) {
	const limit = "{epsilon: 4.5, per: forever}"
	a := newAct(t, 1, limit, recent(30))
	a.streams = parsed(t, strings.Replace(services(1, limit), "start: 2026-11-20T08:00:00Z", "start: "+
		a.first.Format(time.RFC3339)+", end: "+a.first.Add(30*time.Minute).Format(time.RFC3339), 1))
	a.play(0, 30)
	b := open(t, a, "#/budget")
	b.shows(".amounts", "one person can have lost ε 4.5")
	b.shows(".amounts", "30 of 30 windows used")
	var said string
	b.run(chromedp.Evaluate(`document.querySelector(".budget").innerText`, &said))
	if !strings.Contains(said, "pays every window") || strings.Contains(said, "return") ||
		strings.Contains(said, "comes back") {
		t.Errorf("%s", said)
	}
}

// With a watch and a cap the view says what they do to a person's loss.
func TestBudgetViewOfWatches(t *testing.T) {
	a := newAct(t, 1, ample, recent(30))
	a.streams = parsed(t, services(1, ample)+`    max_windows: {count: 8, per: 24h}
    watches: [{name: fire, above: 2000, more_than: 0.01, epsilon: 0.5, false_alarms: {at_most: 0.05, per: 30d}, hold: 15m, at_most: 3}]
`)
	b := open(t, a, "#/budget")
	b.shows(".loss", "One person loses at most ε 0.3 by what they do in one window, ε ")
	b.shows(".loss", " in any 24 h with its watches.")
	b.shows(".losses li", "Watch fire costs one person ε 0.5 from arming to firing")
	b.run(chromedp.Click("summary"))
	b.shows("details dd", "8 windows count")
}

// Where a user's events make one contribution, the page and the budget's view say which, with its unit.
func TestViewsOfAdding(t *testing.T) {
	policies := []struct{ policy, choice, about string }{
		{"sum", "the sum of their values counts", "each user's sum from 0 to 60,000 requests"},
		{"mean", "the mean of their values counts", "each user's mean from 0 to 60,000 requests"},
		{"count", "the number of their events counts", "each user's count from 0 to 60,000 requests"},
		{"max", "the max value counts", "values from 0 to 60,000 requests"},
	}
	streams := strings.SplitAfter(services(len(policies), ample), "\n  - name: ") // the first part is the file's head
	for i, c := range policies {
		of := &streams[i+1]
		*of = strings.Replace(*of, "unit: ms", "unit: requests\n    contribution: "+c.policy, 1)
		if c.policy == "count" {
			*of = strings.Replace(*of, "value: v, ", "", 1)
		}
	}
	a := newAct(t, 1, ample, recent(30))
	a.streams = parsed(t, strings.Join(streams, ""))
	b := open(t, a, "#/budget")
	b.until(`document.querySelectorAll("summary").length === 4`)
	b.run(chromedp.Evaluate(`document.querySelectorAll("summary").forEach((e) => e.click())`, nil))
	for _, c := range policies {
		b.shows("details", c.choice)
	}
	for i, c := range policies {
		b.goTo("#/s/" + a.streams[i].Name + "/eu")
		b.shows("h1", a.streams[i].Name)
		b.shows(".detail .about", c.about)
	}
}
