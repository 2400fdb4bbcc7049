package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// decision is a window, or a period of a discovery, that has begun to be decided. begin settles its entry with the
// budget. Then its parts are fed into a merger or a tally, if anything is drawn from them or has to see who came. fed
// draws, and finish adds the entry to the batch.
type decision struct {
	turn
	entry ledger.Entry
	open  []instance           // the armed instances of watches
	round *attendance.Round    // the trackers that go through the window; nil if its parts are not needed
	looks []attendance.Looking // those of them that have instances
	tally *tallying            // of a discovery
	done  func()               // says how long the discovery took
}

// begin settles a turn whose parts are all here, and begins to feed them.
func (c *Core) begin(t turn) error {
	d := &decision{turn: t}
	c.decision = d
	if c.batch.empty() {
		if err := c.checkpoint(); err != nil {
			return err
		}
	}
	c.attendance.Overtake(t.lane)
	c.tellLosses()
	if t.lane.Of != nil {
		return c.beginPeriod(d)
	}
	return c.beginWindow(d)
}

func (c *Core) beginWindow(d *decision) (err error) {
	p, e := c.programs[d.lane.Place], &d.entry
	*e = p.entry(c.App, d.window)
	e.Continual = c.watches.describe(p, d.window)
	d.open, e.Ended = c.watches.resume(p)
	if err := c.settle(d); err != nil {
		return err
	}
	if (e.Reason != "" || len(e.Groups) == 0) && d.lane.Cap == nil && !e.Looks() {
		return nil
	}
	if d.looks, err = c.attendance.Looking(e, d.lane); err != nil {
		return err
	}
	d.round = c.attendance.Round(d.lane, d.window, d.looks)
	return c.through(d.round, e.GroupNames(), d)
}

// beginPeriod settles the discovery of a period. Everybody in the period uses up one of their max_windows, even if the
// discovery is withheld.
//
// A discovery is decided like a window, at the end of its period, and before all windows that are due at the same time.
// So the list of a window is known when its turn comes: all discoveries that are due no later have been decided.
//
// Users count for the first of their names, in the order of a keyed hash. Names that were found lately come last
// ([ledger.Lists.Last]). Each name with users is drawn once, and nothing is kept of names that are not found.
func (c *Core) beginPeriod(d *decision) error {
	p, of, e := c.programs[d.lane.Place], d.lane.Of, &d.entry
	*e = p.blank(c.App, d.window)
	e.Lane, e.Every, e.Price, e.Releases = of.Name, of.Every, of.Cost().Items, of.Series()
	e.Discovery = &ledger.Discovery{MaxGroups: of.Groups, Threshold: of.Mechanism.Threshold(),
		Error95: of.Mechanism.Error95(), Rules: p.rules, Tombstones: p.ending}
	if err := c.settle(d); err != nil {
		return err
	}
	if e.Reason != "" && d.lane.Cap == nil {
		return nil
	}
	held := c.gather.All(p.Stream.Name, p.Number, d.window)
	d.tally = c.notes.take(d.lane, d.window, held)
	if d.tally.withheld = e.Reason != ""; !d.tally.withheld {
		d.done = c.Timed(record.StatisticGroups)
	}
	d.round = c.attendance.Round(d.lane, d.window, nil)
	if err := d.round.Begin(); err != nil {
		return err
	}
	c.feeding = &feed{program: p, round: d.round, held: held, to: d.tally, tally: d.tally, of: d}
	return nil
}

// settle asks the budget whether an entry may be drawn. The answer depends on what the entry says of other budgets and
// of the cap, so that is filled in before. The time of the draw and the lost input follow.
func (c *Core) settle(d *decision) error {
	e := &d.entry
	if line := c.Lineage(e.Budget); len(line) > 1 {
		e.Continues = line[1:]
	}
	e.PaidElsewhere = d.paid
	if who := d.lane.Cap; who != nil {
		e.Cap = who.Of
	}
	if err := c.own.Settle(e); err != nil {
		return err
	}
	e.ReleasedAt = c.now.UTC().Truncate(time.Second)
	e.IncompleteIn = d.state.Incomplete
	e.Incomplete = len(d.state.Incomplete) > 0
	c.tellIncomplete(*e)
	return nil
}

