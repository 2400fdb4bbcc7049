package web

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// Figures that leap are signals, and their return is none: it is like most of the hour before. Whoever asks for some
// windows is answered as if for all.
func TestSignals(t *testing.T) {
	w := newWorld(t, 16<<20)
	for window := range 90 {
		value := 1000 + window%7
		if window == 15 || window == 16 || window == 80 {
			value = 8000
		}
		w.publish(0, text("s", "eu", "users", window, fmt.Sprint(value)))
		w.publish(0, text("s", "us", "users", window, "1000"))
	}
	h := served(w, nil, epoch.Add(90*time.Minute))
	compared := map[string]bool{}
	asked := func(query string) (ends []string) {
		t.Helper()
		got := answered[struct {
			Signals []signal
			Series  []course
		}](t, h, "/api/v1/signals?"+query)
		for _, one := range got.Signals {
			if one.Group != "eu" || one.Release != "users" || one.Stream != "s" || one.Basis != "error_95" ||
				one.Direction != "above" || one.Median != "1003" {
				t.Errorf("%+v", one)
			}
			ends = append(ends, one.End.Format("15:04 ")+one.Sentence)
		}
		for _, one := range got.Series {
			compared[one.Group] = one.Compared
		}
		return ends
	}
	const says = "8,000 users is above 1,003, the median of the %d windows before it, by more than noise and the usual " +
		"variation explain."
	first, second := "08:16 "+fmt.Sprintf(says, 15), "09:21 "+fmt.Sprintf(says, 60)
	want(t, "all", asked(""), []string{first, second})
	want(t, "the newest ten", asked("last=10"), []string{second})
	want(t, "until 09:00", asked("to=2026-11-20T09:00:00Z"), []string{first})
	want(t, "of the other group", asked("group=us"), []string(nil))
	// Eight figures have to be before one that is compared.
	want(t, "compared at the end", compared, map[string]bool{"eu": true, "us": true})
	asked("to=2026-11-20T08:08:00Z")
	want(t, "compared with seven", compared, map[string]bool{"eu": false, "us": false})
	// The windows of a day share its false marks.
	all := w.store.histories(selection{})
	if a, b := (signals{source{store: w.store}}).alpha(all[0]), 0.01/1440; math.Abs(a-b) > 1e-12 {
		t.Errorf("a window a minute is marked from %g on; want %g", a, b)
	}
}
