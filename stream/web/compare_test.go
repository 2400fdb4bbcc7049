package web

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/louver/louver/stream/web/compare"
)

func TestCompareEndpoint(t *testing.T) {
	w := filled(t)
	w.publish(0, text("s", "eu", "users", 7, "300"))
	w.publish(0, strings.ReplaceAll(text("s", "eu", "p50", 7, "300"), `"unit":"users"`, `"unit":"ms"`))
	ask := func(a, b string) (c compare.Comparison, status int) {
		r := w.get("/api/v1/compare?" + url.Values{"a": {a}, "b": {b}}.Encode())
		_ = json.Unmarshal(r.Body.Bytes(), &c) // a problem is none
		return c, r.Code
	}
	c, status := ask("s/eu/2026-11-20T08:00:00Z/users", "s/eu/2026-11-20T08:07:00Z/users")
	if status != 200 || c.Verdict != "change" || c.Difference.String() != "200" || *c.Basis != "error_95" ||
		string(c.A) != text("s", "eu", "users", 0, "100") {
		t.Errorf("%d %+v", status, c)
	}
	for _, bad := range [][2]string{{"", ""}, {"s/eu/2026-11-20T08:00:00Z/users", "s/eu/yesterday/users"},
		{"s/eu/2026-11-20T08:07:00Z/users", "s/eu/2026-11-20T08:07:00Z/p50"}} {
		if _, status := ask(bad[0], bad[1]); status != 400 {
			t.Errorf("%q: %d; want 400", bad, status)
		}
	}
	if _, status := ask("s/eu/2026-11-20T08:00:00Z/users", "s/eu/2026-11-20T09:00:00Z/users"); status != 404 {
		t.Errorf("a window that is not there: %d; want 404", status)
	}
}

// Ranges are the means of their windows, without those that are withheld.
func TestCompareRanges(t *testing.T) {
	w := newWorld(t, 1<<20)
	for i, value := range []string{"100", "110", "90", "160", "150"} {
		w.publish(0, text("s", "eu", "users", i, value))
		w.publish(0, strings.NewReplacer(`"error_95":30`, `"error_95":null`).Replace(text("s", "eu", "top", i, value)))
	}
	w.publish(0, withheld("eu", 5))
	ask := func(release, from, middle, to string) (c struct {
		A, B       compare.Average
		Difference float64
		Verdict    string
		Sentence   string
		Basis      *string
	}, status int) {
		at := func(from, to string) string {
			return "s/eu/2026-11-20T" + from + "Z..2026-11-20T" + to + "Z/" + release
		}
		r := w.get("/api/v1/compare?" + url.Values{"a": {at(from, middle)}, "b": {at(middle, to)}}.Encode())
		_ = json.Unmarshal(r.Body.Bytes(), &c) // a problem is none
		return c, r.Code
	}
	c, status := ask("users", "08:00:00", "08:03:00", "08:06:00")
	if status != 200 || c.A.Windows != 3 || c.B.Windows != 2 || c.B.Withheld != 1 || c.Difference != 55 ||
		c.Verdict != "change" || *c.Basis != "error_95" ||
		c.Sentence != "100 → 155 users, means of 3 and 2 windows: noise alone does this in fewer than 1 of 1,000 "+
			"cases. Without 1 withheld window." {
		t.Errorf("%d %+v", status, c)
	}
	if c, _ := ask("users", "08:00:00", "08:01:00", "08:03:00"); c.Verdict != "noise" ||
		!strings.HasPrefix(c.Sentence,
			"100 → 100 users, means of 1 and 2 windows: noise alone does this nearly always.") {
		t.Errorf("%+v", c)
	}
	if c, _ := ask("top", "08:00:00", "08:03:00", "08:05:00"); c.Verdict != "unknown" || c.Basis != nil ||
		!strings.HasSuffix(c.Sentence, "nothing public says how often noise and usual variation make such a difference.") {
		t.Errorf("%+v", c)
	}
	if c, _ := ask("users", "08:00:00", "08:05:00", "08:06:00"); c.Verdict != "unknown" ||
		c.Sentence != "Nothing can be compared: all figures of a range are withheld." {
		t.Errorf("%+v", c)
	}
	if c, status := ask("users", "08:00:00", "08:06:00", "09:00:00"); status != 404 {
		t.Errorf("%d %+v", status, c)
	}
	for _, bad := range [][2]string{{"s/eu/2026-11-20T08:00:00Z/users",
		"s/eu/2026-11-20T08:00:00Z..2026-11-20T08:02:00Z/users"},
		{"s/eu/2026-11-20T08:00:00Z..2026-11-20T08:03:00Z/users",
			"s/eu/2026-11-20T08:02:00Z..2026-11-20T08:05:00Z/users"},
		{"s/eu/2026-11-20T08:02:00Z..2026-11-20T08:00:00Z/users",
			"s/eu/2026-11-20T08:00:00Z..2026-11-20T08:02:00Z/users"}} {
		if r := w.get("/api/v1/compare?" + url.Values{"a": {bad[0]}, "b": {bad[1]}}.Encode()); r.Code != 400 {
			t.Errorf("%q: %d; want 400", bad, r.Code)
		}
	}
}
