package stream

import (
	"context"
	"strconv"
	"time"

	"github.com/louver/louver/stream/control"
)

// showDefinitions records in the gauges which definitions this process uses: the newest of each stream that is not
// removed.
func (s *Service) showDefinitions(state *control.State) error {
	h, err := state.History()
	if err != nil {
		return err
	}
	newest := map[string]control.Dated{}
	for _, d := range h.Definitions {
		newest[d.Stream] = d
	}
	s.Metrics.ConfigInfo.Reset()
	for name, d := range newest {
		if !d.Removed {
			s.Metrics.ConfigInfo.WithLabelValues(name, d.Fingerprint, strconv.Itoa(h.Epoch)).Set(1)
		}
	}
	return nil
}

// late updates the gauges of due, undecided windows and of outputs that take no figures, until ctx ends.
func (s *Service) late(ctx context.Context) {
	decides, publishes := s.Health.Stage(Release), s.Health.Stage(Publish) // nil: other processes do that
	blocked := map[string]bool{}                                           // outputs that have a gauge
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if decides != nil {
			for name, o := range decides.Overdue() {
				s.Metrics.Overdue.WithLabelValues(name).Set(float64(o.Windows))
				s.Metrics.Wait.WithLabelValues(name).Set(o.Wait.Seconds())
			}
		}
		if publishes != nil {
			now := publishes.BlockedOutputs()
			for output := range now {
				blocked[output] = true
			}
			for output := range blocked {
				s.Metrics.Blocked.WithLabelValues(output).Set(now[output].Seconds())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
