package web

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"
)

// A figure that leaps is a signal, and those after it are not, though they differ from a mean that it is in. Who asks
// for some windows is answered as if for all.
func TestSignals(t *testing.T) {
	w := newWorld(t, 16<<20)
	for window := range 90 {
		value := 1000 + window%7
		if window == 40 || window == 80 {
			value = 8000
		}
		w.publish(0, text("s", "eu", "users", window, fmt.Sprint(value)))
		w.publish(0, text("s", "us", "users", window, "1000"))
	}
	h := served(w, nil, epoch.Add(90*time.Minute))
	asked := func(query string) (ends []string) {
		t.Helper()
		var got struct{ Signals []signal }
		if err := json.Unmarshal([]byte(ask(t, h, "/api/v1/signals?"+query)), &got); err != nil {
			t.Fatal(err)
		}
		for _, one := range got.Signals {
			if one.Group != "eu" || one.Release != "users" || one.Stream != "s" || one.Basis != "error_95" {
				t.Errorf("%+v", one)
			}
			ends = append(ends, one.End.Format("15:04 ")+one.Sentence)
		}
		return ends
	}
	const says = " is above 1,002.9, the mean of the 40 windows before it, by more than noise explains."
	first := "08:41 8,000 users" + says
	second := "09:21 8,000 users is above 1,003.0, the mean of the 41 windows before it, by more than noise explains."
	want(t, "all", asked(""), []string{first, second})
	want(t, "the newest ten", asked("last=10"), []string{second})
	want(t, "until 09:00", asked("to=2026-11-20T09:00:00Z"), []string{first})
	want(t, "of the other group", asked("group=us"), []string(nil))
	// The windows of a day, and those of the hour before it, share its false marks.
	all := w.store.histories(selection{})
	if a, b := (signals{source{store: w.store}}).alpha(all[0]), 0.01/1500; math.Abs(a-b) > 1e-12 {
		t.Errorf("a window a minute is marked from %g on; want %g", a, b)
	}
}
