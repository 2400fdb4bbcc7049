package silence

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/louver/louver/stream/record"
)

var eight = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// count is the record of a released count in a window of a minute.
func count(group string, window int, value int64) record.Value {
	number := func(n int64) *json.Number { return new(json.Number(strconv.FormatInt(n, 10))) }
	start := eight.Add(time.Duration(window) * time.Minute)
	return record.Value{Stream: "web", Group: group, Release: "users", Statistic: "count", Users: &value,
		WindowStart: start, WindowEnd: start.Add(time.Minute), Value: number(value), Error95: number(30)}
}

// of feeds counts of a group and returns what is said in the end.
func of(values ...int64) (groups []State, all *State) {
	var t Tracker
	for i, v := range values {
		t.Add(count("eu", i, v))
	}
	return t.Of("web")
}

func TestAGroupFallsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		counts []int64
		since  int // the window in which the silence begins; −1: none
	}{
		"nothing yet":                  {nil, -1},
		"two windows may be noise":     {[]int64{900, 910, 5, 0}, -1},
		"three may not":                {[]int64{900, 910, 5, 0, 12}, 2},
		"one count beyond its error":   {[]int64{900, 910, 5, 0, 12, 41, 3}, 2},
		"a few users are not back":     {[]int64{900, 5, 0, 12, 41, 3, 0, 39, 8}, 1},
		"many users are back":          {[]int64{900, 5, 0, 12, 200}, -1},
		"some users are back":          {[]int64{900, 5, 0, 12, 75, 75, 75}, -1},
		"silent again":                 {[]int64{900, 5, 0, 12, 880, 9, 9, 9}, 5},
		"it has never been readable":   {[]int64{20, 5, 33, 12, 0, 28, 3, 3, 3}, -1},
		"it was hardly readable":       {[]int64{40, 50, 45, 40, 12, 0, 28, 3, 3, 3}, -1},
		"it was readable by and by":    {[]int64{80, 85, 82, 90, 12, 0, 28, 3}, 4},
		"it was silent from the start": {[]int64{0, 0, 0, 0}, -1},
	} {
		groups, all := of(c.counts...)
		if (all != nil) != (c.since >= 0) || (len(groups) == 1) != (c.since >= 0) {
			t.Errorf("%s: groups %v, stream %v", name, groups, all)
			continue
		}
		if want := eight.Add(time.Duration(c.since) * time.Minute); all != nil && !all.Since.Equal(want) {
			t.Errorf("%s: since %v, want %v", name, all.Since, want)
		}
	}
}

func TestAtMostIsTheCountAndItsError(t *testing.T) {
	if _, all := of(900, 5, 0, 12); all.AtMost != 42 {
		t.Errorf("at most %d; the newest count is 12 ± 30", all.AtMost)
	}
}

// A stream is silent only if all its groups are, and if all of them together are.
func TestAllGroupsOfAStream(t *testing.T) {
	feed := func(groups map[string][]int64) (silent []State, all *State) {
		var tracker Tracker
		for name, values := range groups {
			for i, v := range values {
				tracker.Add(count(name, i, v))
			}
		}
		return tracker.Of("web")
	}
	groups, all := feed(map[string][]int64{"eu": {900, 3, 3, 3, 3}, "us": {800, 800, 800, 800, 800}})
	if len(groups) != 1 || groups[0].Group != "eu" || all != nil {
		t.Errorf("one of two: groups %v, stream %v", groups, all)
	}
	// All groups together are no further group: they would count everybody twice.
	var tracker Tracker
	for i, v := range []int64{900, 30, 30, 30, 30} {
		tracker.Add(count("eu", i, v))
		both := count("all", i, v)
		both.Together = true
		tracker.Add(both)
	}
	if groups, all = tracker.Of("web"); all == nil || all.AtMost > 60 || len(groups) != 1 {
		t.Errorf("with all groups together: groups %v, stream %v", groups, all)
	}
	groups, all = feed(map[string][]int64{"eu": {900, 3, 3, 3, 3}, "us": {800, 800, 3, 3, 3}, "ap": {9, 0, 3, 8, 8}})
	if len(groups) != 2 || all == nil || !all.Since.Equal(eight.Add(2*time.Minute)) {
		t.Errorf("two, and one that has always been small: groups %v, stream %v", groups, all)
	}
	many := map[string][]int64{}
	for i := range 50 {
		many[strconv.Itoa(i)] = []int64{900, 16, 16, 16}
	}
	if groups, all = feed(many); len(groups) != 50 || all != nil { // 750 users
		t.Errorf("50 groups of 16 users each: %d groups are silent, stream %v", len(groups), all)
	}
	for i := range 50 {
		many[strconv.Itoa(i)] = []int64{900, 5, 5, 5} // what noise around 0 that is cut off there is on average
	}
	if groups, all = feed(many); len(groups) != 50 || all == nil {
		t.Errorf("50 groups of nobody: %d groups are silent, stream %v", len(groups), all)
	}
}

