package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
)

// edited is a streams file that a test edits, and what is logged meanwhile.
type edited struct {
	path string
	read *config.File // as it was at first
	log  *zap.Logger
	logs *observer.ObservedLogs
}

func newEdited(t *testing.T, text string) *edited {
	t.Helper()
	e := &edited{path: filepath.Join(t.TempDir(), "streams.yaml")}
	e.write(t, text)
	var err error
	if e.read, err = cli.LoadStreams(e.path); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	e.log, e.logs = zap.New(core), logs
	return e
}

// write replaces the file. Without a text it is gone.
func (e *edited) write(t *testing.T, text string) {
	t.Helper()
	_ = os.Remove(e.path) // it may be gone already
	if text == "" {
		return
	}
	if err := os.WriteFile(e.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lines are what was logged, with the level.
func (e *edited) lines() (all []string) {
	for _, line := range e.logs.All() {
		all = append(all, line.Level.CapitalString()+" "+line.Message)
	}
	return all
}

// TestEditsAreTold edits the streams file under a process, as editors and Kubernetes do.
func TestEditsAreTold(t *testing.T) {
	const text = `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 1s, start: 2026-01-01T00:00:00Z}
    releases:
      - {name: users, statistic: count, epsilon: 1}
      - {name: all, statistic: histogram, buckets: [5], epsilon: 1}
      - {name: high, statistic: share, above: 5, from: all, objective: 0.9}
    output: {topic: out}
    budget: {epsilon: 1000, per: 24h}
`
	edited := strings.Replace(text, "epsilon: 1}", "epsilon: 2}", 1)
	hangups := make(chan os.Signal)
	objective := strings.Replace(text, "objective: 0.9", "objective: 0.99", 1)
	const change = "WARN the streams files have changed since this process read them: send it SIGHUP, or restart it, " +
		"so that the change takes effect"
	const lost = "WARN the streams files can no longer be used: this process goes on, but could not start again"
	const again = "INFO the streams files are again those that this process has read"
	for name, c := range map[string]struct {
		looks []string // what the file holds at each look; empty: it is gone
		want  []string
	}{
		"nothing":                    {[]string{text, text}, nil},
		"a comment":                  {[]string{"# a comment\n" + text}, nil},
		"an edit":                    {[]string{edited, edited, edited}, []string{change}},
		"an edit that is taken back": {[]string{edited, text, text}, []string{change, again}},
		"an objective":               {[]string{objective}, []string{change}},
		"a revision":                 {[]string{"revision: 1\n" + text}, []string{change}},
		"half of it for a moment":    {[]string{text[:100], text}, nil},
		"half of it":                 {[]string{text[:100], text[:100], text[:100]}, []string{lost}},
		"gone for a moment":          {[]string{"", edited}, []string{change}},
		"gone, and back":             {[]string{"", "", "", text}, []string{lost, again}},
		"an edit that is then damaged": {[]string{edited, text[:100], text[:100], edited},
			[]string{change, lost, change}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdited(t, text)
				go tellEdits(t.Context(), e.path, e.read, hangups, e.log)
				synctest.Wait()
				for _, text := range c.looks {
					e.write(t, text)
					time.Sleep(lookAtFiles)
					synctest.Wait()
				}
				if diff := cmp.Diff(c.want, e.lines()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	t.Run("under nohup", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newEdited(t, text)
			go tellEdits(t.Context(), e.path, e.read, nil, e.log)
			e.write(t, edited)
			time.Sleep(lookAtFiles)
			synctest.Wait()
			if diff := cmp.Diff([]string{"WARN the streams files have changed since this process read them: restart it, so " +
				"that the change takes effect; it ignores SIGHUP, as under nohup"}, e.lines()); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// TestReload sends SIGHUP after edits of the streams file.
func TestReload(t *testing.T) {
	const text = `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 1s, start: 2026-01-01T00:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 1000, per: 24h}
`
	edited := strings.Replace(text, "epsilon: 1}", "epsilon: 2}", 1)
	refused := strings.Replace(text, "epsilon: 1}", "epsilon: 3}", 1) // by serve, below
	const begins = "INFO the streams files have changed: louver begins again with them"
	for name, c := range map[string]struct {
		edits []string // what the file holds at each SIGHUP
		serve []string // the prices of count with which the work began, one after another
		logs  []string
	}{
		"the same": {[]string{text, "# a comment\n" + text}, []string{"1"}, []string{
			"INFO the streams files are those that this process has read: nothing changes",
			"INFO the streams files are those that this process has read: nothing changes"}},
		"an edit, taken back": {[]string{edited, text}, []string{"1", "2", "1"}, []string{begins, begins}},
		"a broken file": {[]string{text[:100], edited}, []string{"1", "2"}, []string{
			"ERROR the streams files cannot be used: this process goes on with those that it has read", begins}},
		"a refused file": {[]string{edited, refused, text}, []string{"1", "2", "3", "2", "1"}, []string{begins, begins,
			"ERROR the streams files cannot take effect: this process goes on with those before", begins}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdited(t, text)
				var served []string
				ctx, stop := context.WithCancel(t.Context())
				again, done := make(chan os.Signal), make(chan error, 1)
				go func() {
					done <- reload(ctx, again, e.path, e.read, e.log, func(ctx context.Context, f *config.File) error {
						epsilon := config.All[*config.Release](f.Streams[0])[0].Query.Epsilon.String()
						if served = append(served, epsilon); epsilon == "3" {
							return fmt.Errorf("%w: there is a reason", control.ErrRefused)
						}
						<-ctx.Done()
						return nil
					})
				}()
				for _, edit := range c.edits {
					e.write(t, edit)
					again <- syscall.SIGHUP
					synctest.Wait()
				}
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(c.serve, served); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(c.logs, e.lines()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestReloadEnds: what ends the work for another reason ends the process, also when it is refused at its first start.
func TestReloadEnds(t *testing.T) {
	for _, want := range []error{nil, errors.New("the disk is full"), control.ErrRefused} {
		got := reload(t.Context(), nil, "none.yaml", &config.File{}, zap.NewNop(),
			func(context.Context, *config.File) error { return want })
		if !errors.Is(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
	}
}
