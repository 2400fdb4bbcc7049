package health_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/windows"
)

func TestOverdue(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(p *process, s windows.Schedule)
		want health.Overdue
	}{
		"before the first is due": {func(*process, windows.Schedule) { time.Sleep(69 * time.Second) },
			health.Overdue{}},
		"when it is due": {func(*process, windows.Schedule) { time.Sleep(70 * time.Second) },
			health.Overdue{Windows: 1}},
		"two": {func(*process, windows.Schedule) { time.Sleep(140 * time.Second) },
			health.Overdue{Windows: 2, Wait: 70 * time.Second}},
		"those of two definitions": {func(*process, windows.Schedule) { time.Sleep(250 * time.Second) },
			health.Overdue{Windows: 5, Wait: 180 * time.Second}},
		"when one is finished": {func(p *process, s windows.Schedule) {
			time.Sleep(140 * time.Second)
			second, _ := s.Next(s.First())
			p.stage.Next(p.at, "web", second, s)
		}, health.Overdue{Windows: 1, Wait: 10 * time.Second}},
		"when somebody else has it": {func(p *process, _ windows.Schedule) {
			time.Sleep(140 * time.Second)
			p.stage.Gone(p.at)
		}, health.Overdue{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(t, zap.NewNop())
				// After three minutes, windows of half a minute follow those of a minute. All are due 10 s after their
				// end.
				first, then := p.s, p.s
				first.End = first.Start + int64(3*time.Minute)
				then.Start, then.Size, then.Every = first.End, 30*time.Second, 30*time.Second
				p.Started(map[string][]windows.Schedule{"web": {first, then}})
				p.stage.Assigned(p.at)
				p.stage.Next(p.at, "web", first.First(), first)
				c.do(p, first)
				if got := p.stage.Overdue(); len(got) != 1 || got["web"] != c.want {
					t.Errorf("%+v, want %+v", got, c.want)
				}
			})
		})
	}
}
