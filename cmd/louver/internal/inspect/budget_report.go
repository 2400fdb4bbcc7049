package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/ledger"
)

// budgetReport is what the ledger says has been spent, and what the definitions of the streams say one person loses at
// most. Its JSON names are public.
type budgetReport struct {
	Streams []streamReport       `json:"streams"`
	Budgets []limitReport        `json:"budgets"`
	Watches []ledger.WatchReport `json:"watches,omitempty"`
	// Inputs are the topics whose people several budgets pay for.
	Inputs []Input `json:"inputs,omitempty"`
}

type streamReport struct {
	ledger.StreamReport
	// Epsilon and Delta are what a window costs. They are nil if the definition is not known, or draws nothing in every
	// window.
	Epsilon *cli.Digits `json:"epsilon_per_window,omitempty"`
	Delta   *cli.Digits `json:"delta_per_window,omitempty"`
	// besides names what else is published about windows, at a cost of its own.
	besides string
	window  cost.Loss
}

type limitReport struct {
	ledger.BudgetReport
	// DayEpsilon and DayDelta bound what the windows that end in any 24 hours cost. They are nil if no known definition
	// of a stream is paid by the budget.
	DayEpsilon *cli.Digits `json:"epsilon_per_day,omitempty"`
	DayDelta   *cli.Digits `json:"delta_per_day,omitempty"`
	// DaySum is the plain sum of the same windows, where that is more.
	DaySum *cli.Digits `json:"epsilon_per_day_sum,omitempty"`

	day cost.Loss
	// covered says that day bounds what the last 24 hours were charged too.
	covered bool
}

// withMost adds what one person loses at most by the newest definitions.
func withMost(r ledger.Report, editions []config.Edition, now time.Time) budgetReport {
	file := newest(editions, now)
	payers := config.PayersOf(file.Streams, now)
	all := budgetReport{Streams: []streamReport{}, Budgets: []limitReport{}, Watches: r.Watches}
	for _, of := range r.Streams {
		x := streamReport{StreamReport: of}
		if s := file.Stream(of.Stream); s != nil && len(s.Price()) > 0 {
			x.window, x.besides = payers[s.Budget].Lost(s.Cost(now), 1), config.Besides(s)
			x.Epsilon, x.Delta = new(cli.NewDigits(x.window.Epsilon)), new(cli.NewDigits(x.window.Delta))
		}
		all.Streams = append(all.Streams, x)
	}
	for _, of := range r.Budgets {
		x := limitReport{BudgetReport: of}
		if i := slices.IndexFunc(file.Budgets, func(b *config.Budget) bool { return b.Name == of.Budget }); i >= 0 {
			pays := payers[file.Budgets[i]]
			x.day, x.covered = pays.InAnyDay(), pays.Covers(of.ChargedDay)
			x.DayEpsilon, x.DayDelta, x.DaySum = new(cli.NewDigits(x.day.Epsilon)), new(cli.NewDigits(x.day.Delta)),
				SumOf(x.day)
		}
		all.Budgets = append(all.Budgets, x)
	}
	all.Inputs = InputsOf(withBooks(r, editions, file, now))
	return all
}

// withBooks returns the budgets of the newest definitions, and those that only former ones had, each with what its
// books hold of the last day if that is not by the newest ones alone.
func withBooks(r ledger.Report, editions []config.Edition, file *config.File, now time.Time) []cost.Payer {
	payers, since := file.Payers(now), now.Add(-24*time.Hour).UnixNano()
	changed := map[string]bool{} // budgets whose streams have a definition from within the last day
	for _, e := range editions {
		b := e.Stream.Budget
		if e.Number > 0 && e.Schedule.Start+int64(e.Schedule.Size) > since {
			changed[b.Name] = true
		}
		// its books say what it costs
		if !slices.ContainsFunc(payers, func(p cost.Payer) bool { return p.Name == b.Name }) {
			payers = append(payers,
				cost.Payer{Name: b.Name, Limit: b.Limit, Streams: []cost.Stream{cost.Ended(e.Stream.Input.Topic)}})
		}
	}
	for i := range payers {
		p := &payers[i]
		for _, of := range r.Budgets {
			if held := of.EpsilonDayLost; of.Budget == p.Name && held != nil &&
				(changed[p.Name] || of.MixedDay || held.GreaterThan(p.InAnyDay().Epsilon) && !p.Covers(of.ChargedDay)) {
				p.Before = held.Decimal
			}
		}
	}
	return slices.DeleteFunc(payers, func(p cost.Payer) bool {
		return p.Before.IsZero() &&
			!slices.ContainsFunc(file.Budgets, func(b *config.Budget) bool { return b.Name == p.Name })
	})
}

// lines says what one person loses at most, as check does.
func (r budgetReport) lines() (lines []string) {
	for _, s := range r.Streams {
		if s.Epsilon != nil {
			line := fmt.Sprintf("stream %s: one person loses at most %s in a window", s.Stream, s.window)
			if s.besides != "" {
				line += ", besides its " + s.besides
			}
			lines = append(lines, line)
		}
	}
	for _, b := range r.Budgets {
		if b.DayEpsilon != nil {
			lines = append(lines, fmt.Sprintf("budget %s: "+InAnyDay, b.Budget, b.day))
			switch held := b.EpsilonDayLost; {
			case held == nil || !held.GreaterThan(b.DayEpsilon.Decimal):
			case b.covered:
				lines = append(lines, fmt.Sprintf("budget %s: the books count ε %s for the last 24 h. That is more, "+
					"because with watches or releases on change they add up charges in a way that was fixed before "+
					"anything was drawn",
					b.Budget, held))
			default:
				lines = append(lines, fmt.Sprintf("budget %s: the windows that ended in the last 24 h cost ε %s: "+
					"former definitions, or users who were counted anew, cost more", b.Budget, held))
			}
		}
	}
	for _, in := range r.Inputs {
		lines = append(lines, in.Text)
	}
	return lines
}

// newest returns the newest definition of each stream that has windows to come.
func newest(editions []config.Edition, now time.Time) *config.File {
	file := &config.File{}
	for i, e := range editions { // by name and number
		if i+1 < len(editions) && editions[i+1].Stream.Name == e.Stream.Name {
			continue
		}
		if end := e.Schedule.End; end != 0 && end <= now.UnixNano() {
			continue
		}
		s := *e.Stream
		s.Window.StartNow, s.Window.Start, s.Window.End = false, e.Schedule.Start, e.Schedule.End
		if at := slices.IndexFunc(file.Budgets, func(b *config.Budget) bool { return b.Name == s.Budget.Name }); at >= 0 {
			s.Budget = file.Budgets[at] // each definition has its own
		} else {
			file.Budgets = append(file.Budgets, s.Budget)
		}
		file.Streams = append(file.Streams, &s)
	}
	return file
}
