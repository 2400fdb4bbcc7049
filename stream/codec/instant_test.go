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
		if ns, ok := r.instant(&field{kind: text, text: []byte(s)}); ok != wantOK || ok && ns != want {
			t.Fatalf("%q: got %d, %v; ParseTime says %d, %v", s, ns, ok, want, wantOK)
		}
	}
}

// Times that name no zone are those of a zone that is given, if one is.
func TestTimesOfAZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	r := rules{zone: berlin}
	for s, want := range map[string]string{
		"2026-11-20 08:00:03":          "2026-11-20T07:00:03Z",
		"2026-07-20T08:00:03.25":       "2026-07-20T06:00:03.25Z",
		"2026-07-20 08:00":             "2026-07-20T06:00:00Z",
		"2026-07-20 08:00:03Z":         "2026-07-20T08:00:03Z",
		"2026-07-20 08:00:03 +0530":    "2026-07-20T02:30:03Z",
		"17/May/2015:10:05:03":         "2015-05-17T08:05:03Z",
		"[17/May/2015 10:05:03]":       "2015-05-17T08:05:03Z",
		"[17/May/2015:10:05:03 -0700]": "2015-05-17T17:05:03Z",
		"2017-01-01 00:59:60":          "2017-01-01T00:00:00Z",
		"2026-11-20 08:00:60":          "",
		"2026-11-20 08:00:03 ":         "",
		"[17/May/2015:10:05:03":        "",
		"2026-11-20":                   "",
		"1970-01-01 00:30:00":          "",
	} {
		for range 2 { // the second time its minute may be known
			ns, ok := r.instant(&field{kind: text, text: []byte(s)})
			if got := time.Unix(0, ns).UTC().Format(time.RFC3339Nano); ok != (want != "") || ok && got != want {
				t.Errorf("%q: got %s, %v; want %q", s, got, ok, want)
			}
		}
	}
	// Of an hour that comes twice, a time is one of the two.
	if ns, ok := r.instant(&field{kind: text, text: []byte("2026-10-25 02:30:00")}); !ok ||
		ns/1e9 != time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).Unix() &&
			ns/1e9 != time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC).Unix() {
		t.Errorf("%d, %v", ns, ok)
	}
}

// Times are read in the ways in which programs write them, and only if they name a zone.
func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-20T08:00:03Z":            "2026-11-20T08:00:03Z",
		"2026-11-20t08:00:03z":            "2026-11-20T08:00:03Z",
		"2026-11-20 08:00:03Z":            "2026-11-20T08:00:03Z",
		"2026-11-20T08:00:03.5+0200":      "2026-11-20T06:00:03.5Z",
		"2026-11-20 08:00:03.123456-03":   "2026-11-20T11:00:03.123456Z",
		"2026-11-20 08:00:03 +0530":       "2026-11-20T02:30:03Z",
		"2026-11-20 08:00:03 UTC":         "2026-11-20T08:00:03Z",
		"2026-11-20T08:00Z":               "2026-11-20T08:00:00Z",
		"2026-11-20 08:00+01:00":          "2026-11-20T07:00:00Z",
		"2024-02-29T23:59:59-00:00":       "2024-02-29T23:59:59Z",
		"2016-12-31T23:59:60Z":            "2017-01-01T00:00:00Z",
		"2017-01-01T00:59:60.25+01:00":    "2017-01-01T00:00:00.25Z",
		"17/May/2015:10:05:03 +0000":      "2015-05-17T10:05:03Z",
		"[17/May/2015:10:05:03 -0700]":    "2015-05-17T17:05:03Z",
		"29/Feb/2016:10:05:03.25 +0000":   "2016-02-29T10:05:03.25Z",
		"1447836123e-000":                 "2015-11-18T08:42:03Z",
		"123e-00000005":                   "1970-01-01T00:00:00.00123Z",
		"2262-01-01T00:00:00.1234567891Z": "2262-01-01T00:00:00.123456789Z",
		"2026-11-20T08:00:03":             "",
		"2026-11-20 08:00:03":             "",
		"2026-11-20":                      "",
		"2026-11-20T08:00:60Z":            "",
		"2026-11-20T23:59:61Z":            "",
		"2026-11-20T08:60:00Z":            "",
		"2026-11-20T24:00:00Z":            "",
		"2026-11-20T08:00:03,5Z":          "",
		"2026-11-20T08:00.5Z":             "",
		"2026-11-20T8:00:03Z":             "",
		"2026-11-20T08:00:03+24:00":       "",
		"2026-11-20T08:00:03+01:60":       "",
		"2026-11-20T08:00:03+1":           "",
		"2026-11-20T08:00:03 CET":         "",
		"2026-11-20T08:00:03Z ":           "",
		"2026-11-20T08:00:03Z]":           "",
		"2026-02-29T08:00:03Z":            "",
		"2026-13-01T08:00:03Z":            "",
		"2026-00-01T08:00:03Z":            "",
		"2026-01-00T08:00:03Z":            "",
		"1969-12-31T23:59:59Z":            "",
		"2262-04-12T00:00:00Z":            "",
		"[17/May/2015:10:05:03 +0000":     "",
		"17/May/2015:10:05:03 +0000]":     "",
		"17/05/2015:10:05:03 +0000":       "",
		"31/Apr/2015:10:05:03 +0000":      "",
		"17/May/2015:10:05:03":            "",
	} {
		ns, ok := ParseTime([]byte(text))
		if got := time.Unix(0, ns).UTC().Format(time.RFC3339Nano); ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %s, %v; want %q", text, got, ok, want)
		}
	}
}