// fed draws what the entry pays for, once all parts of the decision have been fed.
func (c *Core) fed(d *decision, merged *windows.Merger, lost bool) error {
	d.round.End(lost)
	if d.tally != nil {
		return c.fedPeriod(d, lost)
	}
	p, e := c.programs[d.lane.Place], &d.entry
	// Where nothing is drawn, nothing lacks a part that could not be read.
	e.Incomplete = e.Incomplete || lost && (e.Reason == "" || e.Looks())
	c.tellClipped(p.Stream, merged, len(e.Groups))
	random := buffered(p.random)
	for _, t := range d.looks {
		if err := drawLeaf(t, e, random, c.Timed); err != nil {
			return err
		}
	}
	if err := c.watches.look(p, e, d.open, merged); err != nil || e.Reason != "" {
		return err
	}
	prior := c.priors[d.lane.Place]
	var err error
	if e.Prior, err = prior.upTo(d.window, e.GroupNames(), c.recent(e.Stream)); err != nil {
		return err
	}
	stopped, err := p.draw(e, merged, prior, c.Timed)
	if err != nil {
		return err
	}
	if len(stopped) > 0 {
		c.say(Line{Warn, "the noise of a sum is beyond the largest number there is: the record has that number, no " +
			"error_95 and the quality noise; a larger epsilon or narrower bounds help",
			[]Field{{"stream", e.Stream}, {"window_end", e.WindowEnd}, {"releases", stopped}}})
	}
	prior.smooth(e)
	return nil
}

// fedPeriod draws each name of a period, and records those that are found: at most as many as the list may have, in the
// order of their bytes. If the discovery is withheld, nothing is drawn.
func (c *Core) fedPeriod(d *decision, lost bool) error {
	e, tally := &d.entry, d.tally
	names, err := tally.Found()
	if err != nil {
		return fmt.Errorf("discovery %s of stream %s: %w", e.Lane, e.Stream, err)
	}
	if e.Reason != "" {
		return nil
	}
	e.Incomplete = e.Incomplete || lost || tally.Unknown() > 0
	d.done()
	c.say(Tallied{e.Stream, e.Lane, tally.Names(), tally.Readings()})
	found := make([]ledger.Finding, 0, len(names))
	for _, x := range names {
		found = append(found, ledger.Finding{Name: x.Name, Value: x.Value})
	}
	found = ledger.Largest(found, c.programs[d.lane.Place].rules.Max)
	slices.SortFunc(found, func(x, y ledger.Finding) int { return strings.Compare(x.Name, y.Name) })
	e.Discovery.Found = found
	return nil
}

// finish derives what follows from a drawn entry. Then the entry joins the batch, and the state learns it.
func (c *Core) finish() error {
	d := c.decision
	if err := c.own.Finish(&d.entry); err != nil {
		return err
	}
	value, err := d.entry.Encode()
	if err != nil {
		return err
	}
	c.batch.add(Encoded{d.entry, value})
	if err := c.enter(d.entry, value); err != nil {
		return err
	}
	for i, t := range c.turns {
		if t.lane.Stream.Name == d.entry.Stream {
			c.turns[i] = nextOf(t.lane)
		}
	}
	c.passed(d.turn)
	c.decision = nil
	return nil
}

// passed gives up the parts of a turn whose entry is learnt.
func (c *Core) passed(t turn) {
	if t.lane.Of == nil {
		c.notes.hold(c.programs[t.lane.Place], t.window)
	}
	c.attendance.Passed(t.lane, t.window)
}
