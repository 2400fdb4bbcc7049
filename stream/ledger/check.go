package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// check returns an error for an entry that contradicts itself, or that nobody writes.
func (e Entry) check() error {
	if err := e.checkWindow(); err != nil {
		return err
	}
	fail := e.fail
	if (len(e.Price) == 0) != (len(e.Releases) == 0) || len(e.Price) == 0 && !e.OnChange() || len(e.Groups) == 0 {
		return fail("%d items in the price, %d releases and %d groups; want at least one each, or a release on change",
			len(e.Price), len(e.Releases), len(e.Groups))
	}
	if err := e.checkWatches(); err != nil {
		return fail("%w", err)
	}
	for _, g := range e.Groups {
		if want := len(e.Releases); e.Reason == "" && len(g.Values) != want || e.Reason != "" && len(g.Values) != 0 {
			return fail("group %q has %d values of %d releases in a window with reason %q",
				g.Name, len(g.Values), want, e.Reason)
		}
		if g.Reason != "" && (g.Reason != record.TooFewUsers || e.Reason != "") {
			return fail("group %q has the reason %q in a window with reason %q", g.Name, g.Reason, e.Reason)
		}
		for i, v := range g.Values {
			if v.Value == nil && g.Reason == "" {
				return fail("group %q has no value of %q, and no reason", g.Name, e.Releases[i].Name)
			}
		}
	}
	return nil
}

// checkWindow checks what an entry is without its groups and watches, as books keep the last one of each stream.
func (e Entry) checkWindow() error {
	fail := e.fail
	switch {
	case e.Stream == "" || e.Budget == "" || e.Output == "":
		return fail("budget %q and output topic %q; want a stream, a budget and a topic", e.Budget, e.Output)
	case e.OutputFormat != "" && e.OutputFormat != record.FormatAvro:
		return fail("output records as %q; want avro, or nothing for JSON: it was written by a later release of louver",
			e.OutputFormat)
	case e.WindowStart.Nanosecond() != 0 || e.WindowEnd.Nanosecond() != 0:
		return fail("the window has fractions of a second; want whole seconds")
	case e.WindowEnd.Year() > 2200 || e.WindowStart.Year() < 1900:
		return fail("window end %s; want one between 1900 and 2200", record.Whole(e.WindowEnd))
	case !e.WindowEnd.After(e.WindowStart):
		return fail("window end %s; want one after the start", record.Whole(e.WindowEnd))
	case e.Every <= 0:
		return fail("every %s; want a positive duration", e.Every)
	case e.Reason != "" && e.Reason != record.BudgetExhausted:
		return fail("reason %q; want none or %q", e.Reason, record.BudgetExhausted)
	}
	if err := errors.Join(e.Limit.Check(), e.checkCap()); err != nil {
		return fail("%w", err)
	}
	for _, r := range e.Releases {
		if r.Name == "" || r.Epsilon.Sign() <= 0 {
			return fail("release %q has epsilon %s; want a name and more than 0", r.Name, r.Epsilon)
		}
	}
	return nil
}

func (e Entry) fail(format string, args ...any) error {
	return fmt.Errorf(e.Name()+": "+format, args...)
}

// checkCap returns an error for a cap that no window of the entry's can have.
func (e Entry) checkCap() error {
	if err := e.Cap.Check(); err != nil {
		return err
	}
	if e.Cap.Era > e.WindowStart.Unix() {
		return fmt.Errorf("cap of an era that begins at %s, after the window",
			time.Unix(e.Cap.Era, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

func (e Entry) checkWatches() error {
	names := map[string]bool{}
	for _, w := range e.Watches {
		if names[w.Name] {
			return fmt.Errorf("watch %q is listed twice", w.Name)
		}
		names[w.Name] = true
		if err := w.check(e); err != nil {
			return fmt.Errorf("watch %q: %w", w.Name, err)
		}
	}
	for _, i := range e.Ended {
		if i.Stream == "" || i.Watch == "" || i.Number < 1 {
			return fmt.Errorf("instance %q ends; want the name of one", i)
		}
	}
	return nil
}

// mostHold is the longest hold, in seconds: 31 years.
const mostHold = 1e9

func (w Watch) check(e Entry) error {
	switch {
	case w.Name == "" || w.Definition == "" || len(w.Cost) == 0 || w.AtMost < 1 || w.Hold < 0 || w.Hold > mostHold:
		return fmt.Errorf("definition %q, %d costs, at most %d instances and a hold of %d s; "+
			"want a name, a definition, a cost and at least one instance", w.Definition, len(w.Cost), w.AtMost, w.Hold)
	case w.Reason != "" && w.Reason != record.NotArmed && w.Reason != record.BudgetExhausted:
		return fmt.Errorf("reason %q; want none, %q or %q", w.Reason, record.NotArmed, record.BudgetExhausted)
	case w.Arms != (len(w.Sealed) > 0):
		return errors.New("an instance is armed without a secret, or has one without being armed")
	case w.Looks() && w.Instance < 1 || !w.Looks() && w.Arms:
		return fmt.Errorf("instance %d with reason %q; want an instance that looks, or none that is armed",
			w.Instance, w.Reason)
	case (w.Fired == nil) != (w.Since == nil) || w.Reason == record.BudgetExhausted && w.Fired != nil:
		return fmt.Errorf("it has fired or not, with reason %q", w.Reason)
	case w.Fired != nil && !slices.ContainsFunc(e.Groups, func(g Group) bool { return g.Name == *w.Fired }):
		return fmt.Errorf("it has fired in group %q, which the stream does not have", *w.Fired)
	case w.Looks() && w.Since != nil && !w.Since.Equal(e.WindowEnd):
		return errors.New("it fires at another time than the window's end")
	}
	if _, err := budget.Canonical(w.Cost); err != nil {
		return err
	}
	return w.checkValues(e)
}

// checkValues checks what a release on change says of a window.
func (w Watch) checkValues(e Entry) error {
	if w.Release == nil {
		if len(w.First) > 0 || w.Begins || len(w.Values) > 0 {
			return errors.New("an alarm has values")
		}
		return nil
	}
	want := 0
	if w.Looks() {
		want = len(e.Groups)
	}
	switch {
	case w.Release.Name != w.Name || w.Release.Epsilon.Sign() <= 0 || len(w.First) == 0:
		return fmt.Errorf("it describes release %q with epsilon %s; want its own, with the cost of its first values",
			w.Release.Name, w.Release.Epsilon)
	case len(w.Values) != want:
		return fmt.Errorf("%d values; want %d", len(w.Values), want)
	case w.Begins && w.Arms && w.Fired != nil:
		return errors.New("it fires in the window in which its values are drawn first")
	}
	for g, v := range w.Values {
		name := e.Groups[g].Name
		if v.Figure.Value == nil || v.Since.After(e.WindowEnd) || w.Draws(name) && !v.Since.Equal(e.WindowEnd) {
			return fmt.Errorf("group %q has no value, or one of %s", name, v.Since)
		}
	}
	_, err := budget.Canonical(w.First)
	return err
}
