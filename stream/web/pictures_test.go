package web

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// picture is a view of the page that somebody should look at.
type picture struct {
	name string
	// serve makes the server that the page comes from.
	serve func(t *testing.T) http.Handler
	// view is the part of the address behind the page, and ready what it shows when it is complete.
	view, ready string
	// away stops the server before the picture is taken.
	away bool
	// do, if not nil, happens on the complete page, and each before every picture.
	do, each func(b *tab)
}

// open opens the picture's view, and returns what stops its server.
func (p picture) open(t *testing.T) (b *tab, stop func()) {
	t.Helper()
	s := &restartable{T: t, handler: p.serve(t)}
	s.start()
	b = browse(t, s.address)
	b.setAway(p.away)
	b.run(chromedp.Navigate("http://" + s.address + "/" + p.view))
	b.until(p.ready)
	b.complete()
	if p.do != nil {
		p.do(b)
	}
	return b, s.stop
}

const (
	card        = `document.querySelectorAll(".card .value").length > 0`
	silentCards = `document.querySelectorAll(".card.silent").length === 4`
	counted     = `document.querySelector(".windows td") && document.querySelector(".plot.counts canvas")`
	table       = `document.querySelector(".windows td") && document.querySelector(".plot.large canvas")`
)

// twoFrames waits until what has changed is painted.
var twoFrames = chromedp.Evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
	nil, awaited)

// recent is the start of a window so many minutes ago.
func recent(minutes int) time.Time {
	return time.Now().UTC().Truncate(time.Minute).Add(-time.Duration(minutes) * time.Minute)
}

// overview serves n services that have run for two hours.
func overview(n int) func(t *testing.T) http.Handler {
	return func(t *testing.T) http.Handler {
		a := newAct(t, n, ample, recent(120))
		a.play(0, 120)
		return a.handler()
	}
}

// crowd serves six services in seven regions, five of which have few users: their figures are noise in some of the
// services.
func crowd(t *testing.T) http.Handler {
	a := newAct(t, 6, ample, recent(120))
	a.streams = parsed(t, regions(6, ample))
	a.change = func(window int, e *ledger.Entry) {
		for g := range e.Groups {
			if few := g >= 2; few && (e.Stream == "search-latency" || e.Stream == "login-time" ||
				e.Stream == "upload-size") {
				e.Groups[g].Users = new(int64(100 * g))
				for i := range 2 {
					e.Groups[g].Values[i].Quality = "noise"
					e.Groups[g].Values[i].Value = new(decimal.NewFromInt(int64((window*7919 + g*104729) % 60000)))
				}
			}
		}
	}
	a.play(0, 120)
	return a.handler()
}

// troubles serves a service with a gap, a window that lost input, an incident and groups with few users.
func troubles(t *testing.T) http.Handler {
	a := newAct(t, 2, ample, recent(120))
	slow := func(window int) bool { return window >= 88 && window < 97 }
	a.change = func(window int, e *ledger.Entry) {
		switch {
		case e.Stream != "checkout-latency":
		case window >= 60 && window < 66 || window == 104:
			for g := range e.Groups {
				countedAs(e, g, 12)
			}
			e.WithholdBelow("users", 50)
		case window >= 40 && window < 43:
			e.Incomplete = true
		case slow(window):
			for i := range 2 {
				v := &e.Groups[0].Values[i]
				for _, d := range []*decimal.Decimal{v.Value, &v.Smoothed.Value, v.Band.Low, v.Band.High} {
					*d = d.Mul(decimal.NewFromInt(3))
				}
			}
			countedAs(e, 0, 2600)
		}
		if e.Stream == "checkout-latency" && window > 100 {
			for i := range 2 {
				e.Groups[2].Values[i].Quality = "noise"
				e.Groups[1].Values[i].Quality = "rough"
			}
		}
	}
	a.play(0, 120)
	told := []map[string]any{}
	for window := range 120 {
		w := map[string]any{"stream": "checkout-latency",
			"window_end": a.first.Add(time.Duration(window+1) * time.Minute), "truth": map[string]any{},
			"incident": nil, "torn": false, "robin": window%2 == 0}
		if slow(window) {
			w["incident"] = "eu"
		}
		told = append(told, w)
	}
	return New(Config{Store: a.store, Streams: a.streams, Demo: rehearsal{windows: told}})
}

