package check

import (
	"bytes"
	"fmt"
	"math"

	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// freeReport describes a figure that is computed from a histogram.
type freeReport struct {
	Release   string `json:"release"`
	Statistic string `json:"statistic"`
	From      string `json:"from"`
	// Quality is the likely one with the expected users. It is "" if their number is unknown, or if it depends on how
	// the values are distributed.
	Quality mechanisms.Quality `json:"quality,omitempty"`
	// NoiseBelow and UsefulFrom are numbers of users in a window and group; nil if unknown.
	NoiseBelow *int64 `json:"noise_below"`
	UsefulFrom *int64 `json:"useful_from"`
	// SLO is what is known of its objective; nil if it has none.
	SLO *objectiveReport `json:"slo,omitempty"`

	of *config.Computed
}

// describeFree forecasts the quality of each figure that is computed from a histogram: with a shape by draws, and else
// from the histogram's noise.
func describeFree(s *config.Stream, public forecast.Public) (all []freeReport, err error) {
	readers := config.All[*config.Computed](s)
	figures := map[string][]mechanisms.Query{} // by histogram, in their order
	for _, f := range readers {
		figures[f.From.Name] = append(figures[f.From.Name], f.Query)
	}
	if public.Users > forecast.MostUsers {
		public.Shape = nil // so many are not drawn for a shape
	}
	computed := map[string][]forecast.Figure{}
	for _, f := range readers {
		if h := f.From; computed[h.Name] == nil {
			computed[h.Name], err = forecast.Computed(h.Query, h.Mechanism, figures[h.Name], public)
			if err != nil {
				return nil, fmt.Errorf("release %s: %w", h.Name, err)
			}
		}
		one := freeReport{of: f, Release: f.Name, Statistic: string(f.Query.Statistic), From: f.From.Name,
			Quality: computed[f.From.Name][0].Quality}
		computed[f.From.Name] = computed[f.From.Name][1:]
		outlook, ok, err := forecast.OutlookOf(f.From.Query, f.From.Mechanism, f.Query)
		if err != nil {
			return nil, fmt.Errorf("release %s: %w", f.Name, err)
		}
		if ok {
			one.NoiseBelow = &outlook.Noise
		}
		// where a shape puts many users into one bucket, more of them do not help
		if wide := one.Quality != mechanisms.Useful && public.Users >= outlook.Useful; outlook.Useful > 0 && !wide {
			one.UsefulFrom = &outlook.Useful
		}
		if f.Objective.IsPositive() {
			one.SLO = describeObjective(config.Objective{Stream: s, Share: f}, public.Users)
		}
		all = append(all, one)
	}
	return all, nil
}

// printFree says for each histogram which figures are computed from it, and with how many users each of them is good
// for something.
func printFree(w *bytes.Buffer, all []freeReport, expected int64) {
	names := map[string][]string{}
	var order []string
	for _, f := range all {
		if names[f.From] == nil {
			order = append(order, f.From)
		}
		names[f.From] = append(names[f.From], f.Release)
	}
	for _, from := range order {
		are, cost := "is", "costs"
		if len(names[from]) > 1 {
			are, cost = "are", "cost"
		}
		cli.Fprintf(w, "  %s %s computed from %s and %s nothing. Each value comes with its error.\n",
			english.WordSeries(names[from], "and"), are, from, cost)
		for _, f := range all {
			if f.From == from && f.NoiseBelow != nil {
				cli.Fprintf(w, "    %s: %s\n", f.Release, f.outlook(expected))
			}
		}
	}
}

// outlook says with how many users the figure is noise, and with how many it is useful.
func (f freeReport) outlook(expected int64) string {
	useful := "; plan --shape says from how many on it is useful"
	if f.UsefulFrom != nil {
		useful = "; useful from " + users(*f.UsefulFrom)
	}
	switch {
	case f.Quality == "":
		return "noise below " + users(*f.NoiseBelow) + useful
	case f.Quality == mechanisms.Useful, f.UsefulFrom == nil:
		useful = ""
	}
	return fmt.Sprintf("%s with %s", f.Quality, users(expected)) + useful
}

// sumReport describes what is added up with every window, at no cost: a histogram over the newest time, or all groups
// together.
type sumReport struct {
	// Release is the histogram, such as latency, and Name what its figures have behind a dot, such as last_1h. For all
	// groups together, Release is "" and Name that of the group.
	Release string `json:"release,omitempty"`
	Name    string `json:"name"`
	// Windows and Groups are how many are added up: at most, if groups are found.
	Windows int64 `json:"windows,omitempty"`
	Groups  int   `json:"groups,omitempty"`
	// Noise is how many times that of one window and group its noise is.
	Noise float64 `json:"noise"`

	twice bool // a user may be in several groups
}

func describeSums(s *config.Stream) (all []sumReport) {
	for _, r := range config.All[*config.Release](s) {
		for _, d := range r.Last {
			n := int64(d / s.Window.Every)
			all = append(all, sumReport{Release: r.Name, Name: record.LastPrefix + period.Name(d), Windows: n,
				Noise: math.Sqrt(float64(n))})
		}
	}
	if s.Together != "" {
		n := s.MostGroups()
		all = append(all, sumReport{Name: s.Together, Groups: n, Noise: math.Sqrt(float64(n)), twice: s.MaxGroups > 1})
	}
	return all
}

func (x sumReport) print(w *bytes.Buffer) {
	if x.Release != "" {
		cli.Fprintf(w, "  %s.%s adds up the newest %s, with every window and at no cost. Its noise is %.1f times that of "+
			"one.\n", x.Release, x.Name, cli.Plural(x.Windows, "window"), x.Noise)
		return
	}
	twice := ""
	if x.twice {
		twice = " A user who is in several groups counts in each."
	}
	cli.Fprintf(w, "  %s adds up what was drawn for %s, at no cost. Its noise is %.1f times that of a stream without "+
		"groups.%s\n", x.Name, cli.Plural(x.Groups, "group"), x.Noise, twice)
}
