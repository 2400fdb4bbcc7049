package web

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// quiet serves a service that nobody uses any more, for 160 of its 240 windows, and one that nobody uses in one of
// its regions.
func quiet(t *testing.T) http.Handler { return silenced(t, 240, 160).handler() }

func silenced(t *testing.T, windows, silent int) *act {
	a := newAct(t, 2, "{epsilon: 4000, per: 24h}", recent(windows))
	a.change = func(window int, e *ledger.Entry) {
		switch {
		case e.Stream == "checkout-latency" && window >= windows-silent:
			a.addSilences(e, 0, 1, 2)
		case e.Stream == "search-latency" && window >= windows-20:
			a.addSilences(e, 1)
		}
	}
	a.play(0, windows)
	return a
}

func (a *act) handler() http.Handler { return New(Config{Store: a.store, Streams: a.streams}) }

// hush takes everybody out of groups of an entry of services: counts are noise then, and figures follow from nobody.
func (a *act) addSilences(e *ledger.Entry, groups ...int) {
	for _, g := range groups {
		e.Groups[g].Users = new(int64(max(0, 60*a.noise.NormFloat64())))
		for i, r := range e.Releases {
			v := &e.Groups[g].Values[i]
			switch v.Quality = "noise"; r.Name {
			case "users":
				v.Value = new(decimal.NewFromInt(*e.Groups[g].Users))
			case "p50", "p90":
				v.Value, v.Smoothed = new(decimal.NewFromInt(int64(a.noise.IntN(60000)))), nil
			}
		}
	}
}

// A topic that falls silent: its cards stay, what was before stays to be seen, and the stream says since when.
func TestSilentStreamKeepsItsPast(t *testing.T) {
	const windows, silent = 240, 160 // cards show 60 windows, and details 120
	a := silenced(t, windows, silent)
	b := open(t, a, "#/")
	begin := a.end(windows - silent - 1)
	const said = "hardly anybody since %s"
	b.showsAt(".pill.warn", said, begin)
	b.shows("#state", "1 needs a look: 1 silent")
	b.until(`document.querySelectorAll(".card:not([hidden])").length === 6 && document.querySelectorAll(".card.silent").length === 4`)
	b.showsAt(".card.silent .value", said, begin)
	b.until(`document.querySelector(".pill.warn").title.includes("are within their noise")`)
	past := fmt.Sprintf(`((plot) => plot.start <= %d && plot.extras.silent === %d && plot.lines[0].figures.filter((f) => f.end <= %[2]d && f.quality === "useful").length >= 40)`,
		begin.Add(-time.Duration(silent/4)*time.Minute).Unix(), begin.Unix())
	b.until(past + `(document.querySelector(".card.silent .plot").plot)`)
	b.goTo("#/s/checkout-latency/us")
	b.showsAt(".pill.warn", said, begin)
	b.until(past + `(document.querySelector(".plot.large").plot)`)
	b.until(`[...document.querySelectorAll(".values li")].length === 4 && [...document.querySelectorAll(".values li")].every((e) => e.scrollWidth <= e.clientWidth)`)
	b.showsAt(".headline .error", " at %s", begin) // the last value stays
	b.goTo("#/s/search-latency/us")
	b.showsAt(".pill.warn", said, a.end(windows-21))
	b.goTo("#/s/search-latency/eu")
	b.shows(".pill.good", "normal")
}

// Of a stream that never had more users than its noise nothing more than that is said.
func TestStreamOfNoiseAlone(t *testing.T) {
	a := newAct(t, 1, "{epsilon: 4000, per: 24h}", recent(10))
	a.change = func(_ int, e *ledger.Entry) { a.addSilences(e, 0, 1, 2) }
	a.play(0, 10)
	b := open(t, a, "#/")
	b.shows(".pill.none", "too few users to say")
	b.shows("#state", "nothing needs a look")
}
