package demo

import (
	"context"
	"encoding/json"
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

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestPictures takes the README's pictures of the page from a running demo, once an incident has been seen: make
// pictures.
func TestPictures(t *testing.T) {
	directory := os.Getenv("LOUVER_PICTURES")
	if directory == "" {
		t.Skip("LOUVER_PICTURES names no directory for the README's pictures: make pictures takes them")
	}
	demo, ctx := errgroup.WithContext(t.Context())
	display := unseen{make(chan []string, 1)}
	c := &Command{HTTPSettings: cli.HTTPSettings{HTTPAddr: "127.0.0.1:0"},
		MetricsSettings: cli.MetricsSettings{MetricsAddr: "127.0.0.1:0"},
		ServiceSettings: cli.ServiceSettings{ShutdownTimeout: time.Minute, BagBytes: stream.DefaultBagBytes,
			CheckpointEvery: 1000}}
	demo.Go(func() error { return c.play(ctx, "", newSimulation(2*time.Minute), display, zap.NewNop()) })
	page := "http://" + kafkatest.Receive(t, "the demo serves its page", display.addresses)[0]

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	browser, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	browser, cancel = chromedp.NewContext(browser)
	defer cancel()
	painted := chromedp.Evaluate("new Promise((done) => setTimeout(done, 500))", nil,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })
	take := func(name, view string, height int64, actions ...chromedp.Action) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
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
	slow := firing{}
	// a course to look at, and then an incident in it
	enough, tick := time.Now().Add(5*time.Minute), time.NewTicker(time.Second)
	defer tick.Stop()
	for ended := time.Duration(0); slow.Group == "" || time.Now().Before(enough) ||
		ended < 20*time.Second; ended = time.Since(slow.Since) {
		select {
		case <-tick.C:
			slow = fired(ctx, page)
		case <-ctx.Done():
			t.Fatal("the demo has ended")
		}
	}
	take("overview", "#/", 760, chromedp.WaitVisible(".card .value"))
	take("compare", "#/s/"+slow.Stream+"/"+slow.Group+"/p50", 900, chromedp.WaitVisible(".windows .pick"),
		chromedp.Click(".windows tbody tr:nth-child(2) .pick"), chromedp.Click(".windows tbody tr:nth-child(12) .pick"),
		chromedp.WaitVisible(".comparison li"), chromedp.Evaluate("scrollTo(0, 0)", nil))
	take("budget", "#/budget", 560, chromedp.WaitVisible(".budget"))
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
