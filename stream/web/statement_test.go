package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestStatement(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	h := served(w, streams, epoch)
	var got struct{ Streams []statement }
	if err := json.Unmarshal([]byte(ask(t, h, "/api/v1/statement")), &got); err != nil || len(got.Streams) != 2 {
		t.Fatal(err, got)
	}
	var sentences []string
	for _, s := range got.Streams {
		for _, l := range s.Losses {
			sentences = append(sentences, fmt.Sprintf("%s %s %d: %s", s.Stream, l.Scope, l.Right, l.Sentence))
		}
	}
	// A stretch of 10 minutes is overlapped by up to 11 windows of one minute and 14 of four. Together they cost
	// 11·0.3 + 14·0.01 = 3.44. A day has 144 periods of 10 minutes, each of which pays at most 2, and the schedule wants more.
	want(t, "sentences", strings.Join(sentences, "\n"), strings.TrimSpace(`
fast window 58: One window costs one person at most ε 0.3. Of 100 guesses whether that person is in it, at most 58 are right.
fast day 100: In any 24 h one person loses at most ε 288, counting the windows that end in it. That is too much to hide whether that person is in any of them: somebody who knows all the others can nearly always tell.
fast budget 89: The windows that end in any 10m cost one person at most ε 2. Of 100 guesses whether that person is in any of them, at most 89 are right.
fast stretch 97: What one person does in any 10m falls into up to 25 windows. Together they cost at most ε 3.44. Of 100 guesses whether that person is in any of them, at most 97 are right.
hopping window 51: One window costs one person at most ε 0.01. Of 100 guesses whether that person is in it, at most 51 are right.
hopping event 51: One event falls into up to 4 windows. Together they cost its person at most ε 0.04. Of 100 guesses whether that person is in any of them, at most 51 are right.
hopping day 100: In any 24 h one person loses at most ε 288, counting the windows that end in it. That is too much to hide whether that person is in any of them: somebody who knows all the others can nearly always tell.
hopping budget 89: The windows that end in any 10m cost one person at most ε 2. Of 100 guesses whether that person is in any of them, at most 89 are right.
hopping stretch 97: What one person does in any 10m falls into up to 25 windows. Together they cost at most ε 3.44. Of 100 guesses whether that person is in any of them, at most 97 are right.`))
	if err := json.Unmarshal([]byte(ask(t, h, "/api/v1/statement?stream=hopping")), &got); err != nil || len(got.Streams) != 1 {
		t.Error(err, got)
	}
	w.publish(0, text("foreign", "", "users", 1, "1"))
	a := httptest.NewRecorder()
	h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/api/v1/statement?stream=foreign", nil))
	if a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), "in no streams file") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	forever := parsed(t, strings.Replace(streamsFile, "epsilon: 2, per: 10m", "epsilon: 30, per: forever", 1))
	if got := ask(t, served(w, forever, epoch), "/api/v1/statement?stream=fast"); !strings.Contains(got, "All windows together, for ever, cost one person at most ε 30. That is too much to hide") {
		t.Error(got)
	}
}

// Who does not count in a window may count in a later one, so what they have in one changes two.
func TestStatementUnderMaxWindows(t *testing.T) {
	streams := parsed(t, `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: ms}
    max_windows: {count: 8, per: 24h}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 2h, every: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.1}]
    output: {topic: out}
    budget: {epsilon: 0.8, per: 24h}
`)
	var got struct{ Streams []statement }
	if err := json.Unmarshal([]byte(ask(t, served(newWorld(t, 1<<20), streams, epoch), "/api/v1/statement")), &got); err != nil || len(got.Streams) != 1 {
		t.Fatal(err, got)
	}
	said := map[string]string{}
	for _, l := range got.Streams[0].Losses {
		said[l.Scope], _, _ = strings.Cut(l.Sentence, " Of 100")
	}
	for scope, sentence := range map[string]string{
		"window":  "What one person has in one window changes up to 2, for who does not count in it may count in a later one. Together they cost that person at most ε 0.2.",
		"event":   "One event falls into up to 2 windows and changes up to 4, for who does not count in them may count in later ones. Together they cost its person at most ε 0.4.",
		"day":     "In any 24 h one person loses at most ε 0.8, counting the windows that end in it.",
		"stretch": "What one person does in any 24h falls into up to 26 windows. Together with later ones in which that person counts instead they cost at most ε 1.",
	} {
		if said[scope] != sentence {
			t.Errorf("%s: %q, want %q", scope, said[scope], sentence)
		}
	}
}
