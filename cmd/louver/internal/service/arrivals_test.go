package service

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// Past windows are told of once none has come for a while, or now and then while more come, and before the first later
// one. A window counts as useful if any of its figures is. Rough ones do not count: of several figures of nobody at all,
// chance makes one rough in some windows.
func TestArrivals(t *testing.T) {
	figure := func(due time.Time, quality string) outputs.Record {
		return outputs.Record{Stream: "web", DueAt: due, WindowEnd: due, Quality: record.Quality(quality),
			Value: new(json.Number("1"))}
	}
	for _, c := range []struct {
		name string
		come func(a *arrivals, begun time.Time)
		want []string
	}{
		{"past windows", func(a *arrivals, begun time.Time) {
			for i := range 4213 {
				due := begun.Add(-time.Duration(i) * time.Hour)
				a.add(figure(due, []string{"noise", "rough"}[i%2]))
				if i%1000 == 0 {
					time.Sleep(2 * time.Second)
					a.add(figure(due, "useful"))
				}
			}
			time.Sleep(time.Hour)
		}, []string{"13s 4,213 past windows published within 10s, 5 with useful figures: louver watch prints them"}},
		{"later ones", func(a *arrivals, begun time.Time) {
			a.add(figure(begun, "noise"))
			time.Sleep(time.Second)
			a.add(figure(begun.Add(time.Second), "noise"))
			a.add(figure(begun.Add(time.Second), "useful"))
		}, []string{"1s 1 past window published within 1s, none with a useful figure: louver watch prints them",
			"1s the first figures are out: louver watch prints them"}},
		{"many past ones", func(a *arrivals, begun time.Time) {
			for i := range 40 {
				a.add(figure(begun.Add(-time.Duration(i)*time.Hour), "useful"))
				time.Sleep(time.Second)
			}
			time.Sleep(time.Hour)
		}, []string{"30s 31 past windows published within 30s, with useful figures: louver watch prints them",
			"42s 9 past windows published within 9s, with useful figures: louver watch prints them"}},
		{"without a verdict", func(a *arrivals, begun time.Time) {
			a.add(figure(begun, ""))
			time.Sleep(time.Hour)
		}, []string{"3s 1 past window published within 1s: louver watch prints them"}},
		{"nothing", func(*arrivals, time.Time) { time.Sleep(time.Hour) }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			begun := time.Now()
			a := newArrivals(zap.New(core), time.Now(), map[string]string{"web": "web.private"}, map[string]bool{})
			defer a.end()
			c.come(a, begun)
			synctest.Wait()
			var got []string
			for _, e := range logs.All() {
				got = append(got, fmt.Sprintf("%s %s", e.Time.Sub(begun), e.Message))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		})
	}
}

// The first figures are told of once in a process, whatever edits begin the work again, and those of a stream that an
// edit adds are told of too.
func TestArrivalsAfterAnEdit(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	greeted := map[string]bool{}
	for _, streams := range [][]string{{"web", "shop"}, {"web", "shop"}, {"web", "shop", "new"}, {"web", "new"}} {
		topics := map[string]string{}
		for _, s := range streams {
			topics[s] = s + ".private"
		}
		a := newArrivals(zap.New(core), begun, topics, greeted)
		for _, s := range streams {
			a.add(outputs.Record{Stream: s, DueAt: begun.Add(time.Minute)})
		}
		a.end()
	}
	var told []string
	for _, e := range logs.All() {
		told = append(told, fmt.Sprint(e.ContextMap()["topic"]))
	}
	if want := []string{"web.private", "new.private"}; !slices.Equal(told, want) {
		t.Errorf("told of the first figures in %q, want %q", told, want)
	}
}
