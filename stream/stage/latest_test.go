package stage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/stage"
)

// TestLatestIsTriedAgain: a value that could not be dealt with is tried again, unless a newer one has come.
func TestLatestIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen []int
		l := stage.NewLatest(ctx, func(_ context.Context, v int) error {
			seen = append(seen, v)
			if len(seen) < 3 {
				return errors.New("not now")
			}
			return nil
		})
		l.Put(1)
		synctest.Wait()
		l.Put(2)
		synctest.Wait()
		time.Sleep(time.Minute) // in the bubble nobody waits
		l.Put(3)
		synctest.Wait()
		cancel()
		l.Wait()
		if diff := cmp.Diff([]int{1, 2, 2, 3}, seen); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLatestFinishes: at the end the newest value is dealt with, also if an older one is being written. It is tried
// once.
func TestLatestFinishes(t *testing.T) {
	for name, c := range map[string]struct {
		fails bool
		want  []int
	}{"with success": {false, []int{1, 3}}, "with an error": {true, []int{1, 3}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen []int
				l := stage.NewLatest(t.Context(), func(_ context.Context, v int) error {
					time.Sleep(time.Second) // in the bubble nobody waits
					if seen = append(seen, v); c.fails {
						return errors.New("not now")
					}
					return nil
				})
				l.Put(1)
				synctest.Wait()
				l.Put(2)
				l.Put(3)
				l.Finish()
				if diff := cmp.Diff(c.want, seen); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
