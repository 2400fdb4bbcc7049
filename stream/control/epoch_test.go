package control

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/louver/louver/stream/config/parse"
)

const hourly = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 1s, start: 2026-01-01T00:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 1000, per: 24h}
`

// wanted is a file with replacements, in pairs.
func wanted(t *testing.T, replace ...string) Wanted {
	t.Helper()
	f, err := parse.File("streams.yaml", []byte(strings.NewReplacer(replace...).Replace(hourly)),
		func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return Wanted{Streams: f.Streams, Revision: f.Revision, Removed: f.Removed}
}

// spans are the windows of each edition of a stream, as "size from–until".
func spans(t *testing.T, s *State) (all []string) {
	t.Helper()
	editions, err := s.Editions(Wanted{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range editions {
		until := "…"
		if e.Schedule.End != 0 {
			until = time.Unix(0, e.Schedule.End).UTC().Format("15:04:05")
		}
		all = append(all,
			e.Schedule.Size.String()+" "+time.Unix(0, e.Schedule.Start).UTC().Format("15:04:05")+"–"+until)
	}
	return all
}

// TestDefinitionsFollowOneAnother changes the file at 10:20 on the first day.
func TestDefinitionsFollowOneAnother(t *testing.T) {
	const minutes, half = "size: 15m", "size: 90m"
	for name, c := range map[string]struct {
		files [][]string // one after the other, each a second later
		want  string
	}{
		"nothing changes": {[][]string{nil, nil}, "1h0m0s 00:00:00–…"},
		"shorter windows": {[][]string{nil, {"size: 1h", minutes}},
			"1h0m0s 00:00:00–11:00:00, 15m0s 11:00:00–…"},
		"longer windows": {[][]string{{"size: 1h", minutes}, nil},
			"15m0s 00:00:00–11:00:00, 1h0m0s 11:00:00–…"},
		"no common step": {[][]string{nil, {"size: 1h", half}},
			"1h0m0s 00:00:00–12:00:00, 1h30m0s 12:00:00–…"},
		"hopping windows are finished": {[][]string{{"size: 1h", "size: 1h, every: 10m"}, nil},
			"1h0m0s 00:00:00–11:50:00, 1h0m0s 11:00:00–…"},
		"twice before the first begins": {[][]string{nil, {"size: 1h", minutes}, {"size: 1h", "size: 30m"}},
			"1h0m0s 00:00:00–11:00:00, 30m0s 11:00:00–…"},
		"an earlier start": {[][]string{nil, {"2026-01-01T00", "2025-12-31T22"}}, "1h0m0s 00:00:00–…"},
		"an older file follows": {[][]string{nil, {"size: 1h", minutes}, nil},
			"1h0m0s 00:00:00–11:00:00, 15m0s 11:00:00–…"},
		"the older file means it": {[][]string{nil, {"size: 1h", minutes}, {"version: 1", "version: 1\nrevision: 1"}},
			"1h0m0s 00:00:00–11:00:00, 1h0m0s 11:00:00–…"},
		"a lower revision follows": {[][]string{{"version: 1", "version: 1\nrevision: 3"}, {"size: 1h", minutes}},
			"1h0m0s 00:00:00–…"},
		"a stream is removed and let in": {[][]string{nil, {"name: s", "name: other", "version: 1",
			"version: 1\nremoved: [s]"}}, "1h0m0s 00:00:00–…, 1h0m0s 00:00:00–11:00:00"},
		"windows that ended go on": {[][]string{{"Z}", "Z, end: 2026-01-01T05:00:00Z}"}, nil},
			"1h0m0s 00:00:00–05:00:00, 1h0m0s 05:00:00–…"},
		"what has ended stays": {[][]string{{"Z}", "Z, end: 2026-01-01T05:00:00Z}"},
			{"Z}", "Z, end: 2026-01-01T05:00:00Z}", "epsilon: 1}", "epsilon: 2}"}}, "1h0m0s 00:00:00–05:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// the bubble's clock begins in 2000
				time.Sleep(time.Until(time.Date(2026, 1, 1, 10, 20, 0, 0, time.UTC)))
				log := &memory{}
				var state *State
				for _, file := range c.files {
					var err error
					if state, err = Load(t.Context(), log, wanted(t, file...), never); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
				}
				if got := strings.Join(spans(t, state), ", "); got != c.want {
					t.Errorf("windows are %s, want %s", got, c.want)
				}
			})
		})
	}
}

// A definition begins, and a stream ends, no sooner than every process has had 20 seconds to learn of it. Else some of
// them would decide the same windows by the old definition.
func TestDefinitionsBeginAfterTheirLead(t *testing.T) {
	for name, c := range map[string]struct {
		second int // before 11:00
		file   []string
		want   string
	}{
		"in time":  {21, []string{"size: 1h", "size: 15m"}, "1h0m0s 00:00:00–11:00:00, 15m0s 11:00:00–…"},
		"too late": {19, []string{"size: 1h", "size: 15m"}, "1h0m0s 00:00:00–12:00:00, 15m0s 12:00:00–…"},
		"an end in time": {21, []string{"name: s", "name: other", "version: 1", "version: 1\nremoved: [s]"},
			"1h0m0s 00:00:00–…, 1h0m0s 00:00:00–11:00:00"},
		"an end that is not": {19, []string{"name: s", "name: other", "version: 1", "version: 1\nremoved: [s]"},
			"1h0m0s 00:00:00–…, 1h0m0s 00:00:00–12:00:00"},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 1, 1, 10, 59, 60-c.second, 0, time.UTC)))
			log := &memory{}
			var state *State
			for _, file := range [][]string{nil, c.file} {
				var err error
				if state, err = Load(t.Context(), log, wanted(t, file...), never); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(spans(t, state), ", "); got != c.want {
				t.Errorf("%s: windows are %s, want %s", name, got, c.want)
			}
		})
	}
}

func TestEpochsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		file []string
		want string
	}{
		"a stream is missing": {[]string{"name: s", "name: other"}, "stream s is no longer in the streams files"},
		"steps that never meet": {[]string{"size: 1h", "size: 86399s", "2026-01-01T00:00:00Z", "now"},
			"no common boundary"},
		"another format": {[]string{"{topic: out}", "{topic: out, format: avro}"},
			"output.format: avro, but topic out has figures in json; want json, or another topic"},
		"an end before the start": {[]string{"Z}", "Z, end: 2026-01-01T11:00:00Z}", "epsilon: 1}", "epsilon: 2}"},
			"is before the end of the first window"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 1, 1, 10, 20, 0, 0, time.UTC)))
				log := &memory{}
				if _, err := Load(t.Context(), log, wanted(t), never); err != nil {
					t.Fatal(err)
				}
				_, err := Load(context.Background(), log, wanted(t, c.file...), never)
				if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want what says %q", err, c.want)
				}
			})
		})
	}
}

func TestWhatHasNoEffectIsSaid(t *testing.T) {
	log := &memory{}
	if _, err := Load(t.Context(), log, wanted(t), never); err != nil {
		t.Fatal(err)
	}
	state, err := Load(t.Context(), log, wanted(t, "2026-01-01T00", "2025-12-31T22"), never)
	if err != nil {
		t.Fatal(err)
	}
	want := "stream s: start 2025-12-31T22:00:00Z has no effect, because the stream began at 2026-01-01T00:00:00Z"
	if len(state.Notes) != 1 || state.Notes[0] != want {
		t.Errorf("notes %q, want %q", state.Notes, want)
	}
}

// However often the editions of a state are looked at, their definitions are read once.
func TestADefinitionIsReadOnce(t *testing.T) {
	s := &State{}
	definition := wanted(t).Streams[0].Definition
	s.epochs = []*epoch{{Number: 1, Streams: map[string][]edition{"s": {{Definition: definition},
		{Number: 1, Definition: definition}}}}}
	first, err := s.Editions(Wanted{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.History(); err != nil {
		t.Fatal(err)
	}
	again, err := s.Editions(Wanted{})
	if err != nil || first[0].Stream != first[1].Stream || again[0].Stream != first[0].Stream {
		t.Errorf("the definition was read several times, %v", err)
	}
}
