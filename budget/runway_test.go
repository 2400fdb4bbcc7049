package budget

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/budget/privacy"
)

// bruteRunway charges window by window up to a horizon.
func bruteRunway(a *Account, schedules []Schedule, horizon int64, expected ...Held) Runway {
	type window struct{ stream, end int64 }
	var all []window
	for i, p := range schedules {
		for end := p.Start + int64(p.Size); end <= horizon && (p.End == 0 || end <= p.End); end += int64(p.Every) {
			all = append(all, window{int64(i), end})
		}
	}
	slices.SortStableFunc(all, func(x, y window) int { return cmp.Compare(x.end, y.end) })
	copied := a.clone()
	for n, w := range all {
		for len(expected) > 0 && expected[0].From < w.end {
			if copied.FitsHeld(expected[0]) {
				_ = copied.Hold(expected[0])
			}
			expected = expected[1:]
		}
		c := schedules[w.stream].charge(w.end)
		if !copied.Fits(c) {
			return Runway{Windows: int64(n), ExhaustedAt: w.end}
		}
		copied.Add(c)
	}
	return Runway{Pays: true}
}

// The numbers are small, so that every pattern repeats within the horizon: steps up to 6 repeat after at most 60, and
// periods are up to 20 long.
func TestRunwayAgainstBruteForce(t *testing.T) {
	const series = 15 // of a hundred accounts each: one alone misses some faults one time in three
	for range series {
		rapid.Check(t, runsAsFarAsBruteForce)
	}
}

func runsAsFarAsBruteForce(t *rapid.T) {
	limit := anyLimit().Draw(t, "limit")
	a := NewAccount(limit)
	for _, end := range rapid.SliceOfN(rapid.Int64Range(-20, 10), 0, 5).Draw(t, "charged") {
		a.Add(charge("old", end, anyItem().Draw(t, "item")))
	}
	if rapid.Bool().Draw(t, "holds") {
		for i := range rapid.IntRange(1, 2).Draw(t, "held") {
			if err := a.Hold(anyHeld(string(rune('0'+i))).Draw(t, "held charge")); err != nil {
				t.Fatal(err)
			}
		}
	}
	var schedules []Schedule
	endless := false
	for i := range rapid.IntRange(1, 3).Draw(t, "streams") {
		p := Schedule{
			Stream: string(rune('a' + i)),
			Start:  rapid.Int64Range(-5, 10).Draw(t, "start"),
			Size:   time.Duration(rapid.Int64Range(1, 6).Draw(t, "size")),
			Every:  time.Duration(rapid.Int64Range(1, 6).Draw(t, "every")),
			Cap:    anyCap().Draw(t, "cap"),
			Items:  []Item{anyItem().Draw(t, "item")},
		}
		if rapid.Bool().Draw(t, "ends") {
			p.End = rapid.Int64Range(1, 50).Draw(t, "end")
		}
		endless = endless || p.End == 0
		schedules = append(schedules, p)
	}
	var expected []Held
	for i := range rapid.IntRange(0, 3).Draw(t, "expected") {
		h := anyHeld(string(rune('x'+i))).Draw(t, "expected charge")
		h.From, h.To = rapid.Int64Range(0, 60).Draw(t, "from"), Open
		expected = append(expected, h)
	}
	slices.SortStableFunc(expected, func(x, y Held) int { return cmp.Compare(x.From, y.From) })
	want := bruteRunway(a, schedules, 300, expected...)
	got := a.Runway(schedules, expected...)
	if want.Pays && endless && limit.Per == 0 {
		// 300 steps are too few to exhaust it; this checks only that the call ends.
		if got.Pays || got.ExhaustedAt <= 300 {
			t.Fatalf("%+v, want a budget for ever exhausted after 300", got)
		}
		return
	}
	if got.Pays != want.Pays || got.Windows != want.Windows || got.ExhaustedAt != want.ExhaustedAt {
		t.Fatalf("%+v, want %+v", got, want)
	}
	alone := NewAccount(limit)
	for _, p := range schedules {
		for k := range p.count(300) {
			alone.Add(p.charge(p.first() + k*int64(p.Every)))
		}
	}
	for at := int64(0); at <= 300; at++ {
		if s := alone.Spent(at); !got.Worst.Unbounded && s.Epsilon.Cmp(got.Worst.Epsilon) > 0 {
			t.Fatalf("the period ending at %d spends %s, more than the worst %s", at, s.Epsilon, got.Worst.Epsilon)
		}
	}
}

func quarterHours(epsilon string) Schedule {
	return Schedule{Stream: "s", Size: 15 * time.Minute, Every: 15 * time.Minute,
		Items: []Item{boundedRange(epsilon, 1)}}
}

