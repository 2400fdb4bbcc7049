package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// today is a day of quarters of an hour. A new user comes in each, who comes again in all that follow, and on the day
// before, and adds 2 each time.
func today() string {
	var b strings.Builder
	b.WriteString("ts,who,spent\n")
	for quarter := range 96 {
		for u := range quarter + 1 {
			fmt.Fprintf(&b, "2026-11-20T%02d:%02d:40Z,u%d,2\n", quarter/4, quarter%4*15+u%15, u)
		}
		fmt.Fprintf(&b, "2026-11-19T08:00:00Z,u%d,2\n", quarter)
	}
	return b.String()
}

func totalToday(more ...string) []string {
	return append([]string{"release", "--since", "midnight", "--user", "who", "--value", "spent", "--time", "ts",
		"--from", "2026-11-20T12:00:00Z", "--window", "15m"}, more...)
}

// TestReleaseTotal: with an ε as large as this the totals are exact. So they say who counts: each user once, or up to
// --max-total, in the period that holds --from.
func TestReleaseTotal(t *testing.T) {
	t.Parallel()
	bounds := []string{"--lower", "0", "--upper", "10", "--step", "1", "--epsilon", "20000"}
	for name, c := range map[string]struct {
		args   []string
		values int
		total  func(quarters int) int // after so many quarters
	}{
		"users once":        {[]string{"--epsilon", "2000"}, 96, func(n int) int { return n }},
		"whoever has a row": {[]string{"--epsilon", "2000", "--value", ""}, 96, func(n int) int { return n }},
		"every hour":        {[]string{"--epsilon", "2000", "--update", "1h"}, 24, func(n int) int { return n }},
		"none below 2":      {append(bounds, "--below", "2"), 96, func(int) int { return 0 }},
		"in two windows":    {[]string{"--epsilon", "2000", "--max-total", "2"}, 96, func(n int) int { return 2*n - 1 }},
		"an amount": {append(bounds, "--statistic", "sum", "--max-total", "5"), 96,
			func(n int) int { return 5*(n-2) + 4 + 2 }},
	} {
		got := commandLine(t, today(), totalToday(c.args...)...)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		if got.code != 0 || got.err != "" || len(lines) != c.values {
			t.Errorf("%s: %d, %q, %d values", name, got.code, got.err, len(lines))
			continue
		}
		for i, line := range lines {
			quarters := (i + 1) * 96 / c.values
			if want := max(c.total(quarters), 0); quarters > 1 && !strings.Contains(line,
				fmt.Sprintf("Z %d ± ", want)) &&
				(want != 0 || !strings.Contains(line, "Z 0 (at most ")) {
				t.Errorf("%s: %s, want %d", name, line, want)
			}
		}
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "2026-11-21T00:00:00Z ") {
			t.Errorf("%s: ends with %s", name, last)
		}
	}
}

