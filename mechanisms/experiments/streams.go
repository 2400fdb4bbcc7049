package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/stat"

	"github.com/louver/louver/mechanisms"
)

// streamWindows is the length of a simulated stream.
const streamWindows = 120

// scene returns how many users a window has and their median latency. The median drifts by a fifth either way. During
// 15 windows an incident triples it. The last 30 windows are night, with a quarter of the users.
func scene(window, n int) (users int, median float64) {
	users, median = n, 120*(1+0.2*math.Sin(2*math.Pi*float64(window)/streamWindows))
	if window >= 50 && window < 65 {
		median *= 3
	}
	if window >= 90 {
		users = n / 4
	}
	return users, median
}

// streams compares the base measures on streams of latencies with the library's draws.
func streams(s *session) error {
	t := newTable("p", "n", "epsilon", "part", "prior", "median_error_ms", "mean_error_ms")
	latencies := inputs()[0]
	grid := latencies.grid()
	for _, c := range []struct {
		p       string
		n       int
		epsilon string
	}{{"0.50", 50, "0.1"}, {"0.90", 300, "0.1"}, {"0.99", 1000, "0.1"}, {"0.99", 10_000, "0.05"}, {"0.50", 1000, "0.1"}} {
		query := mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{decimal.RequireFromString(c.p)},
			Epsilon: decimal.RequireFromString(c.epsilon), Grid: grid}
		errors := map[string]map[string][]float64{} // by prior and part
		byWindow := map[string][][]float64{}
		note := func(prior, part string, e float64) {
			if errors[prior] == nil {
				errors[prior] = map[string][]float64{}
			}
			errors[prior][part] = append(errors[prior][part], e)
			errors[prior]["all"] = append(errors[prior]["all"], e)
		}
		for number := range s.reps(12, 1) {
			inputs := make([]*mechanisms.Sample, streamWindows)
			truth := make([]int64, streamWindows)
			for w := range inputs {
				users, median := scene(w, c.n)
				in := latencies
				in.name = fmt.Sprint("stream ", w)
				in.value = func(r *stream) float64 { return lognormal(r, median, 0.6) }
				sample := in.sample(users, number)
				inputs[w], truth[w] = librarySample(grid, sample), target(sample, query.P[0])
			}
			for _, prior := range []string{"uniform", "cells", "tapered", "adaptive"} {
				random := repeatable("streams", c, number, prior)
				query.Prior, query.Mechanism = prior, "margin"
				if prior == "tapered" || prior == "adaptive" {
					query.Mechanism = "" // the defaults of a single release and of a stream
				}
				m, err := mechanisms.New(query)
				if err != nil {
					return err
				}
				var filter *mechanisms.Filter
				if prior == "adaptive" {
					if filter, err = mechanisms.NewFilter(query); err != nil {
						return err
					}
				}
				for w, input := range inputs {
					var public mechanisms.Public
					if filter != nil {
						public.Measure = filter.Measure()
					}
					d, err := m.Draw(input, public, random)
					if err != nil {
						return err
					}
					x := d.Values[0].Number
					note(prior, part(w), math.Abs(float64(x-truth[w])))
					if byWindow[prior] == nil {
						byWindow[prior] = make([][]float64, streamWindows)
					}
					byWindow[prior][w] = append(byWindow[prior][w], math.Abs(float64(x-truth[w])))
					if filter != nil {
						filter.Update(x, nil)
						if smoothed := filter.Smoothed(x, nil); smoothed != nil {
							note("adaptive, smoothed", part(w), math.Abs(float64(smoothed.Value-truth[w])))
						}
						filter.Predict()
					}
				}
			}
		}
		for _, part := range []string{"all", "day", "incident", "night"} {
			for _, prior := range []string{"uniform", "cells", "tapered", "adaptive", "adaptive, smoothed"} {
				e := errors[prior][part]
				if len(e) == 0 {
					continue
				}
				slices.Sort(e)
				t.add(c.p, c.n, c.epsilon, part, prior, e[len(e)/2], stat.Mean(e, nil))
			}
		}
		var lines []line
		for _, prior := range []string{"uniform", "cells", "tapered", "adaptive"} {
			l := line{name: prior}
			for w, e := range byWindow[prior] {
				slices.Sort(e)
				l.x, l.y = append(l.x, float64(w)), append(l.y, max(0.5, e[len(e)/2]))
			}
			lines = append(lines, l)
		}
		if c.n >= 1000 {
			continue // only the table shows them
		}
		title := fmt.Sprintf("p%s of %d latencies, epsilon %s: median error", strings.TrimPrefix(c.p, "0."), c.n, c.epsilon)
		if err := s.chart(fmt.Sprintf("streams-p%s-n%d", strings.TrimPrefix(c.p, "0."), c.n), title, "window", "ms", false, true, lines...); err != nil {
			return err
		}
	}
	return s.write("streams", t)
}

func part(window int) string {
	switch {
	case window >= 50 && window < 65:
		return "incident"
	case window >= 90:
		return "night"
	}
	return "day"
}
