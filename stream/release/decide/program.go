package decide

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// program is one definition of a stream, with everything that is drawn for its windows.
type program struct {
	config.Edition
	draws     []draw
	order     []int           // of the draws: those that count users come first
	continual []continual     // the stream's figures that one charge pays for in many windows
	releases  []record.Series // what the draws release, in the order of the configuration, and what is computed from it
	price     []budget.Item
	// lanes are those of the session that decides here.
	lanes attendance.Lanes
	rules ledger.Rules // of the list, if groups are found
	// ending are the series of a group that get a tombstone when the group leaves the list; nil without tombstones.
	ending []string
	random io.Reader // the source of all noise: crypto/rand, except in tests
}

func newProgram(e config.Edition) *program {
	s := e.Stream
	p := &program{Edition: e, continual: newContinual(s), price: s.Price(), random: rand.Reader, releases: s.Series()}
	if s.Found != nil {
		p.rules = newRules(s)
	}
	if s.Tombstones {
		p.ending = s.SeriesNames()
	}
	counting, values := s.Counting(), 0
	for _, r := range config.All[*config.Release](s) {
		d := newDraw(r, values)
		d.serves = r == counting
		p.draws = append(p.draws, d)
		values += d.values()
	}
	for _, counts := range []bool{true, false} {
		for i, d := range p.draws {
			if d.counts == counts {
				p.order = append(p.order, i)
			}
		}
	}
	return p
}

// newRules returns the rules of the list of a stream whose groups are found.
func newRules(s *config.Stream) ledger.Rules {
	f := s.Found
	r := ledger.Rules{Source: s.Source(), Keep: int64(f.Keep.Seconds()), Max: f.Max, Other: f.Other, Always: f.Always,
		Except: f.Except}
	if f.Match != nil {
		r.Match = f.Match.String()
	}
	return r
}

// entry is the ledger entry of a window, before it is settled and drawn.
func (p *program) entry(app string, w windows.Window) ledger.Entry {
	e := p.blank(app, w)
	e.Price, e.Releases = p.price, p.releases
	for _, g := range p.Stream.Groups {
		e.Groups = append(e.Groups, ledger.Group{Name: g})
	}
	if f := p.Stream.Found; f != nil { // its groups follow when it is settled; another stream's list has the same budget
		e.List = &ledger.List{Stream: f.From, Rules: p.rules, Tombstones: p.ending}
	}
	e.Periods = p.periods(w)
	if s := p.Stream; s.Together != "" {
		e.Together = &ledger.Together{Name: s.Together}
		if s.MaxGroups > 1 {
			e.Together.Counts = record.UserGroups
		}
	}
	return e
}

// blank is an entry without what is drawn.
func (p *program) blank(app string, w windows.Window) ledger.Entry {
	s := p.Stream
	e := ledger.Entry{App: app, Stream: s.Name, Epoch: p.Number, Budget: s.Budget.Name, Input: s.Input.Topic,
		Output: s.Output, WindowStart: time.Unix(0, w.Start).UTC(), WindowEnd: time.Unix(0, w.End).UTC(),
		DueAt: time.Unix(0, p.Schedule.Due(w)).UTC(), Every: p.Schedule.Every,
		Limit: s.Budget.Limit}
	if s.OutputFormat != config.OutputJSON {
		e.OutputFormat = s.OutputFormat
	}
	if p.Schedule.End != 0 {
		e.Until = time.Unix(0, p.Schedule.End).UTC()
	}
	return e
}

// periods returns the local days of roll-ups that hold a window.
func (p *program) periods(w windows.Window) (all []ledger.Period) {
	for _, r := range config.All[*config.Release](p.Stream) {
		for _, d := range r.Rollups {
			if since, until, local := r.LocalPeriod(d, w); local {
				all = append(all, ledger.Period{Release: r.Name, Period: period.Name(d),
					Since: record.Whole(time.Unix(0, since)), Until: record.Whole(time.Unix(0, until))})
			}
		}
	}
	return all
}

