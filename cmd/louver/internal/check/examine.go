package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/kafka/topics"
)

// examine finds everything that check prints. now is the start of streams with start: now.
func examine(file *config.File, app string, now time.Time) (*examination, error) {
	plan := topics.Plan(app, file.Streams)
	found := &examination{Topics: plan, Rights: topics.Rights(app, plan), Warnings: []string{}}
	for _, s := range file.Streams {
		pays, of := file.Payer(s.Budget, now), s.Cost(now)
		overlap := of.Overlapping(0)
		lost, event := pays.Lost(of, 1), pays.Lost(of, overlap)
		e := examinedStream{Stream: s.Name, Unit: s.Unit, Where: s.Where, Users: s.ExpectedUsers, Size: config.Duration(s.Window.Size), Every: config.Duration(s.Window.Every),
			Grace: config.Duration(s.Window.Grace), Groups: len(s.Groups), MaxGroups: s.MaxGroups, Budget: s.Budget.Name,
			Epsilon: cli.NewFigure(lost.Epsilon), Delta: cli.NewFigure(lost.Delta), Overlap: overlap, EventEpsilon: cli.NewFigure(event.Epsilon), EventDelta: cli.NewFigure(event.Delta), window: lost, event: event}
		if m := s.MaxWindows; m != nil {
			e.MaxWindows = &examinedCap{m.By.AtMost(), config.Duration(m.Per), m.By.Most, config.Duration(time.Duration(m.By.Block) * s.Window.Every), min(1, float64(m.By.Most)/float64(m.By.Block))}
		}
		for _, r := range s.Releases {
			x, err := examineRelease(s, r)
			if err != nil {
				return nil, err
			}
			e.Releases = append(e.Releases, x)
		}
		var err error
		if e.Watches, e.OnChange, err = examineBesides(s, publicOf(s)); err != nil {
			return nil, err
		}
		if len(s.Steps()) > 0 {
			e.Besides = config.Besides(s)
			e.watches = cost.Of(s.Budget.Limit, of.Watches)
			e.WatchEpsilon = inspect.EpsilonOf(e.watches)
		}
		found.Streams = append(found.Streams, e)
	}
	for _, b := range file.Budgets {
		found.Budgets = append(found.Budgets, examineBudget(file, b, now))
		backlogs := file.Payer(b, now).Backlogs(now)
		for i, s := range file.StreamsOf(b) {
			found.Streams[slices.Index(file.Streams, s)].Backlog = examineBacklog(s, backlogs[i])
		}
	}
	found.Inputs = inspect.InputsOf(file.Payers(now))
	found.Warnings = append(found.Warnings, warnings(file, found)...)
	return found, nil
}

func examineRelease(s *config.Stream, r config.Release) (x examinedRelease, err error) {
	if x.drawnRelease, x.Values, err = describe(r, publicOf(s)); err != nil {
		return x, fmt.Errorf("release %s: %w", r.Name, err)
	}
	promise, groups := r.Mechanism.Promise(), decimal.NewFromInt(int64(s.MaxGroups))
	x.Charge = cli.NewFigure(promise.Epsilon.Mul(groups))
	if x.charge = x.Charge.String(); promise.Kind == privacy.ZCDP {
		x.charge = "ρ " + promise.Rho.Mul(groups).String()
	}
	return x, nil
}

// examineBesides describes what tells of windows beside the releases of each: watches, and releases on change.
func examineBesides(s *config.Stream, public forecast.Public) (watches []examinedWatch, changes []examinedChange, err error) {
	for _, w := range s.Alarms {
		watches = append(watches, examineWatch(s, w, public.Users))
	}
	for _, w := range s.OnChange {
		x, err := examineChange(s, w, public)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, x)
	}
	return watches, changes, nil
}

func examineBudget(file *config.File, b *config.Budget, now time.Time) examinedBudget {
	x := examinedBudget{Budget: b.Name, Where: b.Where, Epsilon: cli.NewFigure(b.Epsilon), Delta: cli.NewFigure(b.Delta), Per: config.Period(b.Per), Streams: []string{}}
	streams := file.StreamsOf(b)
	if len(streams) == 0 {
		x.Pays, x.Lasts = true, "unused"
		return x
	}
	begin, end := int64(math.MaxInt64), int64(0)
	for _, s := range streams {
		x.Streams = append(x.Streams, s.Name)
		begin = min(begin, s.Window.FirstStart(now))
		if s.Window.End == 0 || end < 0 {
			end = -1
		} else {
			end = max(end, s.Window.End)
		}
	}
	pays := file.Payer(b, now)
	if b.Per != 0 {
		touched, lost, later := pays.InAnyStretch()
		if besides := config.Besides(streams...); besides != "" {
			x.twice = ", with the " + besides + " of two periods"
		}
		if later {
			x.later = " with later ones in which that user counts instead,"
		}
		x.Touched, x.StretchEpsilon, x.StretchDelta, x.stretch = &touched, new(cli.NewFigure(lost.Epsilon)), new(cli.NewFigure(lost.Delta)), lost
	}
	x.day = pays.InAnyDay()
	x.DayEpsilon, x.DayDelta, x.DaySum = cli.NewFigure(x.day.Epsilon), cli.NewFigure(x.day.Delta), inspect.SumOf(x.day)
	runway := pays.Runway()
	x.Pays, x.Windows = runway.Pays, runway.Windows
	x.needs = pays.Needs()
	x.Wanted, x.WantedSum = inspect.EpsilonOf(x.needs), inspect.SumOf(x.needs)
	if less, ok := pays.Saved(file.PayerWithDelta(b, now)); ok {
		x.WithDelta = &examinedDelta{cli.NewFigure(less.Epsilon), cli.NewFigure(less.Delta)}
	}
	switch {
	case runway.Pays && end > 0:
		x.Lasts = "to the last window"
	case runway.Pays:
		x.Lasts = "for ever"
	case runway.ExhaustedAt == 0:
		x.Lasts = "beyond the year 2262"
	default:
		at := time.Unix(0, runway.ExhaustedAt).UTC()
		x.ExhaustedAt = &at
		x.Lasts = config.Duration(time.Duration(runway.ExhaustedAt - begin))
	}
	return x
}

// publicOf returns what a stream's configuration says about a window and group.
func publicOf(s *config.Stream) forecast.Public {
	public := forecast.Public{Users: s.ExpectedUsers}
	for _, r := range s.Releases {
		if r.Query.CountsUsers() {
			public.CountEpsilon, public.CountMechanism = r.Query.Epsilon.InexactFloat64(), r.Mechanism.Name()
			break
		}
	}
	return public
}
