package codec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// readAlike fails unless a time is read like ParseTime does, whatever was read before it.
func readAlike(t rapid.TB, r *rules, s string) {
	want, wantOK := ParseTime([]byte(s))
	for range 2 { // the second time its minute may be known
		if ns, ok := r.instant(&field{text, []byte(s)}); ok != wantOK || ok && ns != want {
			t.Fatalf("%q: got %d, %v; ParseTime says %d, %v", s, ns, ok, want, wantOK)
		}
	}
}

// Times around a remembered minute, good and bad, are read like all others.
func TestMinute(t *testing.T) {
	var r rules
	readAlike(t, &r, strings.Repeat("\x00", 16)+":00Z") // before there is a minute
	for _, minute := range []string{"2026-11-20T08:00", "1970-01-01T00:00", "1969-12-31T23:59", "2262-04-11T23:46",
		"2262-04-11T23:47", "2026-02-29T08:00"} {
		for _, rest := range []string{
			":00Z", ":59Z", ":60Z", ":0Z", ":000Z", ":00", "Z", "", ":00z", ":00ZZ", ":00.Z", ":00.1Z", ":00,1Z",
			":00.999999999Z", ":00.9999999999999Z",
			":00.0000000001Z", ":16Z", ":16.999999999Z", ":17Z", ":00.1 Z", ":0:Z", ":/0Z", ":00+00:00", ":00.5+02:00",
			":00:00Z", ".00Z", ":00.+1Z", ":00Z ",
		} {
			readAlike(t, &r, minute+rest)
			readAlike(t, &r, minute+":30Z")
		}
	}
}

func TestMinuteOfAnyTimes(t *testing.T) {
	var r rules
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(1_000_000_000, 1_000_000_300).Draw(t, "second"),
			rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		zone := time.FixedZone("", 60*rapid.SampledFrom([]int{0, 0, 0, 60, -90}).Draw(t, "zone"))
		s := []byte(at.In(zone).Format(rapid.SampledFrom([]string{time.RFC3339, time.RFC3339Nano,
			"2006-01-02T15:04:05.000Z07:00"}).Draw(t, "layout")))
		if rapid.Bool().Draw(t, "damage") {
			s[rapid.IntRange(0, len(s)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("019:.,ZT+- \x00\xff")).Draw(t,
				"byte")
		}
		readAlike(t, &r, string(s))
	})
}

// FuzzMinute: a time that follows another is read like ParseTime does.
func FuzzMinute(f *testing.F) {
	for _, rest := range []string{":00Z", ":59.5Z", ":60Z", ":00+00:00", ":00.Z", ""} {
		f.Add("2026-11-20T08:00:30Z", fmt.Sprint("2026-11-20T08:00", rest))
	}
	f.Add("2262-04-11T23:47:00Z", "2262-04-11T23:47:59Z")
	f.Fuzz(func(t *testing.T, before, text string) {
		var r rules
		readAlike(t, &r, before)
		readAlike(t, &r, text)
	})
}
