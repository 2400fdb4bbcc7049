package simulate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/simulate"
)

func parsed(t *testing.T, yaml []byte) *config.Stream {
	t.Helper()
	f, err := parse.File("demo.yaml", yaml, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams[0]
}

// The truth is what a plain computation over each user's last request gives.
func TestTruth(t *testing.T) {
	s := parsed(t, simulate.Streams())
	truth := simulate.NewTruth(s)
	last := map[string]map[string]simulate.Event{}
	today := map[string]map[string]bool{}
	for _, e := range collect(simulate.Day(9), noon.Add(-s.Window.Size), noon.Add(2*s.Window.Size)) {
		truth.Add(e)
		if e.Time.Before(noon.Add(s.Window.Size)) {
			if today[e.Region] == nil {
				today[e.Region] = map[string]bool{}
			}
			today[e.Region][e.User] = true
		}
		if e.Time.Before(noon) {
			continue
		}
		if e.Time.Before(noon.Add(s.Window.Size)) {
			if last[e.Region] == nil {
				last[e.Region] = map[string]simulate.Event{}
			}
			last[e.Region][e.User] = e
		}
	}
	got, samples := truth.Take(noon.Add(s.Window.Size))
	for g, region := range simulate.Regions() {
		if users := samples[g].Users(); users != int64(len(last[region])) {
			t.Errorf("%s: %d users, want %d", region, users, len(last[region]))
		}
		var values []int64
		slow := 0
		for _, e := range last[region] {
			values = append(values, e.Latency)
			if e.Latency > 300 {
				slow++
			}
		}
		slices.Sort(values)
		n := len(values)
		for name, want := range map[string]float64{"p50": float64(values[(n+1)/2-1]),
			"users": float64(n), "latency": float64(n), "slow": float64(slow) / float64(n),
			"today": float64(len(today[region]))} {
			if v, _ := got[region+"/"+name].Float64(); v < want-1e-6 || v > want+1e-6 {
				t.Errorf("%s/%s: %v, want %v", region, name, v, want)
			}
		}
	}
	if want := len(s.Groups) * (len(s.Figures) - len(config.All[*config.Watch](s))); len(got) != want {
		t.Errorf("%d figures, want %d", len(got), want)
	}
	if again, _ := truth.Take(noon.Add(s.Window.Size)); again != nil {
		t.Error("a window that was taken is still there")
	}
	if empty, _ := truth.Take(noon.Add(time.Hour)); empty != nil {
		t.Errorf("a window without events: %v", empty)
	}
}