func TestWhatTellsNothing(t *testing.T) {
	var tracker Tracker
	add := func(window int, value int64, change func(*record.Value)) {
		r := count("eu", window, value)
		change(&r)
		tracker.Add(r)
	}
	same := func(*record.Value) {}
	add(0, 900, same)
	for i := range 9 {
		add(3*i+1, 0, func(r *record.Value) { r.Incomplete = true })
		add(3*i+2, 0, func(r *record.Value) { r.Value = nil })
		add(3*i+3, 0, func(r *record.Value) { r.Windows = new(record.Windows) })
	}
	if groups, _ := tracker.Of("web"); groups != nil {
		t.Errorf("incomplete and withheld windows and roll-ups: %v", groups)
	}
	for i := range 3 { // once and again
		add(40, 0, same)
		add(41, 0, func(r *record.Value) { r.Users, r.Release = new(int64(900)), "slow" }) // nobody is above a limit
		if groups, _ := tracker.Of("web"); groups != nil {
			t.Errorf("one window, %d times: %v", i+1, groups)
		}
	}
	add(42, 0, same)
	add(43, 0, same)
	if groups, _ := tracker.Of("web"); len(groups) != 1 {
		t.Errorf("three windows of nobody: %v", groups)
	}
	for i := range 2 {
		add(44+i, 0, func(r *record.Value) { r.Value = nil })
		if groups, _ := tracker.Of("web"); len(groups) != 1-i {
			t.Errorf("%d windows are withheld after them: %v", i+1, groups)
		}
	}
	if groups, all := tracker.Of("other"); groups != nil || all != nil {
		t.Errorf("a stream that is not there: %v, %v", groups, all)
	}
}

// A histogram says how many users there are where no count is released. Where one is, the count says it.
func TestHistogram(t *testing.T) {
	var tracker Tracker
	add := func(group string, window int, value int64) {
		r := count(group, window, value)
		r.Statistic, r.Release, r.Users = "histogram", "latency", nil
		tracker.Add(r)
	}
	for i, v := range []int64{900, 3, 3, 3} {
		add("eu", i, v)
		add("us", i, v)
		tracker.Add(count("us", i, 900))
	}
	if groups, _ := tracker.Of("web"); len(groups) != 1 || groups[0].Group != "eu" {
		t.Errorf("silent: %v; want eu, whose histogram shows nobody, and not us, which has a count", groups)
	}
}

// Nobody at all: noise ends a silence in fewer than 1 of 100,000 windows. With discrete Laplace noise it does so in
// about 4 of a million, so 16 of these 4 million; at 41 and more, which has a probability below 1e-6, the promise is
// broken. Noise of twice the error that is told breaks it.
func TestNoiseDoesNotEndASilence(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	laws := map[string]func() float64{
		"laplace": func() float64 { // its error is 30: b = 30/ln 20
			return 30 / math.Log(20) * random.ExpFloat64() * float64(1-2*random.IntN(2))
		},
		"gaussian": func() float64 { return 30 / 1.96 * random.NormFloat64() },
	}
	ends := func(law func() float64, scale float64) (n int) {
		c := counts{silent: true}
		for range 4_000_000 {
			if c.add(math.Max(0, math.Round(scale*law())), 30, eight, eight); !c.silent {
				c, n = counts{silent: true}, n+1
			}
		}
		return n
	}
	for name, law := range laws {
		if n := ends(law, 1); n > 40 {
			t.Errorf("%s noise ends a silence in %d of 4,000,000 windows; at most 40 are promised", name, n)
		}
		if n := ends(law, 2); n <= 40 {
			t.Errorf("%s noise of twice its error ends a silence in %d of 4,000,000 windows: the test sees nothing",
				name, n)
		}
	}
}
