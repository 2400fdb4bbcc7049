package offline

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/windows"
)

// followed is a watch on its way through the windows.
type followed struct {
	watchFlags
	json     bool
	out      io.Writer
	watch    *watch.Watch
	samples  map[int64]*mechanisms.Sample
	armed    *watch.Armed
	instance int
	fired    int64 // end of the window in which the last instance did
	over     bool  // it is said that there is no other instance
}

// through looks at one window after another, arms the watch again where that is allowed, and prints what it says.
func (f *followed) through(s windows.Schedule) error {
	var last windows.Window
	for at, more := s.First(), true; more; at, more = s.Next(at) {
		last = at
		if err := f.arm(at); err != nil {
			return err
		}
		record, err := f.look(at)
		if err != nil {
			return err
		}
		if f.json {
			if err := json.NewEncoder(f.out).Encode(record); err != nil {
				return err
			}
		}
	}
	if f.armed.Fired() {
		return nil
	}
	return f.say(last.End, "the last window ends: the watch is still armed and silent")
}

// arm arms the first instance, and others when the one before has fired and held.
func (f *followed) arm(at windows.Window) (err error) {
	if f.instance > 0 && (!f.armed.Fired() || f.instance >= f.AtMost || f.holds(at)) {
		return nil
	}
	if f.armed, err = f.watch.Arm(rand.Reader); err != nil {
		return err
	}
	f.instance++
	return f.say(at.Start, "armed, %d of %d, for ε %s; sees %s %s with a probability of 95 %%", f.instance, f.AtMost,
		f.watch.Promise().Epsilon, cli.WithUnit(cli.Tenths(f.watch.Excess95()), "users"), cli.Direction(f.Watch))
}

// holds says whether the window begins while the last firing holds.
func (f *followed) holds(at windows.Window) bool { return at.Start < f.fired+int64(f.Hold) }

// look returns the answer about a window.
func (f *followed) look(at windows.Window) (watchedWindow, error) {
	record := watchedWindow{Start: stamp(at.Start), End: stamp(at.End), Statistic: "watch", Status: "ok",
		Instance: f.instance,
		Epsilon:  json.Number(f.watch.Promise().Epsilon.String()), Excess: f.watch.Excess95()}
	if f.armed.Fired() && !f.holds(at) {
		record.Status, record.Reason = "withheld", new("budget_exhausted")
		if f.over {
			return record, nil
		}
		f.over = true
		return record, f.say(at.Start, "over: it was armed %s", times(f.AtMost))
	}
	if !f.armed.Fired() {
		group, err := f.armed.Look([]*mechanisms.Sample{f.sample(at)}, rand.Reader)
		if err != nil {
			return record, err
		}
		if group < 0 {
			record.Value = new(0)
			return record, nil
		}
		f.fired = at.End
		if err := f.say(at.End, "fires"); err != nil {
			return record, err
		}
	}
	record.Value, record.Since = new(1), new(stamp(f.fired))
	return record, nil
}

// sample returns what a window holds, which may be nobody.
func (f *followed) sample(at windows.Window) *mechanisms.Sample {
	if s := f.samples[at.Start]; s != nil {
		return s
	}
	return mechanisms.NewSample[mechanisms.Point](nil, nil)
}

// watchedWindow is a watch's answer about a window, in JSON.
type watchedWindow struct {
	Start     string      `json:"window_start"`
	End       string      `json:"window_end"`
	Statistic string      `json:"statistic"`
	Value     *int        `json:"value"`
	Status    string      `json:"status"`
	Reason    *string     `json:"reason"`
	Since     *string     `json:"since"`
	Instance  int         `json:"instance"`
	Epsilon   json.Number `json:"epsilon"`
	Excess    float64     `json:"excess_95"`
}

// say writes a line with its time, unless there is JSON.
func (f *followed) say(at int64, format string, args ...any) error {
	if f.json {
		return nil
	}
	_, err := fmt.Fprintf(f.out, stamp(at)+" "+format+"\n", args...)
	return err
}

func stamp(at int64) string { return cli.Instant(time.Unix(0, at)) }

// times says how often: once, 2 times.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return cli.Plural(n, "time")
}
