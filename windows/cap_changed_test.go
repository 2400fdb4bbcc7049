package windows

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// changed returns how many windows have another sample if a user with these moments takes back those from one to before
// another. A window is overlap moments long, and one begins at every moment.
func changed(rule CapRule, u UserHash, overlap int, moments []bool, from, to int) (n int64) {
	with, without, touched := make([]bool, len(moments)), make([]bool, len(moments)), make([]bool, len(moments))
	for w := range moments {
		for at := w; at < min(w+overlap, len(moments)); at++ {
			goes := from <= at && at < to
			with[w] = with[w] || moments[at]
			without[w] = without[w] || moments[at] && !goes
			touched[w] = touched[w] || moments[at] && goes
		}
	}
	before, after := byDefinition(rule, u, 0, with), byDefinition(rule, u, 0, without)
	for w := range moments {
		counted, counts := slices.Contains(before, w), slices.Contains(after, w)
		if counted != counts || counted && touched[w] {
			n++
		}
	}
	return n
}

// What a user takes back changes no more windows than ChangedBy says, whatever stays.
func TestCapChangesNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, s, rule := drawCap(t)
		overlap := int(s.Size / s.Every)
		first, days := drawDays(t)
		for u, moments := range days {
			u[1] += uint64(first + 200)
			for from := range moments {
				for _, length := range []int{1, 2, 1 + from%7, int(rule.Windows)} {
					touched := int64(length + overlap - 1)
					if n := changed(rule, u, overlap, moments, from, from+length); n > rule.ChangedBy(touched) {
						t.Fatalf("%d windows change with %d of user %x from %d on; want at most %d: %+v", n, touched, u,
							from, rule.ChangedBy(touched), rule)
					}
				}
			}
		}
	})
}

// Somebody who comes for the first time when a day begins, and stays, changes as many windows as it says.
func TestCapChangesSoMany(t *testing.T) {
	for name, c := range map[string]struct {
		every         time.Duration
		count, parts  int64
		overlap       int
		counts, wants int64 // in a stretch of a day
		one           int64 // of the windows of one event
	}{
		"hours":           {time.Hour, 8, 3, 1, 8, 10, 2},
		"minutes":         {time.Minute, 8, 3, 1, 8, 10, 2},
		"quarters":        {15 * time.Minute, 12, 2, 1, 12, 16, 2},
		"one part":        {time.Hour, 4, 1, 1, 4, 6, 2},
		"hours of two":    {time.Hour, 8, 3, 2, 8, 10, 4},
		"every window":    {12 * time.Hour, 2, 1, 1, 2, 3, 2},
		"one of each day": {24 * time.Hour, 2, 1, 1, 1, 3, 2},
	} {
		rule, err := CapSpec{Count: c.count, Per: 24 * time.Hour,
			Parts: c.parts}.Rule(Schedule{Size: time.Duration(c.overlap) * c.every, Every: c.every})
		if err != nil {
			t.Fatal(err)
		}
		day := int(24 * time.Hour / c.every)
		most := func(from, moments int) (most int64) {
			all := make([]bool, from+moments+3*int(rule.Block)+c.overlap)
			for i := from; i < len(all); i++ {
				all[i] = true
			}
			for shift := range uint64(rule.Block) {
				most = max(most, changed(rule, UserHash{1, shift}, c.overlap, all, from, from+moments))
			}
			return most
		}
		// A stretch of a day that begins within a moment reaches into one more.
		if n, said := most(c.overlap, day+1), rule.ChangedBy(int64(day+c.overlap)); n != c.wants || said != c.wants ||
			rule.AtMost() != c.counts {
			t.Errorf("%s: %d windows change, %d is said, and a user counts in %d; want %d, and %d: %+v", name, n, said,
				rule.AtMost(), c.wants, c.counts, rule)
		}
		if n, said := most(c.overlap, 1), rule.ChangedBy(int64(c.overlap)); n > said || said != c.one {
			t.Errorf("%s: one event changes %d windows, %d is said; want %d", name, n, said, c.one)
		}
	}
}
