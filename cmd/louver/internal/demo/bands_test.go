package demo

import (
	"testing"
	"time"
)

// Of 200 bands of the demo at least 186 hold the truth of the simulation.
//
// The share is asked of 160 windows, with nine figures each. A third of them are counts, whose bands miss in 5 % of the
// windows by the law of their noise, and a third are shares from a histogram, which miss in 5 % at most. Bands of
// medians miss in 2 % at most, as their own test says. So at most 58 of 1,440 miss, and 101 or more, which are 7 %, do
// so less than once in 10⁶ runs (Poisson's law bounds the sum of independent misses). Totals are left out: their noise
// is shared by many windows.
func TestBandsOfTheDemoHoldTheTruth(t *testing.T) {
	t.Parallel() // beside the demo that Prometheus watches, which mostly waits
	s := newSimulation(10 * time.Second)
	a := watch(t, s, func(all []picture) bool { return len(all) >= 160 })
	shown, held, without := 0, 0, 0
	missed := map[string]int{}
	for _, p := range a.pictures {
		for _, r := range p.records {
			truth, known := p.sim.figures[r.Group+"/"+r.Release]
			if r.Value == nil || !known || r.Release == "today" {
				continue
			}
			b, ok := r.Band()
			if !ok {
				without++
				continue
			}
			shown++
			if is := truth.InexactFloat64(); b.Low <= is && is <= b.High {
				held++
			} else {
				missed[r.Release]++
			}
		}
	}
	if shown < 1400 || held*200 < 186*shown {
		t.Errorf("%d of %d bands hold the truth, those of %v do not; %d figures have no band; want 186 of 200", held,
			shown, missed, without)
	}
}
