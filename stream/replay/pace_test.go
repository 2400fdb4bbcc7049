package replay_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/louver/louver/stream/replay"
)

func TestFrom(t *testing.T) {
	const text = "t,u,v\n2015-05-17T10:05:00Z,a,1\n2015-05-17T11:05:00Z,b,2\n2015-05-17T10:04:59.5Z,c,3\n"
	c := replay.Columns{User: "u", Value: "v", Time: "t"}
	from := time.Date(2026, 11, 20, 9, 0, 0, 0, time.FixedZone("", 3600))
	records, err := read(t, text, c, replay.Options{From: from})
	want := []string{
		`{"u":"a","v":1,"t":"2026-11-20T08:00:00Z"}`,
		`{"u":"b","v":2,"t":"2026-11-20T09:00:00Z"}`,
		`{"u":"c","v":3,"t":"2026-11-20T07:59:59.5Z"}`,
	}
	if got := values(records); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if !records[1].Time.Equal(from.Add(time.Hour)) {
		t.Errorf("time %s", records[1].Time)
	}
}

// Events come when they are due, and with From their times keep to the clock. A file that is not in order waits for
// the latest of its events so far, unless it is sorted.
func TestSpeed(t *testing.T) {
	const text = "t,u,v\n0,a,1\n60,b,2\n30,c,3\n3600,d,4\n"
	c := replay.Columns{User: "u", Value: "v", Time: "t"}
	for _, sorted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			o := replay.Options{Speed: 60, From: began, Sort: sorted}
			f, err := replay.New("f.csv", strings.NewReader(text), c, o)
			if err != nil {
				t.Fatal(err)
			}
			var after, ahead []time.Duration
			var lines []int
			for r, err := range f.Records(t.Context()) {
				if err := errors.Join(err, r.Wait(t.Context())); err != nil {
					t.Fatal(err)
				}
				after, ahead = append(after, time.Since(began)), append(ahead, r.Time.Sub(began))
				lines = append(lines, r.Line)
			}
			second, half := time.Second, time.Second/2
			wantAfter, wantAhead := []time.Duration{0, second, second, time.Minute}, []time.Duration{0, second, half,
				time.Minute}
			wantLines := []int{2, 3, 4, 5}
			if sorted {
				wantAfter = []time.Duration{0, half, second, time.Minute}
				wantAhead, wantLines = wantAfter, []int{2, 4, 3, 5}
			}
			if !slices.Equal(after, wantAfter) || !slices.Equal(ahead, wantAhead) || !slices.Equal(lines, wantLines) {
				t.Errorf("sorted %v: lines %v, due after %v, times %v after the start; want %v, %v, %v", sorted, lines,
					after, ahead, wantLines, wantAfter, wantAhead)
			}
			if times := f.Times(); times.Backwards != (replay.Noted{Count: 1, First: 4}) {
				t.Errorf("%+v", times)
			}
		})
	}
}

// The earliest event is the first, wherever it is in the file.
func TestFirst(t *testing.T) {
	const text = "t,u,v\n100,a,1\n70,b,2\n130,c,3\n"
	c := replay.Columns{User: "u", Value: "v", Time: "t"}
	f, err := replay.New("f.csv", strings.NewReader(text), c, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	times, err := f.Scan(t.Context(), func(events int) { last = events })
	if err != nil || times.Events != 3 || last != 3 || times.First.Unix() != 70 || times.Last.Unix() != 130 ||
		times.Early != (replay.Noted{Count: 3, First: 2}) {
		t.Fatalf("%+v, %v", times, err)
	}
	records, err := read(t, text, c, replay.Options{From: time.Unix(1000, 0), First: times.First})
	if want := []string{`{"u":"a","v":1,"t":"1970-01-01T00:17:10Z"}`, `{"u":"b","v":2,"t":"1970-01-01T00:16:40Z"}`,
		`{"u":"c","v":3,"t":"1970-01-01T00:17:40Z"}`}; err != nil || !slices.Equal(values(records), want) {
		t.Errorf("%q, %v", values(records), err)
	}
}

// Times that name no zone are in the one that is given, and what is odd about times is noted.
func TestTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const text = "t,u,v\n,a,1\n2015-05-17 12:05:00,a,1\n2015-01-17T12:05:00.5,a,1\nyesterday,a,1\n2015-05-17,a,1\n" +
		"2015-05-17T12:05:00Z,a,1\n2015-05-17 12:05:00+02:00,a,1\n1989-12-31T23:59:59Z,a,1\n"
	c := replay.Columns{User: "u", Value: "v", Time: "t"}
	for zone, want := range map[*time.Location][]string{
		nil: {"2015-05-17T12:05:00Z", "2015-01-17T12:05:00.5Z", "2015-05-17T00:00:00Z", "2015-05-17T12:05:00Z",
			"2015-05-17T10:05:00Z", "1989-12-31T23:59:59Z"},
		berlin: {"2015-05-17T10:05:00Z", "2015-01-17T11:05:00.5Z", "2015-05-16T22:00:00Z", "2015-05-17T12:05:00Z",
			"2015-05-17T10:05:00Z", "1989-12-31T23:59:59Z"},
	} {
		f, err := replay.New("f.csv", strings.NewReader(text), c, replay.Options{Zone: zone})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r, err := range f.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Time.Format(time.RFC3339Nano))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", zone, got, want)
		}
		times := f.Times()
		if times.Events != 6 || times.Zoneless != (replay.Noted{Count: 3, First: 3}) ||
			times.Untimed != (replay.Noted{Count: 2, First: 2}) || times.Early != (replay.Noted{Count: 1, First: 9}) {
			t.Errorf("%v: %+v", zone, times)
		}
	}
}

func TestEnds(t *testing.T) {
	const text = "t,u,v\n0,a,1\n60,b,2\n"
	c := replay.Columns{User: "u", Value: "v", Time: "t"}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		f, err := replay.New("f.csv", strings.NewReader(text), c, replay.Options{Speed: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r, failed := range f.Records(ctx) {
			n++
			err = errors.Join(failed, r.Wait(ctx))
		}
		if n != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d yields, then %v, want the context's error instead of the second event", n, err)
		}
	})
	f, err := replay.New("f.csv", strings.NewReader(text), c, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range f.Records(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}