// TestReleaseDistributionSoFar: with an ε as large as this the numbers of all buckets are exact. A user is in the
// bucket of what they had in their first window, or with --max-total in one for each of several windows.
func TestReleaseDistributionSoFar(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("ts,who,spent\n2026-11-19T08:00:00Z,u0,9\n") // the day before
	for u := range 60 {                                        // in hour u mod 24, and then with another value in the next but one
		fmt.Fprintf(&b, "2026-11-20T%02d:10:00Z,u%d,%d\n", u%24, u, u%10)
		if u%24 < 22 {
			fmt.Fprintf(&b, "2026-11-20T%02d:10:00Z,u%d,%d\n", u%24+2, u, 9-u%10)
		}
	}
	bucket := func(value int) int { return []int{0, 0, 0, 1, 1, 2, 2, 2, 2, 3}[value] } // up to 2, 4, 8 and 10
	for most := 1; most <= 2; most++ {
		got := commandLine(t, b.String(), totalToday("--window", "1h", "--statistic", "histogram", "--buckets", "2,4,8",
			"--lower", "0", "--upper", "10", "--step", "1", "--epsilon", "20000", "--max-total", fmt.Sprint(most))...)
		want := ""
		for hour := range 24 {
			counts := make([]int, 5)
			for u := range 60 {
				if u%24 <= hour {
					counts[bucket(u%10)]++
				}
				if most == 2 && u%24 < 22 && u%24+2 <= hour {
					counts[bucket(9-u%10)]++
				}
			}
			for i, end := range []string{"2", "4", "8", "10", "+Inf"} {
				bound := "± 1" // half of a user, which is rounded up
				if counts[i] <= 1 {
					bound = fmt.Sprintf("(at most %d)", counts[i]+1)
				}
				want += fmt.Sprintf("%s le=%s %d %s\n", time.Date(2026, 11, 20, hour+1, 0, 0, 0, time.UTC).Format(
					time.RFC3339), end, counts[i], bound)
			}
		}
		if got.code != 0 || got.err != "" || got.out != want {
			t.Errorf("max_total %d: %d, %q, %s\nwant %s", most, got.code, got.err, got.out, want)
		}
	}
	got := commandLine(t, b.String(), totalToday("--window", "1h", "--statistic", "histogram", "--buckets", "scale:1",
		"--levels", "2", "--lower", "0", "--upper", "10000", "--step", "1", "--epsilon", "20000", "--json")...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	for _, want := range []string{`"statistic":"histogram","mechanism":"tree","since":"2026-11-20T00:00:00Z","value":60,`,
		`"window_end":"2026-11-21T00:00:00Z"`, `"error_95":1,"low":59,"high":61,`, `"buckets":{"le":[`, `"coarse":[54,6,0,0,0]`,
		`"final":true,"epsilon":20000}`} {
		if last := lines[len(lines)-1]; got.code != 0 || len(lines) != 24 || !strings.Contains(last, want) {
			t.Errorf("%d, %q, %d lines, the last one %s; want %s", got.code, got.err, len(lines), last, want)
		}
	}
	if strings.Contains(got.out, "smoothed") {
		t.Errorf("a distribution has no smoothed value: %s", lines[0])
	}
}

// TestReleaseTotalOfAShortDay: a day of 23 hours has fewer values. Their errors are those that plan forecasts.
func TestReleaseTotalOfAShortDay(t *testing.T) {
	t.Parallel()
	got := commandLine(t, "ts,who,spent\n2026-11-20T08:00:00Z,u,1\n", totalToday("--epsilon", "1", "--from",
		"2026-03-29T12:00:00Z", "--zone", "Europe/Berlin", "--json")...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	const silent = "louver: stdin holds no users from 2026-03-28T23:00:00Z to 2026-03-29T22:00:00Z (this line is not " +
		"private: do not publish it)\n"
	if got.code != 0 || len(lines) != 92 || got.err != silent {
		t.Fatalf("%d, %q, %d values", got.code, got.err, len(lines))
	}
	for leaf, want := range map[int]string{
		24: `"level":0.95,"basis":"noise","usual_95":null,"final":false,"epsilon":1}`, 48: `"error_95":21,"low":`,
		92: `"final":true,"epsilon":1}`,
	} {
		const since = `"statistic":"count","mechanism":"tree","since":"2026-03-28T23:00:00Z","value":`
		if line := lines[leaf-1]; !strings.Contains(line, want) || !strings.Contains(line, since) {
			t.Errorf("%s\nwant %s", line, want)
		}
	}
}

// TestReleaseTotalSaysItsBand: a total of few users says how many there are at most, and not a range below 0. In JSON
// it has the same band.
func TestReleaseTotalSaysItsBand(t *testing.T) {
	t.Parallel()
	const nobody = "ts,who,spent\n2026-11-20T08:00:00Z,u,1\n"
	got := commandLine(t, nobody, totalToday("--epsilon", "0.1")...)
	for line := range strings.Lines(got.out) {
		if !strings.HasSuffix(line, ")\n") && !strings.Contains(line, " ± ") || strings.Contains(line, "-") &&
			strings.Contains(line[len("2026-11-20T12:00:00Z"):], "-") {
			t.Errorf("a line is %s", line)
		}
	}
	if got.code != 0 || !strings.Contains(got.out, " (at most ") {
		t.Errorf("%d: %s", got.code, got.out)
	}
	got = commandLine(t, nobody, totalToday("--epsilon", "0.1", "--json")...)
	for line := range strings.Lines(got.out) {
		var v struct{ Value, Error_95, Low, High, Level float64 }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v.Level != 0.95 || v.High != v.Value+v.Error_95 || v.Low != max(0, v.Value-v.Error_95) {
			t.Errorf("%s: %+v", line, v)
		}
	}
}
