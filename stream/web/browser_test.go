package web

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// chromium is one browser for all tests: its start costs more than most of them.
var chromium struct {
	once  sync.Once
	ctx   context.Context // nil where there is no browser on this machine
	err   error
	close func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.close != nil {
		chromium.close()
	}
	os.Exit(code)
}

// startChromium starts the browser, if there is one. A browser without windows needs the least of the processor.
func startChromium() {
	found := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			found = path
			break
		}
	}
	if found == "" {
		return
	}
	// One process draws all pages, because the start of one costs more than most tests. None is started in advance, nor
	// are the pages that a new browser has for its address bar.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(found), chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("process-per-site", true),
		chromedp.Flag("renderer-process-limit", "1"), chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("disable-features", "site-per-process,Translate,BlinkGenPropertyTrees,"+
			"SpareRendererForSitePerProcess,WebUIOmniboxPopup,WebUIOmniboxAimPopup"))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	if chromium.err = chromedp.Run(ctx); chromium.err != nil {
		stop()
		return
	}
	chromium.ctx = ctx
	chromium.close = func() { _ = chromedp.Cancel(ctx); cancel(); stop() } // waits for the browser's end
}

// browse opens a tab that is thrown away with the test. It shares no cache, no storage and no connections with others,
// since each server has an address of its own. A test has one at a time: the others of a browser may rest while one is
// in front.
func browse(t *testing.T, host string) *tab {
	t.Helper()
	chromium.once.Do(startChromium)
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	if chromium.ctx == nil {
		t.Skip("there is no Chromium on this machine: install the package chromium-headless-shell, as .ci/run does")
	}
	browser := cdp.WithExecutor(chromium.ctx, chromedp.FromContext(chromium.ctx).Browser)
	page, err := target.CreateTarget("about:blank").Do(browser)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithTargetID(page))
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the page's end
		cancel()
	})
	b := &tab{T: t, ctx: ctx, host: host}
	t.Cleanup(b.clean)
	chromedp.ListenTarget(ctx, b.note)
	if err := chromedp.Run(ctx, log.Enable(), network.Enable(), emulation.SetTimezoneOverride("UTC")); err != nil {
		t.Fatal(err)
	}
	return b
}
