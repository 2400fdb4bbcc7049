package control

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told is a definition in a line.
func told(all []Dated) (lines []string) {
	for _, d := range all {
		until := "never"
		if d.Until != nil {
			until = d.Until.Format("15:04:05")
		}
		lines = append(lines, fmt.Sprint(d.Stream, " ", d.Number, " ", d.Size, " ", d.From.Format("15:04:05"), "–",
			until, " ", d.Changes))
	}
	return lines
}

// TestPreviewIsWhatHappens changes the file at 10:20, and compares what was foreseen with what is agreed on then.
func TestPreviewIsWhatHappens(t *testing.T) {
	for name, c := range map[string]struct {
		before, file           []string
		begins, ends, replaces []string
		older                  bool
	}{
		"the same file": {},
		"another window": {nil, []string{"size: 1h", "size: 15m"},
			[]string{"s 1 15m 11:00:00–never [window.size: 1h → 15m]"}, []string{"s 0 1h 00:00:00–11:00:00 []"}, nil,
			false},
		"before it begins": {[]string{"2026-01-01T00", "2026-01-01T12"}, []string{"size: 1h", "size: 15m"},
			[]string{"s 1 15m 12:00:00–never []"}, nil, []string{"s 0 1h 12:00:00–never []"}, false},
		"a stream less": {nil, []string{"name: s", "name: other", "version: 1", "version: 1\nremoved: [s]"},
			[]string{"other 0 1h 00:00:00–never []"}, []string{"s 0 1h 00:00:00–11:00:00 []"}, nil, false},
		"a lower revision": {[]string{"version: 1", "version: 1\nrevision: 3"}, []string{"size: 1h", "size: 15m"}, nil,
			nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 1, 1, 10, 20, 0, 0, time.UTC)))
				log := &memory{}
				if _, err := Load(t.Context(), log, wanted(t, c.before...), never); err != nil {
					t.Fatal(err)
				}
				records := len(log.records)
				p, err := Foresee(t.Context(), log, wanted(t, c.file...), never, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				if len(log.records) != records || log.turn != 1 {
					t.Error("a preview has written to the control topic, or taken the turn")
				}
				for what, lines := range map[string][2][]string{"begins": {c.begins, told(p.Begins())},
					"ends": {c.ends, told(p.Ends())}, "replaces": {c.replaces, told(p.Replaces())}} {
					if d := cmp.Diff(lines[0], lines[1]); d != "" {
						t.Errorf("%s: %s", what, d)
					}
				}
				if p.Older != c.older {
					t.Errorf("the file is older: %t, want %t", p.Older, c.older)
				}
				state, err := Load(t.Context(), log, wanted(t, c.file...), never)
				if err != nil {
					t.Fatal(err)
				}
				happened, err := state.History()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(p.After, happened); d != "" {
					t.Errorf("foreseen and agreed on differ: %s", d)
				}
			})
		})
	}
}

// TestWhoProposed: the process that proposed an epoch is written down.
func TestWhoProposed(t *testing.T) {
	log := &memory{}
	w := wanted(t)
	w.By = Proposer{Host: "a", ClientID: "louver", Version: "v1"}
	want := w.By
	for range 2 {
		state, err := Load(t.Context(), log, w, never)
		if err != nil {
			t.Fatal(err)
		}
		h, err := state.History()
		if diff := cmp.Diff(&want, h.By); err != nil || diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
		w.By.Host = "b" // who agrees has proposed nothing
	}
}

// TestDefinitionOfALaterRelease: a process that cannot read a definition stops, with one line that says why. It does so
// with its own file, too, and with one of a higher revision.
func TestDefinitionOfALaterRelease(t *testing.T) {
	log := &memory{}
	if _, err := Load(t.Context(), log, wanted(t), never); err != nil {
		t.Fatal(err)
	}
	for i, r := range log.records {
		log.records[i].Value = bytes.ReplaceAll(r.Value, []byte("statistic: "),
			[]byte("keeps: 1, knows: 2, statistic: "))
	}
	const want = "the control topic has a definition that this release of louver cannot read (definition:1: " +
		"streams[s].releases[users].keeps: unknown key; want "
	for name, file := range map[string][]string{"the file": nil, "a change": {"epsilon: 1}", "epsilon: 2}"},
		"a revision": {"version: 1", "version: 1\nrevision: 1"}} {
		state, err := Load(t.Context(), log, wanted(t, file...), never)
		if err == nil {
			_, err = state.Editions(wanted(t, file...))
		}
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "; run the release that wrote it, or a newer one") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	state, err := Read(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.History(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("history: %v", err)
	}
}

// TestPreviewSaysWhatAChangeCosts: what is foreseen is noted again when it is agreed on. A definition that replaces one
// which never began costs nothing more.
func TestPreviewSaysWhatAChangeCosts(t *testing.T) {
	const cap = "    max_windows: {count: 4, per: 24h, parts: 1}\n    bounds:"
	const want = "[stream s: max_windows counts anew: what a person loses by the new windows adds to what they lost " +
		"by the old ones. " +
		"In the first 24h a person may count in 4 windows of the old ones and in 4 of the new ones, for at most ε 12]"
	for start, want := range map[string]string{"2026-01-01T00": want, "2026-01-01T12": "[]"} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 1, 1, 10, 20, 0, 0, time.UTC)))
			log := &memory{}
			if _, err := Load(t.Context(), log, wanted(t, "    bounds:", cap, "2026-01-01T00", start),
				never); err != nil {
				t.Fatal(err)
			}
			file := wanted(t, "    bounds:", cap, "2026-01-01T00", start, "count, epsilon: 1", "count, epsilon: 2")
			p, err := Foresee(t.Context(), log, file, never, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			state, err := Load(t.Context(), log, file, never)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(p.Notes) != want || fmt.Sprint(state.Notes) != want {
				t.Errorf("it starts %s: foreseen %q, agreed on %q, want %s", start, p.Notes, state.Notes, want)
			}
			if state, err = Load(t.Context(), log, file, never); err != nil || len(state.Notes) > 0 {
				t.Errorf("a process that comes later notes %q, %v", state.Notes, err)
			}
		})
	}
}