// mixed serves a service whose figures are all noise, one whose newest windows are withheld for two reasons, one whose
// figures are rough at times, and one that has just begun. Another one has not published anything.
func mixed(t *testing.T) http.Handler {
	a := newAct(t, 5, ample, recent(120))
	a.change = func(window int, e *ledger.Entry) {
		for g := range e.Groups {
			values := e.Groups[g].Values
			switch {
			case e.Stream == "search-latency":
				e.Groups[g].Users = new(int64(200))
				for i := range values {
					values[i].Quality = "noise"
				}
			case e.Stream == "basket-size" && window >= 110:
				countedAs(e, g, 12)
			case e.Stream == "login-time" && (window/7)%2 == 0:
				values[0].Quality = "rough"
			}
		}
		if e.Stream == "basket-size" && window >= 110 {
			e.WithholdBelow("users", 50)
		}
	}
	a.streams = a.streams[:4]
	a.play(0, 117)
	for window := 102; window < 110; window++ { // before the users became too few
		for _, group := range []string{"eu", "us", "ap"} {
			a.instance("basket-size", group, "p50", window, func(r map[string]any) {
				r["value"], r["status"], r["reason"], r["quality"] = nil, "withheld", "budget_exhausted", nil
			})
		}
	}
	young := newAct(t, 5, ample, a.first)
	young.world, young.streams = a.world, young.streams[4:]
	a.play(117, 120)
	young.play(117, 120)
	return New(Config{Store: a.store, Streams: parsed(t, services(6, ample))})
}

// twoWatches are the watches of a service, in the streams file.
const twoWatches = `
    watches:
      - {name: fire, above: 800, more_than: 0.2, epsilon: 1, false_alarms: {at_most: 0.01, per: 30d}, hold: 19m, at_most: 4}
      - {name: gone, users_below: 500, epsilon: 1, false_alarms: {at_most: 0.01, per: 30d}, hold: 19m, at_most: 4}
    output: {topic: out}
`

// watchedServices is a streams file of n services, of which the first has two watches.
func watchedServices(n int) string {
	return strings.Replace(services(n, ample), "    output: {topic: out}\n", twoWatches, 1)
}

// alarms serves a service with two watches. One has fired twice, and waits now; the other fires.
func alarms(t *testing.T) http.Handler {
	a := newAct(t, 2, ample, recent(120))
	a.streams = parsed(t, watchedServices(2))
	a.play(0, 120)
	for window := range 120 {
		for _, group := range []string{"eu", "us", "ap"} {
			reason, since := "", -1
			switch {
			case group != "eu" && window >= 41 && window < 60, group != "us" && window >= 113:
				reason = "not_armed"
			case group == "eu" && window >= 40 && window < 60:
				since = 40
			case group == "us" && window >= 112:
				since = 112
			}
			a.watch("checkout-latency", group, "fire", window, reason, since)
			since = -1
			if group == "eu" && window == 119 {
				since = 119
			}
			a.watch("checkout-latency", group, "gone", window, "", since)
		}
	}
	return a.handler()
}

// steady serves a service in which a user counts in few windows, with a figure on change that can be paid for at nearly
// all times.
func steady(t *testing.T) http.Handler {
	a := newAct(t, 2, ample, recent(120))
	a.streams = parsed(t, strings.Replace(services(2, ample), "    output: {topic: out}\n", `
      - {name: calm, statistic: median, epsilon: 0.1, publish: on_change, tolerance: 0.03, watch_epsilon: 0.05, at_most: 24}
    max_windows: {count: 8, per: 24h}
    output: {topic: out}
`, 1))
	a.play(0, 120)
	for g, group := range []string{"eu", "us", "ap"} {
		drawn := 0
		for window := range 120 {
			reason := ""
			switch {
			case window > 60 && window < 66:
				reason = "budget_exhausted"
			case slices.Contains([]int{20 + 5*g, 48, 66, 94 + 3*g}, window):
				drawn = window
			}
			level := 60 * (1 + 0.4*float64(g)) * (1 + 0.15*math.Sin(float64(drawn)/40))
			a.held("checkout-latency", group, "calm", window, math.Round(level), drawn, reason)
		}
	}
	return a.handler()
}

// spent serves a budget that is exhausted, one that will be, and one that lasts.
func spent(t *testing.T) http.Handler {
	first := recent(120)
	var store *Store
	c := Config{}
	for i, budget := range []string{"{epsilon: 12, per: 3h}", "{epsilon: 20, per: 24h}", ample} {
		a := newAct(t, i+1, budget, first)
		a.streams = a.streams[i:]
		if store != nil {
			a.store = store
		}
		store = a.store
		a.play(0, 120)
		c.Streams = append(c.Streams, a.streams...)
	}
	c.Store = store
	return New(c)
}

