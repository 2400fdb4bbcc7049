package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/replay"
)

// times replays a file with these dates, one a line, and returns the times of its records.
func times(t *testing.T, dates []string, o replay.Options) (got []string, noted replay.Times, err error) {
	t.Helper()
	text := "t;u;v\n" + strings.Join(dates, ";a;1\n") + ";a;1\n"
	o.Delimiter = ';'
	f, err := replay.New("f.csv", strings.NewReader(text), replay.Columns{User: "u", Value: "v", Time: "t"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range f.Records(t.Context()) {
		if err != nil {
			return got, f.Times(), err
		}
		got = append(got, strings.TrimSuffix(r.Time.Format(time.DateTime), " 00:00:00"))
	}
	return got, f.Times(), nil
}

// Dates are read as people and programs write them. Those that could be read in two ways go by the first in the file
// that cannot, wherever it stands.
func TestDates(t *testing.T) {
	for name, c := range map[string]struct {
		dates  []string
		order  replay.Dates
		want   []string
		either replay.Noted
	}{
		"each in one way only": {[]string{"28/11/2026", "28.11.2026 08:05", "03.04.2026 08:05:07.5", "28-11-2026 8:05",
			"20261128", "20261128 08:05", "2026/11/28 08:05:07", "2026-1-5", "28 Nov 2026", "28-nov-2026 8:05 PM",
			"November 28, 2026", "Nov 28 2026, 12:05am", "28/Nov/2026:08:05:07", "28.11.26", "1/1/71", "28/11/2026 7"},
			0, []string{"2026-11-28", "2026-11-28 08:05:00", "2026-04-03 08:05:07", "2026-11-28 08:05:00", "2026-11-28",
				"2026-11-28 08:05:00", "2026-11-28 08:05:07", "2026-01-05", "2026-11-28", "2026-11-28 20:05:00",
				"2026-11-28", "2026-11-28 00:05:00", "2026-11-28 08:05:07", "2026-11-28", "1971-01-01",
				"2026-11-28 07:00:00"}, replay.Noted{}},
		"a later date has the day first": {[]string{"03/04/2026", "yesterday", "04/04/2026", "13/04/2026"}, 0,
			[]string{"2026-04-03", "2026-04-04", "2026-04-13"}, replay.Noted{}},
		"a later date has the month first": {[]string{"12/1/2010 8:26", "12/3/2010 10:01", "12/13/2010 9:41"}, 0,
			[]string{"2010-12-01 08:26:00", "2010-12-03 10:01:00", "2010-12-13 09:41:00"}, replay.Noted{}},
		"none says it": {[]string{"05/05/2026", "03/04/2026", "04/04/2026", "05/04/2026"}, 0,
			[]string{"2026-05-05", "2026-04-03", "2026-04-04", "2026-04-05"}, replay.Noted{Count: 2, First: 3}},
		"a choice": {[]string{"03/04/2026", "03.04.2026", "2026-04-03"}, replay.MonthFirst,
			[]string{"2026-03-04", "2026-04-03", "2026-04-03"}, replay.Noted{}},
		"no dates": {[]string{"2026-04-03", "1/2/3", "13/13/2026", "30/02/2026", "30 Fex 2026", "1,2,2026", "20261332 08:00",
			"28/11/2026 25:00", "31/04/2026", "2026-04-04"}, 0, []string{"2026-04-03", "2026-04-04"}, replay.Noted{}},
		"the other order after one that decides": {[]string{"28/11/2026", "11/28/2026"}, 0, []string{"2026-11-28"},
			replay.Noted{}},
	} {
		got, noted, err := times(t, c.dates, replay.Options{Dates: c.order})
		if err != nil || !slices.Equal(got, c.want) || noted.Either != c.either {
			t.Errorf("%s: %q, %+v, %v; want %q, %+v", name, got, noted.Either, err, c.want, c.either)
		}
	}
}

// If a date far behind the first ones contradicts what was assumed of them, the file is refused with what to say.
func TestDatesContradict(t *testing.T) {
	dates := []string{"13/13/2026"}
	for i := range 100_100 {
		dates = append(dates, fmt.Sprintf("03/04/2026 10:%02d", i%60))
	}
	_, _, err := times(t, append(dates, "03/28/2026"), replay.Options{})
	const want = "f.csv:100103: the date has the month first, and earlier ones, such as on line 3, can be read in two " +
		"ways; want dates mdy, or dmy if this line is wrong"
	if err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	got, noted, err := times(t, append(dates, "28/03/2026"), replay.Options{})
	if err != nil || len(got) != 100_101 || noted.Either.Count != 0 {
		t.Errorf("%d times, %+v, %v; want all, and none in doubt", len(got), noted.Either, err)
	}
}
