package service

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
)

// A process reads its streams files once, when it starts. Somebody who edits them under a running process would wait in
// vain, and learn only at the next start that they are broken. So the process looks at them now and then, and says what
// it sees. It changes nothing: an edit takes effect when a process starts with it.

// lookAtFiles is how often. A file that is being written may be broken for a moment, so that is told at the second
// look.
const lookAtFiles = time.Minute

// tellEdits logs once that the streams files are no longer those that were read, or cannot be read any more, and once
// that they are again. It returns when ctx ends.
func tellEdits(ctx context.Context, pattern string, read *config.File, log *zap.Logger) {
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
			log.Warn("the streams files have changed since this process read them: the change takes effect once a " +
				"process starts with them")
		default:
			log.Info("the streams files are again those that this process has read")
		}
	}
}

// sameStreams reports whether two files want the same of the app. Objectives are no part of a definition: they change
// what this process shows.
func sameStreams(a, b *config.File) bool {
	definitions := func(f *config.File) map[string]string {
		all := map[string]string{}
		for _, s := range f.Streams {
			all[s.Name] = string(s.Definition)
			for _, o := range s.Objectives() {
				all[o.Name()] = o.Share.Objective.String()
			}
		}
		return all
	}
	return a.Revision == b.Revision && maps.Equal(definitions(a), definitions(b)) &&
		slices.Equal(slices.Sorted(slices.Values(a.Removed)), slices.Sorted(slices.Values(b.Removed)))
}
