package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/topics"
)

// examination holds what check finds about streams files, from public figures only.
type examination struct {
	Streams  []examinedStream `json:"streams"`
	Budgets  []examinedBudget `json:"budgets"`
	Topics   []topics.Topic   `json:"topics"`
	Rights   []topics.Right   `json:"rights"`
	Warnings []string         `json:"warnings"`
	// Preview is what the files would change; nil if the cluster was not asked.
	Preview *foreseen `json:"preview,omitempty"`
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
	// Users is how many users are expected in a window and group; 0 if unknown.
	Users int64 `json:"expected_users"`
	// Epsilon and Delta are what one user can lose in one window.
	Epsilon figure `json:"epsilon_per_window"`
	Delta   figure `json:"delta_per_window"`
	// Overlap is the greatest number of windows that hold one event. EventEpsilon and EventDelta are what these cost
	// its user together.
	Overlap      int64             `json:"windows_per_event"`
	EventEpsilon figure            `json:"epsilon_per_event"`
	EventDelta   figure            `json:"delta_per_event"`
	Releases     []examinedRelease `json:"releases"`
	// Backlog are windows of the past; nil if there are none.
	Backlog *examinedBacklog `json:"backlog"`
}

type examinedRelease struct {
	Release   string `json:"release"`
	Statistic string `json:"statistic"`
	Mechanism string `json:"mechanism"`
	Epsilon   figure `json:"epsilon"`
	Delta     figure `json:"delta"`
	// Charge is ε times the number of groups that a user may be in.
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
	// Pays says that every window of the streams' schedules is paid. If not, Windows of them are, and the next one ends
	// at ExhaustedAt.
	Pays        bool       `json:"pays"`
	Windows     int64      `json:"windows"`
	Lasts       string     `json:"lasts"`
	ExhaustedAt *time.Time `json:"exhausted_at"`
	// Wanted is what the schedules would cost in a period without a limit; nil if that is endless.
	Wanted *figure `json:"epsilon_wanted"`
	// Touched is the greatest number of windows of the streams that overlap a stretch of time as long as the period.
	// StretchEpsilon and StretchDelta are what these cost a user together. They are nil if there is no period.
	Touched        *int64  `json:"windows_per_stretch"`
	StretchEpsilon *figure `json:"epsilon_per_stretch"`
	StretchDelta   *figure `json:"delta_per_stretch"`
}

// figure is a decimal that is a number in JSON, not a string.
type figure struct{ decimal.Decimal }

// MarshalJSON implements [json.Marshaler].
func (f figure) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(f.String())) }

// examine finds everything that check prints. now is the start of streams with start: now.
func examine(file *config.File, app string, now time.Time) (*examination, error) {
	plan := topics.Plan(app, file.Streams)
	found := &examination{Topics: plan, Rights: topics.Rights(app, plan), Warnings: []string{}}
	for _, s := range file.Streams {
		overlap := s.Window.Overlapping(0)
		lost, event := s.Lost(1), s.Lost(overlap)
		e := examinedStream{Stream: s.Name, Unit: s.Unit, Where: s.Where, Users: s.ExpectedUsers, Size: config.Duration(s.Window.Size), Every: config.Duration(s.Window.Every),
			Grace: config.Duration(s.Window.Grace), Groups: len(s.Groups), MaxGroups: s.MaxGroups, Budget: s.Budget.Name,
			Epsilon: figure{lost.Epsilon}, Delta: figure{lost.Delta}, Overlap: overlap, EventEpsilon: figure{event.Epsilon}, EventDelta: figure{event.Delta}}
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
	if b.Per != 0 {
		touched, lost := b.Stretch(streams)
		x.Touched, x.StretchEpsilon, x.StretchDelta = &touched, &figure{lost.Epsilon}, &figure{lost.Delta}
	}
	runway := file.Runway(b, now)
	x.Pays, x.Windows = runway.Pays, runway.Windows
	if !runway.Worst.Unbounded {
		x.Wanted = &figure{runway.Worst.Epsilon}
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
