package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/simulate"
)

// TestSummary: three of the four windows between the first and the last were seen, and one of two guesses was right.
func TestSummary(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	v := viewOf(t, s, 80, 24, 0)
	if got := v.summary(); got != "" {
		t.Errorf("before the first window: %q", got)
	}
	for _, number := range []int{0, 1, 3} {
		v.add(painted(s, number))
		if number > 0 {
			v.guess(true) // Robin calls in windows of even numbers
		}
	}
	v.add(painted(s, 4))
	v.guess(true)
	want := "4 windows of 15m, 1 missing. One person has lost at most ε 2.5.\n" +
		"You guessed 3 times whether Robin called, 1 of them right.\n"
	if got := v.summary(); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A page that is opened before the first window is told of no windows, and not of nothing, which it could not read.
func TestDemoBeforeTheFirstWindow(t *testing.T) {
	s := newSimulation(time.Minute)
	if _, err := s.streams(t.Context(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s.Known())
	if err != nil || !strings.Contains(string(text), `"windows":[]`) {
		t.Errorf("%s, %v; want an empty list of windows", text, err)
	}
}

// The demo's terminal tells of pages that were found, of all requests and active users with their errors, and of the
// quantiles so far today.
func TestFiguresOfOtherStreams(t *testing.T) {
	end := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	figure := func(stream, group, statistic, unit, value string, off int64) outputs.Record {
		of := json.Number(value)
		n, _ := of.Int64()
		low, high := json.Number(fmt.Sprint(n-off)), json.Number(fmt.Sprint(n+off))
		return outputs.Record{Stream: stream, Group: group, Statistic: statistic, Unit: unit, Value: &of, Status: "ok",
			WindowEnd: end, Quality: "useful", BandFields: &record.BandFields{Low: &low, High: &high}}
	}
	s := &simulation{stream: demoStream(t, string(simulate.Streams())), pages: map[string]outputs.Record{},
		today: map[string]outputs.Record{}}
	if got := s.beside(); got != nil {
		t.Errorf("before the first figures it says %q", got)
	}
	s.published(figure("demo-pages", "/search", "count", "users", "5012", 196))
	s.published(figure("demo-requests", "", "sum", "requests", "61234", 1797))
	s.published(figure("demo-latency", "eu", "count", "users", "5000", 100))
	active := figure("demo-today", "", "count", "users", "54512", 574)
	active.Active = "1h"
	s.published(active)
	for name, value := range map[string]string{"p99_today": "820", "p50_today": "128"} {
		r := figure("demo-today", "", "quantile", "ms", value, 20)
		r.Release, r.From, r.Final = name, "so_far", new(false)
		s.published(r)
	}
	want := []string{"Pages that were found, in the hour to 14:00: /search 5,010 users.",
		"All requests, in the hour to 14:00: 61,200 requests (59,400–63,100).",
		"Users seen in the hour to 14:00: 54,500 users (53,900–55,100).",
		"So far today, to 14:00: p50_today 128 ms, p99_today 820 ms."}
	if d := cmp.Diff(want, s.beside()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
