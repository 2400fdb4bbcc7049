package stream

import (
	"context"
	"strconv"
	"time"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/stage"
)

// showDefinitions records in the gauges which definitions this process uses: the newest of each stream that is not
// removed.
func showDefinitions(m *metrics.Operator, state *control.State) error {
	h, err := state.History()
	if err != nil {
		return err
	}
	newest := map[string]control.Dated{}
	for _, d := range h.Definitions {
		newest[d.Stream] = d
	}
	m.ConfigInfo.Reset()
	for name, d := range newest {
		if !d.Removed {
			m.ConfigInfo.WithLabelValues(name, d.Fingerprint, strconv.Itoa(h.Epoch)).Set(1)
		}
	}
	return nil
}

// gaugeDelays updates the gauges of windows that are due and not decided, and of outputs that take no figures, until
// ctx ends.
func gaugeDelays(ctx context.Context, h *health.Monitor, m *metrics.Operator) {
	decides, publishes := h.Stage(stage.Release), h.Stage(stage.Publish) // nil: other processes do that
	blocked := map[string]bool{}                                         // outputs that have a gauge
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if decides != nil {
			for name, o := range decides.Overdue() {
				m.Overdue.WithLabelValues(name).Set(float64(o.Windows))
				m.Wait.WithLabelValues(name).Set(o.Wait.Seconds())
			}
		}
		if publishes != nil {
			now := publishes.BlockedOutputs()
			for output := range now {
				blocked[output] = true
			}
			for output := range blocked {
				m.Blocked.WithLabelValues(output).Set(now[output].Seconds())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
