package release

import (
	"fmt"
	"io"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/record"
)

// figure is what the watch of a release on change draws. Its release is nil if the watch is an alarm.
//
// The draw knows nothing of earlier values. The test compares with them, so they repeat as long as they hold: a measure that
// learnt from them would take each for a new observation.
type figure struct {
	draw
	release *record.Series
}

func newFigure(s *config.Stream, w config.Watch) figure {
	if w.Release == nil {
		return figure{}
	}
	return figure{newDraw(*w.Release, 0), new(w.Release.Series(s.Unit)[0])}
}

// look has a release on change look at the samples of a settled entry, and draws the value of the first group in which
// it has changed anew, from the same sample. The groups after it keep theirs: to look at them takes another instance.
//
// One user loses at most ε_test through all tests of the instance and ε_draw through the one draw that follows, whatever they
// sent: see config.Watch.Price. In the window in which the values begin, all groups are drawn and none is tested.
func (f figure) look(grid *mechanisms.Grid, e *ledger.Entry, w *ledger.Watch, open armed, samples []*mechanisms.Sample, random io.Reader, m *metrics.Operator) error {
	if w.Arms && w.Begins {
		for g := range samples {
			if err := f.redraw(e, w, g, samples[g], random, m); err != nil {
				return err
			}
		}
		return nil
	}
	last := make([]int64, len(samples))
	for g, v := range w.Values {
		var err error
		if last[g], err = grid.Parse([]byte(v.Figure.Value.String())); err != nil {
			return fmt.Errorf("the last value of group %q: %w", e.Groups[g].Name, err)
		}
	}
	group, err := open.LookFrom(samples, last, random)
	if err != nil || group < 0 {
		return err
	}
	w.Fire(*e, e.Groups[group].Name)
	return f.redraw(e, w, group, samples[group], random, m)
}

// redraw draws the value of a group.
func (f figure) redraw(e *ledger.Entry, w *ledger.Watch, group int, sample *mechanisms.Sample, random io.Reader, m *metrics.Operator) error {
	began := time.Now()
	drawn, err := f.mechanism.Draw(sample, mechanisms.Public{}, random)
	if err != nil {
		return err
	}
	m.DrawDuration.WithLabelValues(string(f.query.Statistic)).Observe(time.Since(began).Seconds())
	values := make([]ledger.Value, 1)
	f.fill(values, drawn, nil)
	w.Redraw(*e, group, values[0])
	return nil
}
