package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/topics"
)

// examination is what check finds out about streams files, from public figures alone.
type examination struct {
	Streams  []examinedStream `json:"streams"`
	Budgets  []examinedBudget `json:"budgets"`
	Topics   []topics.Topic   `json:"topics"`
	Rights   []topics.Right   `json:"rights"`
	Warnings []string         `json:"warnings"`
}

type examinedStream struct {
	Stream    string `json:"stream"`
	Unit      string `json:"unit"`
	Where     string `json:"where"`
	Size      string `json:"size"`
	Every     string `json:"every"`
	Grace     string `json:"grace"`
	Groups    int    `json:"groups"`
	MaxGroups int    `json:"max_groups"`
	Budget    string `json:"budget"`
	// Users are those expected in a window and group; 0: unknown.
	Users int64 `json:"expected_users"`
	// Epsilon and Delta are what one user can lose by one window.
	Epsilon  figure            `json:"epsilon_per_window"`
	Delta    figure            `json:"delta_per_window"`
	Releases []examinedRelease `json:"releases"`
	// Backlog are windows of the past; nil: none.
	Backlog *examinedBacklog `json:"backlog"`
}

type examinedRelease struct {
	Release   string `json:"release"`
	Statistic string `json:"statistic"`
	Mechanism string `json:"mechanism"`
	Epsilon   figure `json:"epsilon"`
	Delta     figure `json:"delta"`
	// Charge is ε as often as a user may be in a group.
	Charge figure          `json:"epsilon_per_window"`
	Values []examinedValue `json:"values"`
}

// examinedValue is one released figure and its error.
type examinedValue struct {
	Release string `json:"release"`
	forecast.Figure
}

type examinedBudget struct {
	Budget  string   `json:"budget"`
	Where   string   `json:"where"`
	Epsilon figure   `json:"epsilon_limit"`
	Delta   figure   `json:"delta_limit"`
	Per     string   `json:"per"`
	Streams []string `json:"streams"`
	// Pays: every window of the streams' schedules is paid. If not, Windows are, and the next one ends at ExhaustedAt.
	Pays        bool       `json:"pays"`
	Windows     int64      `json:"windows"`
	Lasts       string     `json:"lasts"`
	ExhaustedAt *time.Time `json:"exhausted_at"`
	// Wanted is what the schedules would take in a period, were there no limit; nil: without end.
	Wanted *figure `json:"epsilon_wanted"`
}

// figure is a decimal that is a number in JSON, not a text.
type figure struct{ decimal.Decimal }

// MarshalJSON implements [json.Marshaler].
func (f figure) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(f.String())) }

// examine finds all that check tells. now is when streams start that start now.
func examine(file *config.File, app string, now time.Time) (*examination, error) {
	plan := topics.Plan(app, file.Streams)
	found := &examination{Topics: plan, Rights: topics.Rights(app, plan), Warnings: []string{}}
	for _, s := range file.Streams {
		lost := budget.Limit{}.Compose(s.Price())
		if lost.Unbounded { // what is promised in ρ has an ε for the budget's δ only
			lost = s.Budget.Compose(s.Price())
		}
		e := examinedStream{Stream: s.Name, Unit: s.Unit, Where: s.Where, Users: s.ExpectedUsers, Size: config.Duration(s.Window.Size), Every: config.Duration(s.Window.Every),
			Grace: config.Duration(s.Window.Grace), Groups: len(s.Groups), MaxGroups: s.MaxGroups, Budget: s.Budget.Name,
			Epsilon: figure{lost.Epsilon}, Delta: figure{lost.Delta}}
		for _, r := range s.Releases {
			x, err := examineRelease(s, r)
			if err != nil {
				return nil, err
			}
			e.Releases = append(e.Releases, x)
		}
		found.Streams = append(found.Streams, e)
	}
	for _, b := range file.Budgets {
		found.Budgets = append(found.Budgets, examineBudget(file, b, now))
		backlogs := file.Backlogs(b, now)
		for i, s := range file.StreamsOf(b) {
			found.Streams[slices.Index(file.Streams, s)].Backlog = examineBacklog(s, backlogs[i])
		}
	}
	found.Warnings = append(found.Warnings, warnings(file, found)...)
	return found, nil
}

func examineRelease(s *config.Stream, r config.Release) (examinedRelease, error) {
	promise := r.Mechanism.Promise()
	x := examinedRelease{Release: r.Name, Statistic: string(r.Query.Statistic), Mechanism: r.Mechanism.Name(), Epsilon: figure{promise.Epsilon},
		Delta: figure{promise.Delta}, Charge: figure{promise.Epsilon.Mul(decimalOf(int64(s.MaxGroups)))}}
	figures, err := forecast.Of(r.Query, r.Mechanism, publicOf(s))
	if err != nil {
		return x, fmt.Errorf("release %s: %w", r.Name, err)
	}
	for i, name := range r.Names() {
		x.Values = append(x.Values, examinedValue{name, figures[i]})
	}
	return x, nil
}

func examineBudget(file *config.File, b *config.Budget, now time.Time) examinedBudget {
	x := examinedBudget{Budget: b.Name, Where: b.Where, Epsilon: figure{b.Epsilon}, Delta: figure{b.Delta}, Per: config.Period(b.Per), Streams: []string{}}
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
	forecast := file.Forecast(b, now)
	x.Pays, x.Windows = forecast.Pays, forecast.Windows
	if !forecast.Worst.Unbounded {
		x.Wanted = &figure{forecast.Worst.Epsilon}
	}
	switch {
	case forecast.Pays && end > 0:
		x.Lasts = "to the last window"
	case forecast.Pays:
		x.Lasts = "for ever"
	case forecast.ExhaustedAt == 0:
		x.Lasts = "beyond the year 2262"
	default:
		at := time.Unix(0, forecast.ExhaustedAt).UTC()
		x.ExhaustedAt = &at
		x.Lasts = config.Duration(time.Duration(forecast.ExhaustedAt - begin))
	}
	return x
}