// untimed is the Timer where nobody wants to know.
func untimed(string) (done func()) { return func() {} }

// buffered reads ahead from a source of random bits: enough for some draws, and not much more than a window may need.
func buffered(random io.Reader) *bufio.Reader { return bufio.NewReaderSize(random, 512) }

// count returns the count of users that a window released for a group, with the law of its noise; nil if it has none.
func (p *program) count(users *int64) *mechanisms.NoisyCount {
	if users == nil {
		return nil
	}
	c := &mechanisms.NoisyCount{Value: *users}
	for _, d := range p.draws {
		if d.serves {
			c.Epsilon, c.Mechanism = d.query.Epsilon.InexactFloat64(), d.mechanism.Name()
		}
	}
	return c
}

// sampler has the values of a window, by the number of the group. [windows.Merger] and [windows.Bag] implement it.
type sampler interface {
	Sample(group int) []windows.Point
}

// draw draws every release of every group, with the base measures that were learned for the window. Groups without
// users are drawn like all others. stopped are the releases of which a value was beyond the largest number there is.
func (p *program) draw(e *ledger.Entry, merged sampler, prior *prior, timed Timer) (stopped []string, err error) {
	random := buffered(p.random)
	for g := range e.Groups {
		points := merged.Sample(g)
		sample := mechanisms.NewSample(p.Stream.Grid, points)
		e.Groups[g].Values = make([]ledger.Value, len(p.releases))
		var public mechanisms.Public
		for _, i := range p.order {
			d := p.draws[i]
			public.Measure = prior.measure(e.Groups[g].Name, i)
			done := timed(string(d.query.Statistic))
			drawn, err := d.mechanism.Draw(sample, public, random)
			if err != nil {
				return nil, fmt.Errorf("draw %s of stream %s: %w", d.query.Statistic, p.Stream.Name, err)
			}
			done()
			d.fill(e.Groups[g].Values[d.first:], drawn, public.Users)
			if drawn.Values[0].Stopped() {
				stopped = append(stopped, p.releases[d.first].Name)
			}
			if d.serves {
				users := drawn.Values[0].Number
				e.Groups[g].Users = &users
				public.Users = p.count(&users)
			}
		}
	}
	if least := p.Stream.MinUsers; least != nil {
		e.WithholdBelow(least.Release, least.Count)
	}
	slices.Sort(stopped)
	return slices.Compact(stopped), nil
}

// Rehearsal draws what a stream would publish in some windows, without Kafka. It uses the same mechanisms, learns from
// its own earlier figures as the service does, and judges by the same rules. Its noise is from crypto/rand.
//
// Privacy: every window costs a user what the stream's price says, and a rehearsal keeps no account of it. So show its
// figures only to somebody who may see the data. Watches, totals and figures on change are left out, and so is
// max_windows.
//
// It is not safe for concurrent use.
type Rehearsal struct {
	program *program
	prior   *prior
	past    []ledger.Past
}

// NewRehearsal returns one of a stream with a list of groups, which has published nothing so far. first is the start of
// its first window, in Unix nanoseconds.
func NewRehearsal(s *config.Stream, first int64) *Rehearsal {
	p := newProgram(config.Edition{Stream: s, Number: 1, Schedule: s.Window.Schedule(first)})
	return &Rehearsal{program: p, prior: newPrior(p)}
}

// Window draws a window that is later than all before. The figures are in the order of the groups and of the releases.
func (r *Rehearsal) Window(w windows.Window, users *windows.Bag) ([]record.Value, error) {
	e := r.program.entry("rehearsal", w)
	if _, err := r.prior.upTo(w, e.GroupNames(), r.past); err != nil {
		return nil, err
	}
	if _, err := r.program.draw(&e, users, r.prior, untimed); err != nil {
		return nil, err
	}
	r.prior.smooth(&e)
	if err := e.Compute(); err != nil {
		return nil, err
	}
	r.past = append(r.past, ledger.NewPast(e))
	return e.Values(), nil
}
