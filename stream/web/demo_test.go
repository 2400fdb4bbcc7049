package web

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// rehearsal is a demo that knows these windows, and makes up what it draws again.
type rehearsal struct{ windows []map[string]any }

func (r rehearsal) Known() any {
	return map[string]any{"windows": r.windows, "stream": "checkout-latency", "releases": []string{"p50", "users"},
		"epsilons": []float64{0.01, 0.1, 1, 10}, "window_epsilon": 0.15, "window_right_of_100": 54,
		"budget_right_of_100": 74, "users": 300_000, "speed": 720}
}

// Redraw returns figures of ten windows around 100, the closer the larger ε is.
func (r rehearsal) Redraw(release, epsilon string) (any, error) {
	e, err := strconv.ParseFloat(epsilon, 64)
	if err != nil || e <= 0 {
		return nil, errors.New("epsilon=0; want more")
	}
	figures := []map[string]any{}
	for i := range 10 {
		for g, group := range []string{"eu", "us", "ap"} {
			truth, off := 100*float64(g+1), 2/e
			end := recent(10).Add(time.Duration(i+1) * time.Minute)
			quality := "useful"
			if off > truth {
				quality = "noise"
			}
			figures = append(figures, map[string]any{"group": group, "window_start": end.Add(-time.Minute),
				"window_end": end, "value": math.Round(truth + off*math.Sin(float64(7*i+g))), "low": max(0, truth-off),
				"high": truth + off, "truth": truth, "quality": quality})
		}
	}
	return map[string]any{"stream": "checkout-latency", "release": release, "unit": "ms", "epsilon": e,
		"right_of_100": math.Ceil(100 / (1 + math.Exp(-e))), "figures": figures,
		"guesses": []map[string]any{{"window_start": recent(10), "window_end": recent(9), "others": 5000, "count": 5001,
			"called": true}}}, nil
}

// status returns the status of an answer.
func status(h http.Handler, path string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code
}

// Outside of a demo nobody draws the same windows twice, and nobody knows the truth: these addresses do not exist, and
// the page has no view of them.
func TestOnlyADemoKnowsTheTruth(t *testing.T) {
	a := played(t, 1, 30)
	ordinary := a.handler()
	demo := New(Config{Store: a.store, Streams: a.streams, Demo: rehearsal{}})
	for _, path := range []string{"/api/v1/demo", "/api/v1/demo/redraw?release=p50&epsilon=0.1",
		"/demo.js", "/demo.css"} {
		if code := status(ordinary, path); code != http.StatusNotFound {
			t.Errorf("%s without a demo: %d", path, code)
		}
		if code := status(demo, path); code != http.StatusOK {
			t.Errorf("%s of a demo: %d", path, code)
		}
	}
	for path := range endpoints(source{}, nil) {
		if len(path) >= 4 && path[:4] == "demo" {
			t.Errorf("%s is an endpoint without a demo", path)
		}
	}
	b := open(t, a, "#/demo") // an address that somebody kept from a demo
	b.until(`document.getElementById("to-demo").hidden && document.querySelector(".card .value")`)
}

// The slider draws bands and values for its ε, with what a guesser gets right; the same windows ask for guesses.
func TestEpsilonSlider(t *testing.T) {
	a := played(t, 1, 30)
	told := []map[string]any{}
	for i, robin := range []bool{false, true} {
		told = append(told, map[string]any{"stream": "checkout-latency", "window_end": a.end(28 + i),
			"truth": map[string]any{}, "incident": nil, "torn": false, "robin": robin})
	}
	s := &restartable{T: t, handler: New(Config{Store: a.store, Streams: a.streams, Demo: rehearsal{told}})}
	s.start()
	b := browse(t, s.address)
	b.run(chromedp.Navigate("http://" + s.address + "/"))
	b.complete()
	b.run(chromedp.Click("#to-demo"))
	b.shows(".odds", "at most 53 are right")
	b.shows(".tried .error", "(80–120)")
	slide := func(key string) { b.run(chromedp.Focus("#epsilon"), chromedp.KeyEvent(key)) }
	slide(kb.End)
	b.shows(".odds", "at most 100 are right")
	b.shows(".tried .error", "(99.8–100.2)")
	slide(kb.Home)
	b.shows(".odds", "at most 51 are right")
	b.shows(".tried .value", "too noisy to read")
	b.click("users")
	b.until(`document.querySelector(".tried .plot").plot.lines[0].name === "users"`)

	b.click("No")
	b.shows(".guess", "5,000 of them called. The count with this ε says 5,001.")
	b.shows(".guess", "Wrong: Robin called.")
	b.shows(".scores", "Whoever guesses best1 of 1 rightYou0 of 1 right")
	slide(kb.ArrowRight) // another ε, another score
	b.shows(".scores", "You"+"no guess yet")
	slide(kb.ArrowLeft)
	b.shows(".odds", "at most 51 are right")

	b.setAway(true) // a slide while the server is away changes nothing, and is no error
	s.stop()
	slide(kb.End)
	b.shows("#trouble", "connection is lost")
	b.shows(".odds", "at most 51 are right")
	s.start()
	b.until(`document.getElementById("trouble").hidden`)
	slide(kb.Home)
	slide(kb.End)
	b.shows(".odds", "at most 100 are right")
	b.setAway(false)
}

// A demo begins with one picture and the truth in it. Who switches the truth off does not see it again, also after the
// page is loaded anew. Other views do not have the picture.
func TestFirstScreenOfADemo(t *testing.T) {
	a := played(t, 1, 30)
	told := []map[string]any{}
	for i := range 30 {
		told = append(told, map[string]any{"stream": "checkout-latency", "window_end": a.end(i),
			"truth": map[string]any{"us/p50": 100}, "incident": "us", "torn": false, "robin": false})
	}
	b := visit(t, New(Config{Store: a.store, Streams: a.streams, Demo: rehearsal{told}}), "")
	b.shows(".first", "Of 100 guesses whether you were there, at most 54 are right.")
	b.shows(".first", "300,000 simulated users")
	const dots = `(({ extras, lines }) => extras.truth ? lines[0].figures.filter((f) => extras.truth(f) === 100).length : -1)` +
		`(document.querySelector(".first .plot").plot)`
	b.until(`document.querySelector(".first .plot").plot.lines[0]?.figures.length === 30 && ` + dots + ` === 30`)
	a.play(30, 31) // the picture goes on
	b.until(`document.querySelector(".first .plot").plot.lines[0].figures.length === 31`)
	b.run(chromedp.Click("#truth"))
	b.until(dots + " === -1")
	b.run(chromedp.Reload())
	b.complete()
	b.until(`document.querySelector(".first .plot").plot.lines[0]?.figures.length === 31 && ` + dots + ` === -1`)
	b.run(chromedp.Click("#truth"))
	b.until(dots + " === 30")
	b.run(chromedp.Click("#to-budget"))
	b.until(`document.querySelector(".first").hidden`)
	b.goTo("#/")
	b.until(`!document.querySelector(".first").hidden`)
}
