package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// check returns an error for an entry that contradicts itself, or that Louver never writes.
func (e Entry) check() error {
	if err := e.checkWindow(); err != nil {
		return err
	}
	fail := e.fail
	if e.Discovery != nil {
		if err := e.checkDiscovery(); err != nil {
			return fail("%w", err)
		}
		return nil
	}
	if e.Row != "" {
		return fail("row %q, which is no discovery: it was written by a later release of louver", e.Row)
	}
	if err := e.checkList(); err != nil {
		return fail("%w", err)
	}
	if e.unlisted() {
		if len(e.Price)+len(e.Releases)+len(e.Steps) > 0 || e.Reason != "" {
			return fail("%d items in the price, %d releases and reason %q, but no groups; want none of "+
				"these without groups", len(e.Price), len(e.Releases), e.Reason)
		}
		return nil
	}
	if (len(e.Price) == 0) != (len(e.Releases) == 0) || len(e.Price) == 0 && !e.Publishes() || len(e.Groups) == 0 {
		return fail("%d items in the price, %d releases and %d groups; want at least one each, or a release on change "+
			"or a total", len(e.Price), len(e.Releases), len(e.Groups))
	}
	if err := errors.Join(e.checkSteps(), e.checkHistograms(), e.checkPeriods(), e.checkRollups()); err != nil {
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
			if err := v.check(e.Bands); err != nil {
				return fail("%q of group %q: %w", e.Releases[i].Name, g.Name, err)
			}
		}
	}
	return nil
}

// checkPeriods checks the local days of roll-ups.
func (e Entry) checkPeriods() error {
	for _, p := range e.Periods {
		if err := p.check(e.Releases, e.WindowStart, e.WindowEnd, e.Every); err != nil {
			return err
		}
	}
	return nil
}

// checkWindow checks an entry apart from its groups and steps: as the books keep the last one of each stream.
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
		if r.Name == "" || r.Epsilon.Sign() <= 0 && r.From == "" || r.From != "" && !r.Epsilon.IsZero() {
			return fail("release %q has epsilon %s; want a name and more than 0, or 0 if it is computed from "+
				"another one", r.Name, r.Epsilon)
		}
	}
	return nil
}

func (e Entry) fail(format string, args ...any) error {
	return fmt.Errorf(e.Name()+": "+format, args...)
}

// checkCap returns an error for a cap that the entry cannot have.
func (e Entry) checkCap() error {
	if err := e.Cap.Check(); err != nil {
		return err
	}
	if e.Cap != (budget.Cap{}) && e.Cap.Row != e.Row {
		return fmt.Errorf("cap of row %q; want that of the entry's own row, %q", e.Cap.Row, e.Row)
	}
	if e.Cap.Era > e.WindowStart.Unix() {
		return fmt.Errorf("cap of an era that begins at %s, after the window",
			time.Unix(e.Cap.Era, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

func (e Entry) checkSteps() error {
	names := map[string]bool{}
	for _, s := range e.Steps {
		if names[s.Name] {
			return fmt.Errorf("%q is listed twice", s.Name)
		}
		names[s.Name] = true
		if err := s.check(e); err != nil {
			return fmt.Errorf("%q: %w", s.Name, err)
		}
	}
	for _, i := range e.Ended {
		if i.Stream == "" || i.Step == "" || i.Number < 1 {
			return fmt.Errorf("instance %q ends; want a stream, a step and a number from 1 on", i)
		}
	}
	return nil
}
