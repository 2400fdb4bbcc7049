package stream

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// A service without windows ahead says so once, a minute after the last one is due, and does not end. With a stream
// that has no end it says nothing, however long it works.
func TestNoFiguresToCome(t *testing.T) {
	const quarter = int64(15 * time.Minute)
	for name, c := range map[string]struct {
		ends []int64 // of the streams, in quarters of an hour from now on; 0: none
		over time.Duration
	}{
		"all are over":        {[]int64{-8, -4}, time.Minute},
		"one ends in an hour": {[]int64{-8, 4}, time.Hour + 2*time.Minute},
		"one has no end":      {[]int64{-8, 0}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now().Truncate(15 * time.Minute) // synctest begins at a full hour
				var editions []config.Edition
				for _, end := range c.ends {
					s := windows.Schedule{Size: 15 * time.Minute, Every: 15 * time.Minute, Grace: time.Minute,
						Start: now.Add(-24 * time.Hour).UnixNano()}
					if end != 0 {
						s.End = now.UnixNano() + end*quarter
					}
					editions = append(editions, config.Edition{Schedule: s})
				}
				core, logs := observer.New(zap.InfoLevel)
				ctx, cancel := context.WithCancel(t.Context())
				returned := make(chan struct{})
				go func() { tellOver(ctx, editions, zap.New(core)); close(returned) }()
				synctest.Wait()
				if c.over > 0 {
					time.Sleep(c.over - time.Second) // the bubble's clock, no time passes
					if logs.Len() > 0 {
						t.Errorf("told before the last window is due: %v", logs.All())
					}
					time.Sleep(2 * time.Second)
				}
				synctest.Wait()
				want := 1
				if c.over < 0 {
					want = 0
				}
				all := logs.All()
				if len(all) != want || want == 1 && (all[0].Level != zap.WarnLevel ||
					!strings.Contains(all[0].Message, "no more windows are to come") ||
					!strings.Contains(all[0].Message, "later end")) {
					t.Errorf("%v; want %d warnings with what would be right", all, want)
				}
				cancel()
				<-returned
			})
		})
	}
}
