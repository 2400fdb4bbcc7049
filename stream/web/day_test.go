package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// minutely is an act of one stream with these releases, whose first window began so many minutes ago.
func minutely(t *testing.T, releases string, minutes int) *act {
	a := newAct(t, 1, ample, recent(minutes))
	before, after, _ := strings.Cut(services(1, ample), "    releases:\n")
	_, after, _ = strings.Cut(after, "    output:")
	before = strings.ReplaceAll(before, "2026-11-20T08:00:00Z", a.first.Format(time.RFC3339))
	a.streams = parsed(t, before+"    releases:\n"+releases+"    output:"+after)
	return a
}

// The quantiles of the users so far share a plot with a logarithmic axis, each with its line. Where one is noise, the
// plot says which. The heat map tells of the users so far. The first quantile stands for the stream.
func TestQuantilesSoFarShareAPlot(t *testing.T) {
	a := minutely(t, `      - {name: today, statistic: histogram, since: hour, buckets: {scale: 1}, epsilon: 0.5}
      - {name: p50, statistic: median, from: today}
      - {name: p99, statistic: quantile, p: 0.99, from: today}
      - {name: slow, statistic: share, above: 800, from: today}
`, 60)
	for window := range 60 {
		for name, value := range map[string]int{"p50": 100, "p99": 3000} {
			a.instance("checkout-latency", "eu", name, window, func(r map[string]any) {
				r["statistic"], r["mechanism"], r["unit"], r["epsilon"], r["from"] = "quantile", "tree", "ms", 0, "today"
				r["value"], r["low"], r["high"], r["basis"] = value, value/2, 2*value, "histogram"
				r["since"], r["final"], r["quality"] = a.end(-1), window == 59, "useful"
				if name == "p99" && window < 30 {
					r["quality"] = "noise"
				}
			})
		}
	}
	b := open(t, a, "#/s/checkout-latency/eu")
	b.until(`document.querySelector(".plot.large canvas")`)
	b.run(twoFrames) // all figures are there, and drawn with the next frame
	var plots []string
	b.run(chromedp.Evaluate(`[...document.querySelectorAll(".plot.large, .plot.counts")].filter(({ plot }) => plot.lines[0].figures.length > 0).map(({ plot }) => plot.lines.map((line) => line.name).join() + " " + plot.axis.map(Math.round).join())`, &plots))
	// The least end of a band is 50, the greatest 6,000, and a fifth of each is room.
	want(t, "plots", plots, []string{"p50,p99 42,7200,1"})
	said := b.written(`document.querySelector(".plot.large").plot.redraw()`)
	for _, text := range []string{"p99: too few users to say", "100", "5,000"} {
		if !slices.Contains(said, text) {
			t.Errorf("the plot does not say %q: %q", text, said)
		}
	}
	b.shows(".heat .about", "Colour: the share of the users so far.")
	b.shows(".headline .name", "p50") // and not the number of users of the histogram
}

// The number of users active now stands beside that of a week ago, and says when noise alone hardly explains the
// difference. Where users may have been missing a week ago, there is nothing to compare with.
func TestActiveUsersAWeekAgo(t *testing.T) {
	const week = 7 * 24 * 60
	for name, c := range map[string]struct {
		before     int
		incomplete bool
		want       string
	}{
		"about the same": {before: 148, want: "seen in the last 15m, a week ago 148 ± 3"},
		"fewer": {before: 100,
			want: "seen in the last 15m, a week ago 100 ± 3 (noise alone makes such a difference in fewer than 1 of 1,000 cases)"},
		"incomplete": {before: 100, incomplete: true, want: "seen in the last 15m"},
	} {
		t.Run(name, func(t *testing.T) {
			a := minutely(t, "      - {name: now, statistic: count, active: 15m, epsilon: 0.5}\n", week+20)
			for window := range 20 {
				for at, value := range map[int]int{window: c.before, week + window: 150} {
					a.instance("checkout-latency", "eu", "now", at, func(r map[string]any) {
						r["statistic"], r["mechanism"], r["unit"], r["active"] = "count", "centred", "users", "15m"
						r["value"], r["low"], r["high"], r["level"], r["basis"] = value, value-3, value+3, 0.95, "noise"
						r["incomplete"] = c.incomplete && at < week
					})
				}
			}
			b := open(t, a, "#/s/checkout-latency/eu")
			b.until(fmt.Sprintf(`document.querySelector(".readout .said")?.textContent === %q`, c.want))
		})
	}
}

// hourly serves a stream of minutes with sums over the newest five.
func hourly(t *testing.T, minutes int) *act {
	a := minutely(t, `      - {name: latency, statistic: histogram, buckets: {scale: 1}, last: [5m], epsilon: 0.5}
`, minutes)
	for window := range minutes {
		for _, name := range []string{"latency", "latency.last_5m"} {
			a.instance("checkout-latency", "eu", name, window, func(r map[string]any) {
				r["statistic"], r["mechanism"], r["unit"], r["epsilon"] = "histogram", "histogram", "users", 0.5
				r["value"], r["low"], r["high"], r["basis"] = 100, 90, 110, "noise"
				if name != "latency" {
					r["window_start"], r["epsilon"], r["value"] = a.end(window-5), 0, 500
				}
			})
		}
	}
	return a
}

// Figures over the newest time stand beside those of the window that they end with, also in a range that begins after
// them, and arrows go from window to window.
func TestNewestTimeInBrowser(t *testing.T) {
	a := hourly(t, 30)
	from := a.end(26).Format(time.RFC3339)
	b := open(t, a, "#/s/checkout-latency/eu?from="+from)
	b.run(twoFrames) // all figures are there, and shown with the next frame
	shown := func() string {
		var text string
		b.run(chromedp.Evaluate(`[...document.querySelectorAll(".headline .number, .values .number")].map((e) => e.textContent).join()`, &text))
		return text
	}
	if got := shown(); got != "100 users,500 users" {
		t.Errorf("beside the newest window stands %q", got)
	}
	when := func() string {
		var text string
		b.run(chromedp.Evaluate(`document.querySelector(".when").title`, &text))
		return text
	}
	window := func(i int) string {
		return a.end(i-1).Format(time.RFC3339) + " – " + a.end(i).Format(time.RFC3339)
	}
	for _, i := range []int{28, 27, 27} {
		b.key("ArrowLeft", false)
		if got := when(); got != window(i) || shown() != "100 users,500 users" {
			t.Errorf("an arrow went to %s with %s, want %s", got, shown(), window(i))
		}
	}
	b.key("ArrowRight", false)
	if got := when(); got != window(28) {
		t.Errorf("an arrow went to %s, want %s", got, window(28))
	}
}
