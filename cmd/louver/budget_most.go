package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
)

// budgetReport is what the ledger says has been spent, and what the definitions of the streams say one person loses at most.
// Its JSON names are public.
type budgetReport struct {
	Streams []streamReport        `json:"streams"`
	Budgets []limitReport         `json:"budgets"`
	Watches []ledger.WatchFigures `json:"watches,omitempty"`
	// Inputs are the topics whose people several budgets pay for.
	Inputs []inputReport `json:"inputs,omitempty"`
}

// inputReport bounds what one person of an input topic loses through all budgets that pay for it.
type inputReport struct {
	Topic   string   `json:"topic"`
	Budgets []string `json:"budgets"`
	// DayEpsilon is the sum of what the windows that end in any 24 hours cost under each of the budgets. The streams of the budgets that
	// read other topics are in it.
	DayEpsilon figure `json:"epsilon_per_day"`
}

type streamReport struct {
	ledger.StreamFigures
	// Epsilon and Delta are what a window costs. They are nil if the definition is not known, or draws nothing in every window.
	Epsilon *figure `json:"epsilon_per_window,omitempty"`
	Delta   *figure `json:"delta_per_window,omitempty"`
	// besides names what tells of windows too, at a cost of its own.
	besides string
}

type limitReport struct {
	ledger.Figures
	// DayEpsilon and DayDelta bound what the windows that end in any 24 hours cost. They are nil if no known definition of a
	// stream is paid by the budget.
	DayEpsilon *figure `json:"epsilon_per_day,omitempty"`
	DayDelta   *figure `json:"delta_per_day,omitempty"`
}

// withMost adds what one person loses at most under these definitions.
func withMost(r ledger.Report, file *config.File, now time.Time) budgetReport {
	all := budgetReport{Streams: []streamReport{}, Budgets: []limitReport{}, Watches: r.Watches}
	for _, of := range r.Streams {
		x := streamReport{StreamFigures: of}
		if s := file.Stream(of.Stream); s != nil && len(s.Releases) > 0 {
			lost := s.Lost(1)
			x.Epsilon, x.Delta, x.besides = &figure{lost.Epsilon}, &figure{lost.Delta}, config.Besides(s)
		}
		all.Streams = append(all.Streams, x)
	}
	for _, of := range r.Budgets {
		x := limitReport{Figures: of}
		if i := slices.IndexFunc(file.Budgets, func(b *config.Budget) bool { return b.Name == of.Budget }); i >= 0 {
			lost := file.InAnyDay(file.Budgets[i], now)
			x.DayEpsilon, x.DayDelta = &figure{lost.Epsilon}, &figure{lost.Delta}
		}
		all.Budgets = append(all.Budgets, x)
	}
	all.Inputs = shared(file, now)
	return all
}

// shared lists the topics that several budgets pay for: the losses of a person add up.
func shared(file *config.File, now time.Time) (all []inputReport) {
	byTopic := map[string][]*config.Budget{}
	for _, s := range file.Streams {
		if of := byTopic[s.Input.Topic]; !slices.Contains(of, s.Budget) {
			byTopic[s.Input.Topic] = append(of, s.Budget)
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		if len(byTopic[topic]) < 2 {
			continue
		}
		in := inputReport{Topic: topic}
		for _, b := range byTopic[topic] {
			in.Budgets = append(in.Budgets, b.Name)
			lost := file.InAnyDay(b, now)
			if lost.Unbounded {
				in.DayEpsilon = figure{}
				break
			}
			in.DayEpsilon.Decimal = in.DayEpsilon.Add(lost.Epsilon)
		}
		if len(in.Budgets) == len(byTopic[topic]) {
			all = append(all, in)
		}
	}
	return all
}

// line says it in words.
func (in inputReport) line() string {
	return fmt.Sprintf("topic %s: budgets %s pay for the same people: one person loses at most ε %s in any 24 h through all of them", in.Topic, strings.Join(in.Budgets, ", "), in.DayEpsilon)
}

// lines says what one person loses at most, as check does.
func (r budgetReport) lines() (lines []string) {
	for _, s := range r.Streams {
		if s.Epsilon != nil {
			line := fmt.Sprintf("stream %s: one person loses at most %s in a window", s.Stream, loss(*s.Epsilon, *s.Delta))
			if s.besides != "" {
				line += ", beside its " + s.besides
			}
			lines = append(lines, line)
		}
	}
	for _, b := range r.Budgets {
		if b.DayEpsilon != nil {
			lines = append(lines, fmt.Sprintf("budget %s: %s", b.Budget, inAnyDay(*b.DayEpsilon, *b.DayDelta)))
			if held := b.EpsilonDay; held != nil && held.GreaterThan(b.DayEpsilon.Decimal) {
				lines = append(lines, fmt.Sprintf("budget %s: the windows that ended in the last 24 h cost ε %s: former definitions, or users who were counted anew, cost more", b.Budget, held))
			}
		}
	}
	for _, in := range r.Inputs {
		lines = append(lines, in.line())
	}
	return lines
}

// inAnyDay says what one person loses at most through a budget's windows.
func inAnyDay(epsilon, delta figure) string {
	return fmt.Sprintf("one person loses at most %s in any 24 h, counting the windows that end in it", loss(epsilon, delta))
}

// newest returns the newest definition of each stream that has windows to come.
func newest(editions []control.Edition, now time.Time) *config.File {
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