func TestRunway(t *testing.T) {
	day := Limit{Epsilon: dec("24"), Per: 24 * time.Hour}
	hour := int64(time.Hour)
	ending := quarterHours("0.25")
	ending.End = 24 * hour
	hopping := quarterHours("0.25")
	hopping.Size = time.Hour
	for _, c := range []struct {
		name      string
		limit     Limit
		schedules []Schedule
		want      Runway
		worst     string
	}{
		{"the day's 96 windows equal the limit", day, []Schedule{quarterHours("0.25")}, Runway{Pays: true}, "24"},
		{"a little dearer", day, []Schedule{quarterHours("0.2501")},
			Runway{Windows: 95, ExhaustedAt: 24 * hour}, "24.0096"},
		{"two streams", day, []Schedule{quarterHours("0.25"), quarterHours("0.25")},
			Runway{Windows: 96, ExhaustedAt: 12*hour + hour/4}, "48"},
		{"for ever", Limit{Epsilon: dec("24")}, []Schedule{quarterHours("0.25")},
			Runway{Windows: 96, ExhaustedAt: 24*hour + hour/4}, ""},
		{"for ever, ending", Limit{Epsilon: dec("24")}, []Schedule{ending}, Runway{Pays: true}, "24"},
		{"for ever, ending too late", Limit{Epsilon: dec("23.9")}, []Schedule{ending},
			Runway{Windows: 95, ExhaustedAt: 24 * hour}, "24"},
		{"hopping windows end as often as they begin", day, []Schedule{hopping}, Runway{Pays: true}, "24"},
		{"nothing planned", day, nil, Runway{Pays: true}, "0"},
		{"too dear for one window", day, []Schedule{quarterHours("25")}, Runway{ExhaustedAt: hour / 4}, "2400"},
	} {
		got := NewAccount(c.limit).Runway(c.schedules)
		if got.Pays != c.want.Pays || got.Windows != c.want.Windows || got.ExhaustedAt != c.want.ExhaustedAt {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if c.worst == "" != got.Worst.Unbounded || c.worst != "" && !got.Worst.Epsilon.Equal(dec(c.worst)) {
			t.Errorf("%s: the worst period spends %+v, want %s", c.name, got.Worst, c.worst)
		}
	}
}

// A lifetime budget that lasts longer than the clock still never pays for an endless schedule.
func TestRunwayBeyondTheClock(t *testing.T) {
	s := quarterHours("0.0000001")
	got := NewAccount(Limit{Epsilon: dec("1000000")}).Runway([]Schedule{s})
	if got.Pays || got.ExhaustedAt != 0 || got.Windows != math.MaxInt64/(15*int64(time.Minute)) {
		t.Errorf("%+v", got)
	}
}

func TestRunwayOfNothingFromAnOverspentAccount(t *testing.T) {
	a := NewAccount(Limit{Epsilon: dec("1")})
	a.Add(charge("s", 5, pure("2", 1)))
	over := quarterHours("1")
	over.End = 1
	if got := a.Runway([]Schedule{over}); !got.Pays {
		t.Errorf("%+v, want nothing unpaid: no window is planned", got)
	}
}

// An account whose past lies on the schedules is answered from them, and from what is held and expected at its most. No
// other account is: a window out of step, one that was charged twice, one of another price or of a foreign stream may be
// what a period cannot pay for.
func TestRunwayOnSchedule(t *testing.T) {
	short, beside := 0, 0 // answers from the schedules alone, and with something held and expected
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{Per: time.Duration(rapid.Int64Range(3, 12).Draw(t, "per"))}
		a := NewAccount(limit)
		var schedules []Schedule
		for i := range rapid.IntRange(1, 2).Draw(t, "streams") {
			price := dec(rapid.SampledFrom([]string{"1", "2"}).Draw(t, "price"))
			p := Schedule{
				Stream: string(rune('a' + i)), Size: 1, Every: time.Duration(rapid.Int64Range(1, 4).Draw(t, "every")),
				Items: []Item{{Promise: privacy.NewPure(price), Times: 1}},
			}
			schedules = append(schedules, p)
			for k := range rapid.Int64Range(0, 15).Draw(t, "past") {
				a.Add(p.charge(p.first() - (k+1)*int64(p.Every)))
			}
		}
		p := schedules[0]
		switch rapid.SampledFrom([]string{"", "", "twice", "out of step", "dearer", "foreign", "ahead"}).Draw(t, "odd") {
		case "twice":
			a.Add(p.charge(p.first() - int64(p.Every)))
			a.Add(p.charge(p.first() - int64(p.Every)))
		case "out of step":
			a.Add(p.charge(p.first() - int64(p.Every) + 1))
		case "dearer":
			a.Add(charge("a", p.first()-int64(p.Every), Item{Promise: privacy.NewPure(dec("3")), Times: 1}))
		case "foreign":
			a.Add(charge("c", 0, p.Items[0]))
		case "ahead":
			a.Add(p.charge(p.first()))
		}
		lasting := func(i int, from int64) Held {
			h := anyHeld(string(rune('0'+i))).Draw(t, "held charge")
			h.From = from
			h.To = max(from, min(h.To, from+20))
			return h
		}
		held := rapid.IntRange(0, 3).Draw(t, "held")
		for i := range held {
			if err := a.Hold(lasting(i, rapid.Int64Range(-30, 0).Draw(t, "from"))); err != nil {
				t.Fatal(err)
			}
		}
		var expected []Held
		for i := range rapid.IntRange(0, 3).Draw(t, "expected") {
			expected = append(expected, lasting(held+i, rapid.Int64Range(0, 60).Draw(t, "from")))
		}
		slices.SortStableFunc(expected, func(x, y Held) int { return cmp.Compare(x.From, y.From) })
		worst, _ := a.fullest(schedules)
		spare := dec(rapid.SampledFrom([]string{"0", "0", "1", "2", "4"}).Draw(t, "spare"))
		limit.Epsilon = a.filter.bound(worst).Epsilon.Add(spare)
		a.SetLimit(limit)
		if a.onSchedule(schedules) && a.fitsFullest(worst, schedules, expected) {
			short++
			if held > 0 && len(expected) > 0 {
				beside++
			}
		}
		want, got := bruteRunway(a, schedules, 300, expected...), a.Runway(schedules, expected...)
		if got.Pays != want.Pays || got.Windows != want.Windows || got.ExhaustedAt != want.ExhaustedAt {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
	if short == 0 || beside == 0 {
		t.Errorf("%d accounts were on schedule, %d with something beside", short, beside)
	}
}
