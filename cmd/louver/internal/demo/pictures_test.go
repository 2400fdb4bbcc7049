package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/simulate"
)

// TestPictures takes the README's pictures of the page from a running demo: make pictures. One moves: it begins before
// an incident and ends after it. The others are taken while an alarm fires.
func TestPictures(t *testing.T) {
	directory := os.Getenv("LOUVER_PICTURES")
	if directory == "" {
		t.Skip("LOUVER_PICTURES names no directory for the README's pictures: make pictures takes them")
	}
	demo, ctx := errgroup.WithContext(t.Context())
	display := unseen{make(chan []string, 1)}
	scene := eventful()
	demo.Go(func() error { return command(anywhere, anywhere).play(ctx, "", scene, display, zap.NewNop()) })
	page := "http://" + kafkatest.Receive(t, "the demo serves its page", display.addresses)[0]

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	browser, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	browser, cancel = chromedp.NewContext(browser)
	defer cancel()
	painted := chromedp.Evaluate("new Promise((done) => setTimeout(done, 500))", nil,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })
	both := []string{"light", "dark"}
	take := func(themes []string, name, view string, height int64, actions ...chromedp.Action) {
		t.Helper()
		for _, theme := range themes {
			var png []byte
			media := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
				Value: theme}})
			all := append([]chromedp.Action{media, emulation.SetDeviceMetricsOverride(1120, height, 1.25, false),
				chromedp.Navigate("about:blank"), chromedp.Navigate(page + "/" + view)}, actions...)
			all = append(all, painted, chromedp.CaptureScreenshot(&png))
			if err := chromedp.Run(browser, all...); err != nil {
				t.Fatal(err)
			}
			//nolint:gosec // not secret
			if err := os.WriteFile(filepath.Join(directory, name+"-"+theme+".png"), png, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	incident := scene.service.Incident(scene.begins)
	until(t, "the incident is near", func() bool { return scene.clock.time().After(incident.Start.Add(-2 * time.Hour)) })
	moving, err := film(browser, page, incident.End.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(moving) > mostMoving {
		t.Errorf("the moving picture has %d bytes, want at most %d", len(moving), mostMoving)
	}
	//nolint:gosec // not secret
	if err := os.WriteFile(filepath.Join(directory, "demo.gif"), moving, 0o644); err != nil {
		t.Fatal(err)
	}
	slow := firing{}
	until(t, "an alarm fires for a while", func() bool {
		slow = fired(ctx, page)
		return slow.Group != "" && slow.End.Sub(slow.Since) >= 75*time.Minute
	})
	take(both[:1], "overview", "#/", 760, chromedp.WaitVisible(".card .value"))
	take(both, "compare", "#/s/"+slow.Stream+"/"+slow.Group+"/p50", 900, chromedp.WaitVisible(".windows .pick"),
		picks(2), picks(12),
		chromedp.WaitVisible(".comparison li"), chromedp.Evaluate("scrollTo(0, 0)", nil))
	take(both, "budget", "#/budget", 560, chromedp.WaitVisible(".budget"))
}

// picks presses the button of a row of the table of windows. A click with the mouse would miss it where the comparison
// has just moved the table.
func picks(row int) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf(`document.querySelector(".windows tbody tr:nth-child(%d) .pick").click()`, row), nil)
}

// eventful is a demo whose day has its first incident early in the morning, in the region of the last one of the day
// before. So the picture of the first screen stays with that region. It is slow, because a browser takes its time.
func eventful() *simulation {
	s := newSimulation(16 * time.Minute)
	for seed := uint64(1); ; seed++ {
		tried := simulate.New(simulate.Day(seed))
		i := tried.Incident(s.begins)
		if begins := i.Start.Sub(s.begins); tried.Before(i).Region == i.Region && begins > 4*time.Hour &&
			begins < 5*time.Hour && i.End.Sub(i.Start) < 3*time.Hour {
			s.service = tried
			return s
		}
	}
}

// firing is a record of a watch that fires.
type firing struct {
	Stream, Group, Statistic string
	Value                    *float64
	Since                    time.Time
	End                      time.Time `json:"window_end"`
}

// fired is the newest record that says that a watch fires, if there is one.
func fired(ctx context.Context, page string) (newest firing) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page+"/api/v1/releases/latest", nil)
	if err != nil {
		return newest
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return newest
	}
	defer answer.Body.Close() //nolint:errcheck // it is read
	var found struct{ Releases []firing }
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		return newest
	}
	for _, r := range found.Releases {
		if r.Statistic == "watch" && r.Value != nil && *r.Value == 1 && r.End.After(newest.End) {
			newest = r
		}
	}
	return newest
}