var pictures = []picture{
	{name: "overview-1", serve: overview(1), view: "#/", ready: card},
	{name: "overview-6", serve: overview(6), view: "#/", ready: card},
	{name: "overview-12", serve: overview(12), view: "#/", ready: card},
	{name: "overview-60", serve: overview(60), view: "#/", ready: card},
	{name: "overview-troubles", serve: troubles, view: "#/", ready: card},
	{name: "detail-gap", serve: troubles, view: "#/s/checkout-latency/eu", ready: table,
		each: func(b *tab) { b.point(0.52) }},
	{name: "detail-incident", serve: troubles, view: "#/s/checkout-latency/eu", ready: table,
		do: func(b *tab) { b.run(chromedp.Click("#truth")) }},
	{name: "detail-smoothed", serve: troubles, view: "#/s/checkout-latency/eu?smoothed=1", ready: table},
	{name: "detail-compare", serve: troubles, view: "#/s/checkout-latency/eu", ready: table, do: func(b *tab) {
		b.run(chromedp.Click(".bar > button"))
		b.drag(".plot.large", 0.1, 0.3)
		b.drag(".plot.large", 0.75, 0.8)
		b.until(`document.querySelectorAll(".comparison li").length === 5`)
	}},
	{name: "detail-noise", serve: troubles, view: "#/s/checkout-latency/ap", ready: table},
	{name: "detail-one", serve: troubles, view: "#/s/checkout-latency/eu/p50", ready: table},
	{name: "detail-mode", serve: troubles, view: "#/s/checkout-latency/us/top", ready: table},
	{name: "detail-alarm-of-others", serve: alarms, view: "#/s/checkout-latency/ap", ready: table},
	{name: "overview-alarm", serve: alarms, view: "#/", ready: card},
	{name: "detail-alarm", serve: alarms, view: "#/s/checkout-latency/eu", ready: table},
	{name: "overview-change", serve: steady, view: "#/", ready: card,
		do: func(b *tab) { b.click("calm") }},
	{name: "detail-change", serve: steady, view: "#/s/checkout-latency/eu", ready: table,
		each: func(b *tab) { b.point(20.5 / 120) }},
	{name: "detail-change-one", serve: steady, view: "#/s/checkout-latency/us/calm", ready: table},
	{name: "budget-capped", serve: steady, view: "#/budget",
		ready: `document.querySelectorAll(".losses .panel").length === 2`, do: func(b *tab) {
			b.run(chromedp.Click("summary"))
		}},
	{name: "budget", serve: spent, view: "#/budget",
		ready: `document.querySelectorAll(".budget").length === 3 && document.querySelector("summary")`,
		do: func(b *tab) {
			b.run(chromedp.Click("summary"))
		}},
	{name: "statement", serve: steady, view: "api/v1/statement",
		ready: `document.querySelectorAll("section").length === 2`},
	{name: "overview-6x7", serve: crowd, view: "#/", ready: card},
	{name: "overview-silent", serve: quiet, view: "#/", ready: silentCards},
	{name: "detail-silent", serve: quiet, view: "#/s/checkout-latency/us", ready: table},
	{name: "overview-mixed", serve: mixed, view: "#/", ready: card},
	{name: "demo", serve: troubles, view: "#/demo", ready: `document.querySelector(".tried .value")`, do: func(b *tab) {
		b.click("Yes")
	}},
	{name: "detail-reasons", serve: mixed, view: "#/s/basket-size/eu/p50", ready: table},
	{name: "disconnected", serve: overview(1), view: "#/", ready: card, away: true},
	{name: "empty", serve: func(t *testing.T) http.Handler { return New(Config{Store: newWorld(t, 1).store}) },
		view:  "#/",
		ready: `document.querySelector(".empty h2")`},
	{name: "waiting", serve: func(t *testing.T) http.Handler {
		a := newAct(t, 1, ample, recent(0))
		return a.handler()
	}, view: "#/", ready: `document.querySelector(".card")`},
	{name: "total", serve: hoursOf("useful"), view: "#/s/checkout-latency/eu/today", ready: counted},
}

// telling names the pictures that differ in what they consist of.
var telling = []string{"overview-6", "overview-12", "overview-alarm", "detail-gap", "detail-incident", "detail-compare",
	"detail-alarm", "detail-change", "budget-capped", "budget", "empty", "statement", "demo", "overview-mixed"}

// Pictures of all views, for people to look at: on a phone, a desk and a wall, in both themes.
func TestPictures(t *testing.T) {
	directory := os.Getenv("LOUVER_TEST_PICTURES")
	if directory == "" {
		t.Skip("LOUVER_TEST_PICTURES names no directory for pictures of the page")
	}
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // not secret
		t.Fatal(err)
	}
	for _, p := range pictures {
		t.Run(p.name, func(t *testing.T) {
			b, stop := p.open(t)
			if p.away {
				stop()
				b.shows("#trouble", "connection is lost")
			}
			for _, theme := range []string{"light", "dark"} {
				b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
					Value: theme}}))
				for width, height := range map[int64]int64{360: 740, 1280: 800, 2560: 1440} {
					var png []byte
					b.run(emulation.SetDeviceMetricsOverride(width, height, 1, width < 500), twoFrames)
					if p.each != nil {
						p.each(b)
					}
					b.run(twoFrames, chromedp.CaptureScreenshot(&png))
					//nolint:gosec // not secret
					if err := os.WriteFile(filepath.Join(directory, fmt.Sprintf("%s-%d-%s.png", p.name, width, theme)),
						png, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
