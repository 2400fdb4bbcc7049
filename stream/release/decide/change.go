package decide

import (
	"fmt"
	"io"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// changer draws a figure that is published on change.
//
// The draw knows nothing of earlier values. A value is repeated as long as the test does not fire, and a measure that
// learnt from them would take each repeat for a new observation.
type changer struct {
	draw
	of   *config.Change
	grid *mechanisms.Grid
	unit string
}

func newChanger(s *config.Stream, of *config.Change) *changer {
	return &changer{newDraw(of.Release, 0), of, s.Grid, s.Unit}
}

func (c *changer) describe(s *ledger.Continual, _ windows.Window) {
	s.Change = &ledger.Change{Release: c.of.Drawn(), First: c.of.Cost().First}
}

// look has a release on change look at the samples of a settled entry. In the first group whose value has changed, it
// draws a new one from the same sample. The groups after that keep their values: another instance would have to be paid
// to look at them.
//
// One user loses at most ε_test through all tests of the instance and ε_draw through the one draw that follows,
// whatever they sent: see config.Change.Cost. In the window in which the values begin, all groups are drawn and none
// is tested.
func (c *changer) look(e *ledger.Entry, s *ledger.Continual, open armed, samples []*mechanisms.Sample, random io.Reader,
	timed Timer) error {
	if s.Change.DrawsAll(*s) {
		for g := range samples {
			if err := c.redraw(s, g, samples[g], random, timed); err != nil {
				return err
			}
		}
		return nil
	}
	last := make([]int64, len(samples))
	for g, v := range s.Change.Values {
		var err error
		if last[g], err = c.grid.Parse([]byte(v.Figure.Value.String())); err != nil {
			return fmt.Errorf("the last value of group %q: %w", e.Groups[g].Name, err)
		}
	}
	group, err := open.LookFrom(samples, last, random)
	if err != nil || group < 0 {
		return err
	}
	s.Fire(e.Groups[group].Name)
	return c.redraw(s, group, samples[group], random, timed)
}

// redraw draws the value of a group.
func (c *changer) redraw(s *ledger.Continual, group int, sample *mechanisms.Sample, random io.Reader,
	timed Timer) error {
	done := timed(string(c.query.Statistic))
	drawn, err := c.mechanism.Draw(sample, mechanisms.Public{}, random)
	if err != nil {
		return err
	}
	done()
	values := make([]ledger.Value, 1)
	c.fill(values, drawn, nil)
	s.Change.Redraw(group, values[0])
	return nil
}
