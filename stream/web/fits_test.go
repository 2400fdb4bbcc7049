package web

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Nothing is wider than the screen, from a phone to a wall, and axe-core, which looks for what keeps people with
// disabilities out, finds nothing. Both look at a page that is opened once.
func TestPagesFitAndAreAccessible(t *testing.T) {
	axe := axeCore(t)
	for _, p := range pictures {
		if !slices.Contains(telling, p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			b, _ := p.open(t)
			b.fits(t)
			t.Run("accessible", func(t *testing.T) {
				if axe == "" {
					t.Skip("LOUVER_TEST_AXE names no axe.min.js; .ci/run gets it from npm")
				}
				b.accessible(t, axe)
			})
		})
	}
}

// axeCore is its source, or nothing where the environment names none.
func axeCore(t *testing.T) string {
	path := os.Getenv("LOUVER_TEST_AXE")
	if path == "" {
		return ""
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(axe)
}

// fits fails the test if something is wider than the screen. A line that is too wide must be noticed.
func (b *tab) fits(t *testing.T) {
	const tooWide = `[...document.querySelectorAll("body *")].filter((e) => {
		if (!e.checkVisibility() || e.closest(".scroll, .choice, .unseen, .skip, .plot, .brand")) return false;
		return e.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5 || e.matches(".readout") && e.scrollWidth > e.clientWidth;
	}).map((e) => e.outerHTML.slice(0, 120))`
	var wide []string
	for _, width := range []int64{360, 3840} {
		b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, width < 500), twoFrames,
			chromedp.Evaluate(tooWide, &wide))
		if len(wide) > 0 {
			t.Errorf("at %d px: too wide: %q", width, wide)
		}
	}
	const line = `(() => {
		const hr = document.querySelector("main").appendChild(document.createElement("hr"));
		hr.style.width = "4000px";
	})()`
	b.run(chromedp.Evaluate(line, nil), chromedp.Evaluate(tooWide, &wide))
	if len(wide) == 0 {
		t.Error("a line of 4,000 px is not too wide")
	}
	b.run(chromedp.Evaluate(`document.querySelector("hr").remove()`, nil), emulation.ClearDeviceMetricsOverride(),
		twoFrames)
}

// accessible fails the test if axe-core finds something. The themes differ in their colours alone, so only those are
// looked at in both. A picture without a description must be found.
func (b *tab) accessible(t *testing.T, axe string) {
	const found = `axe.run(%s).then((r) => r.violations.map((v) =>
		v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")))`
	b.run(chromedp.Evaluate(axe+";0", nil))
	const colours = `{ runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } }`
	for theme, rules := range map[string]string{"light": "", "dark": colours} {
		var faults []string
		b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}), twoFrames,
			chromedp.Evaluate(fmt.Sprintf(found, rules), &faults, awaited))
		for _, f := range faults {
			t.Errorf("%s: %s", theme, f)
		}
	}
	var seen bool
	b.run(chromedp.Evaluate(`document.querySelector("main").append(new Image()),
		axe.run({ runOnly: { type: "rule", values: ["image-alt"] } }).then((r) => r.violations.length === 1)`, &seen, awaited))
	if !seen {
		t.Error("a picture without a description is not found")
	}
}
