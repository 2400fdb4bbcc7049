package service

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
)

// A process reads its streams files when it starts, and again on SIGHUP. Somebody who edits them under a running
// process and does neither would wait in vain, and learn only at the next start that they are broken. So the process
// looks at them now and then, and says what it sees. It changes nothing by itself.

// lookAtFiles is how often. A file that is being written may be broken for a moment, so that is told at the second
// look.
const lookAtFiles = time.Minute

// tellEdits logs once that the streams files are no longer those that were read, or cannot be read any more, and once
// that they are again. hangups is nil where the process ignores SIGHUP. It returns when ctx ends.
func tellEdits(ctx context.Context, pattern string, read *config.File, hangups <-chan os.Signal, log *zap.Logger) {
	const same, changed, broken = "same", "changed", "broken"
	told, failures := same, 0
	tick := time.NewTicker(lookAtFiles)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := cli.LoadStreams(pattern)
		state := same
		switch {
		case err != nil:
			if failures++; failures < 2 {
				continue
			}
			state = broken
		case !sameStreams(read, now):
			state = changed
		}
		if err == nil {
			failures = 0
		}
		if state == told {
			continue
		}
		switch told = state; state {
		case broken:
			first, _, _ := strings.Cut(err.Error(), "\n")
			log.Warn("the streams files can no longer be used: this process goes on, but could not start again",
				zap.String("error", first))
		case changed:
			want := "send it SIGHUP, or restart it, so that the change takes effect"
			if hangups == nil {
				want = "restart it, so that the change takes effect; it ignores SIGHUP, as under nohup"
			}
			log.Warn("the streams files have changed since this process read them: " + want)
		default:
			log.Info("the streams files are again those that this process has read")
		}
	}
}

// anyStreams reads the streams files of a command that can do without.
func anyStreams(pattern string) (*config.File, error) {
	if pattern == "" {
		return &config.File{}, nil
	}
	return cli.LoadStreams(pattern)
}

// reload serves with a file until ctx ends or serve does. When again is told, it reads the files once more, and serves
// with these from then on: it ends the work in good order, and begins again. Files that cannot be used, or that
// contradict what the app has done before, change nothing. Nor does a signal where there are no files.
func reload(ctx context.Context, again <-chan os.Signal, pattern string, file *config.File, log *zap.Logger,
	serve func(context.Context, *config.File) error) error {
	if pattern == "" {
		go ignore(ctx, again, log)
		return serve(ctx, file)
	}
	var before *config.File // the files that file has replaced; nil if it is the first
	for {
		working, end := context.WithCancel(ctx)
		go tellEdits(working, pattern, file, again, log)
		done := make(chan error, 1)
		go func() { done <- serve(working, file) }()
		next, err := newer(again, done, pattern, file, log)
		end()
		switch {
		case next != nil:
			if err := <-done; err != nil {
				return err
			}
			before, file = file, next
		case before != nil && ctx.Err() == nil && errors.Is(err, control.ErrRefused):
			log.Error("the streams files cannot take effect: this process goes on with those before", zap.Error(err))
			before, file = nil, before
		default:
			return err
		}
	}
}

// ignore says of each SIGHUP that there is nothing to read again.
func ignore(ctx context.Context, again <-chan os.Signal, log *zap.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			log.Info("SIGHUP changes nothing: this process reads no streams files")
		}
	}
}

// newer waits until it is told to read the files again, and returns them if they can be used and are not the same.
// It returns nil and the error of the work if that is done before.
func newer(again <-chan os.Signal, done <-chan error, pattern string, file *config.File, log *zap.Logger) (
	*config.File, error) {
	for {
		select {
		case err := <-done:
			return nil, err
		case <-again:
		}
		next, err := cli.LoadStreams(pattern)
		switch {
		case err != nil:
			log.Error("the streams files cannot be used: this process goes on with those that it has read",
				zap.Error(err))
		case sameStreams(file, next):
			log.Info("the streams files are those that this process has read: nothing changes")
		default:
			log.Info("the streams files have changed: louver begins again with them")
			return next, nil
		}
	}
}

// sameStreams reports whether two files want the same of the app.
func sameStreams(a, b *config.File) bool {
	definitions := func(f *config.File) map[string]string {
		all := map[string]string{}
		for _, s := range f.Streams {
			all[s.Name] = string(s.Definition)
		}
		return all
	}
	return a.Revision == b.Revision && maps.Equal(definitions(a), definitions(b)) &&
		slices.Equal(slices.Sorted(slices.Values(a.Removed)), slices.Sorted(slices.Values(b.Removed)))
}
