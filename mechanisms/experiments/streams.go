package main

import (
	"fmt"
	"io"
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

// streamCase is a quantile of a stream with so many users by day.
type streamCase struct {
	p       string
	n       int
	epsilon string
}

// streams compares the base measures on streams of latencies with the library's draws.
func streams(s *session) error {
	t := newTable("p", "n", "epsilon", "part", "prior", "median_error_ms", "mean_error_ms")
	for _, c := range []streamCase{{"0.50", 50, "0.1"}, {"0.90", 300, "0.1"}, {"0.99", 1000, "0.1"},
		{"0.99", 10_000, "0.05"}, {"0.50", 1000, "0.1"}} {
		errors := streamErrors{}
		for number := range s.reps(12, 1) {
			if err := c.run(number, errors); err != nil {
				return err
			}
		}
		for _, part := range []string{"all", "day", "incident", "night"} {
			for _, prior := range append(slices.Clone(streamPriors), smoothedPrior) {
				if e := errors.in(prior, part); len(e) > 0 {
					t.add(c.p, c.n, c.epsilon, part, prior, e[len(e)/2], stat.Mean(e, nil))
				}
			}
		}
		if c.n >= 1000 {
			continue // only the table shows them
		}
		p := strings.TrimPrefix(c.p, "0.")
		title := fmt.Sprintf("p%s of %d latencies, epsilon %s: median error", p, c.n, c.epsilon)
		name := fmt.Sprintf("streams-p%s-n%d", p, c.n)
		if err := s.chart(name, title, "window", "ms", false, true, errors.lines()...); err != nil {
			return err
		}
	}
	return s.write("streams", t)
}

// streamPriors are what draws follow where the data say little. The last has a filter that learns from earlier draws,
// which also smooths them.
var streamPriors = []string{"uniform", "cells", "tapered", "adaptive"}

const smoothedPrior = "adaptive, smoothed"

// run draws from one simulated stream with every prior.
func (c streamCase) run(number int, errors streamErrors) error {
	latencies := inputs()[0]
	query := mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{decimal.RequireFromString(c.p)},
		Epsilon: decimal.RequireFromString(c.epsilon), Grid: latencies.grid()}
	windows, truth := make([]*mechanisms.Sample, streamWindows), make([]int64, streamWindows)
	for w := range windows {
		users, median := scene(w, c.n)
		in := latencies
		in.name = fmt.Sprint("stream ", w)
		in.value = func(r *stream) float64 { return lognormal(r, median, 0.6) }
		sample := in.sample(users, number)
		windows[w], truth[w] = librarySample(query.Grid, sample), target(sample, query.P[0])
	}
	for _, prior := range streamPriors {
		random := repeatable("streams", c, number, prior)
		query.Prior, query.Mechanism = prior, "margin"
		if prior == "tapered" || prior == "adaptive" {
			query.Mechanism = "" // the defaults of a single release and of a stream
		}
		if err := errors.follow(query, prior, windows, truth, random); err != nil {
			return err
		}
	}
	return nil
}

// streamErrors are the errors by prior and window.
type streamErrors map[string]*[streamWindows][]float64

func (e streamErrors) add(prior string, window int, x, truth int64) {
	if e[prior] == nil {
		e[prior] = &[streamWindows][]float64{}
	}
	e[prior][window] = append(e[prior][window], math.Abs(float64(x-truth)))
}

// follow draws from one window after another.
func (e streamErrors) follow(query mechanisms.Query, prior string, windows []*mechanisms.Sample, truth []int64,
	random io.Reader) error {
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
	for w, sample := range windows {
		var public mechanisms.Public
		if filter != nil {
			public.Measure = filter.Measure()
		}
		d, err := m.Draw(sample, public, random)
		if err != nil {
			return err
		}
		x := d.Values[0].Number
		e.add(prior, w, x, truth[w])
		if filter != nil {
			filter.Update(x, nil)
			if smoothed, ok := filter.Smoothed(x, nil); ok {
				e.add(smoothedPrior, w, smoothed, truth[w])
			}
			filter.Predict()
		}
	}
	return nil
}

// in returns the errors in a part of the stream, sorted.
func (e streamErrors) in(prior, of string) (all []float64) {
	if e[prior] == nil {
		return nil
	}
	for w, errors := range e[prior] {
		if of == "all" || of == part(w) {
			all = append(all, errors...)
		}
	}
	slices.Sort(all)
	return all
}

// lines are the median errors in each window.
func (e streamErrors) lines() (all []line) {
	for _, prior := range streamPriors {
		l := line{name: prior}
		for w, errors := range e[prior] {
			slices.Sort(errors)
			l.x, l.y = append(l.x, float64(w)), append(l.y, max(0.5, errors[len(errors)/2]))
		}
		all = append(all, l)
	}
	return all
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