// Whatever RFC 3339 says is read as the standard library reads it.
func TestParseTimeAsTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-1439, 1439).Draw(t, "zone"))
		s := []byte(time.Unix(rapid.Int64Range(-1e9, 1e10).Draw(t, "second"),
			rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone).Format(rapid.SampledFrom([]string{time.RFC3339,
			time.RFC3339Nano, "2006-01-02T15:04:05.000Z07:00"}).Draw(t, "layout")))
		if rapid.Bool().Draw(t, "damage") { // but not of the zone: the library takes one of +01:60
			s[rapid.IntRange(0, len("2006-01-02T15:04:05")-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789")).Draw(t, "digit")
		}
		var want time.Time
		err := want.UnmarshalText(s)
		known := err == nil && want.Unix() >= 0 && want.Year() < 2262
		ns, ok := ParseTime(s)
		if leap := string(s[17:19]) == "60"; ok != known && !leap && want.Year() < 2262 || known && ns != want.UnixNano() {
			t.Fatalf("%s: got %d, %v; the standard library says %v, %v", s, ns, ok, want, err)
		}
	})
}

// Times around a remembered minute, good and bad, are read like all others.
func TestMinute(t *testing.T) {
	var r rules
	readAlike(t, &r, strings.Repeat("\x00", 16)+":00Z") // before there is a minute
	for _, minute := range []string{"2026-11-20T08:00", "1970-01-01T00:00", "1969-12-31T23:59", "2262-04-11T23:46",
		"2262-04-11T23:47", "2026-02-29T08:00", "2026-11-20 08:00", "2016-12-31T23:59", "17/May/2015:10:05",
		"[17/May/2015:10:05", "17/May/1970:00:00"} {
		for _, rest := range []string{
			":00Z", ":59Z", ":60Z", ":0Z", ":000Z", ":00", "Z", "", ":00z", ":00ZZ", ":00.Z", ":00.1Z", ":00,1Z",
			":00.999999999Z", ":00.9999999999999Z",
			":00.0000000001Z", ":16Z", ":16.999999999Z", ":17Z", ":00.1 Z", ":0:Z", ":/0Z", ":00+00:00", ":00.5+02:00",
			":00:00Z", ".00Z", ":00.+1Z", ":00Z ", ":00+0000", ":00.5 +0000", ":00 UTC", ":00]", ":00+00", ":00",
		} {
			readAlike(t, &r, minute+rest)
			readAlike(t, &r, minute+":30Z")
			readAlike(t, &r, minute+":30.5 +0000")
			readAlike(t, &r, minute+rest)
			readAlike(t, &r, minute+":60Z")
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
			"2006-01-02T15:04:05.000Z07:00", "2006-01-02 15:04:05-0700", "02/Jan/2006:15:04:05 -0700",
			"[02/Jan/2006:15:04:05 -0700]"}).Draw(t, "layout")))
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
