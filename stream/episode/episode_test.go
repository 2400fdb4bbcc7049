package episode_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/episode"
)

// lines are what was logged: when after the start, at what level, the message and the fields.
func lines(began time.Time, logs *observer.ObservedLogs) []string {
	var out []string
	for _, e := range logs.All() {
		line := fmt.Sprintf("%s %s %s", e.Time.Sub(began), e.Level.CapitalString(), e.Message)
		for _, f := range e.Context {
			value := f.String
			switch f.Type {
			case zapcore.Int64Type:
				value = fmt.Sprint(f.Integer)
			case zapcore.ErrorType, zapcore.StringerType:
				value = fmt.Sprint(f.Interface)
			}
			line += " " + f.Key + "=" + value
		}
		out = append(out, line)
	}
	return out
}

func TestLines(t *testing.T) {
	failed := errors.New("no leader")
	for _, c := range []struct {
		name string
		do   func(l *episode.Log)
		want []string
	}{
		{"at once, then a line a minute, then the end", func(l *episode.Log) {
			for range 130 {
				l.On("k", episode.Rule{Every: time.Minute, Count: true}, "it is so")
				time.Sleep(time.Second)
			}
			l.Over("k", "it is no longer so")
			l.Over("k", "it is no longer so")
		}, []string{"0s WARN it is so", "1m0s WARN it is so for=1m0s times=60", "2m0s WARN it is so for=2m0s times=60",
			"2m10s INFO it is no longer so after=2m10s"}},
		{"once", func(l *episode.Log) {
			for range 3 {
				l.On("k", episode.Rule{}, "it is so")
				time.Sleep(24 * time.Hour)
			}
			l.Over("k", "it is no longer so")
			l.On("k", episode.Rule{}, "it is so")
		}, []string{"0s WARN it is so", "72h0m0s INFO it is no longer so after=72h0m0s", "72h0m0s WARN it is so"}},
		{"what passes leaves no line", func(l *episode.Log) {
			retrying := l.Retrying("cannot read", "can read")
			for range 10 {
				retrying(failed)
				time.Sleep(2 * time.Second)
			}
			retrying(nil)
			retrying(failed)
			time.Sleep(19 * time.Second)
			retrying(failed)
			retrying(nil)
		}, nil},
		{"what stays does", func(l *episode.Log) {
			retrying := l.Retrying("cannot read", "can read")
			for range 45 {
				retrying(failed)
				time.Sleep(2 * time.Second)
			}
			retrying(nil)
		}, []string{"20s WARN cannot read error=no leader", "1m20s WARN cannot read error=no leader for=1m20s times=30",
			"1m30s INFO can read after=1m30s"}},
		{"who is gone is forgotten", func(l *episode.Log) {
			retrying := l.Retrying("cannot read", "can read")
			for range 11 {
				retrying(failed)
				time.Sleep(2 * time.Second)
			}
			time.Sleep(time.Hour)
			retrying(failed)
			retrying(nil)
		}, []string{"20s WARN cannot read error=no leader"}},
		{"keys do not mix", func(l *episode.Log) {
			l.On("a", episode.Rule{}, "a is so")
			l.On("b", episode.Rule{}, "b is so")
			l.Forget("a")
			l.Over("a", "a is over")
			time.Sleep(time.Millisecond)
			l.Over("b", "b is over", zap.Int("n", 1))
		}, []string{"0s WARN a is so", "0s WARN b is so", "1ms INFO b is over n=1 after=1ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				began := time.Now()
				c.do(episode.New(zap.New(core)))
				if diff := cmp.Diff(c.want, lines(began, logs)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
