package cli

import (
	"strings"
	"testing"
	"time"
)

// A time is as short as it can be read now, and stays on one line, of a table or of the list that takes its place.
func TestStamp(t *testing.T) {
	now := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)
	for at, want := range map[time.Time]string{
		now.Add(-time.Hour):                                 "22:30:00Z",
		now.Add(time.Hour):                                  "21 Nov 00:30Z",
		now.Add(time.Hour + 10*time.Second):                 "21 Nov 00:30:10Z",
		now.AddDate(1, 0, 0):                                "2027-11-20 23:30Z",
		now.In(time.FixedZone("", 3600)):                    "23:30:00Z",
		time.Date(2025, 11, 20, 1, 2, 3, 4, now.Location()): "2025-11-20 01:02:03Z",
	} {
		for _, width := range []int{10, 30} {
			var out strings.Builder
			if err := WriteTable(&out, width, []string{"at"}, [][]string{{Stamp(at, now)}}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), " "+want) {
				t.Errorf("want %s in\n%s", want, out.String())
			}
		}
	}
}
