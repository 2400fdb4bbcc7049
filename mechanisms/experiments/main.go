// Command experiments repeats the papers' experiments with the library's mechanisms and studies its defaults. Each
// experiment is one file and writes tables (CSV) and charts (SVG). README.md describes the results. It is a module of
// its own, so that the program does not depend on what draws charts.
//
//	cd mechanisms/experiments && go run . [-only NAME] [-quick] [-out FOLDER] [-vertebral FILE]
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// experiment is one part of the program.
type experiment struct {
	name, about string
	run         func(*session) error
}

func experiments() []experiment {
	return []experiment{
		{"defaults", "exact errors of all mechanisms, and how far the defaults are from the best", defaults},
		{"wider", "the same for inputs, tails and ε that influenced no choice", wider},
		{"means", "errors of means, sums and trimmed means, and how far the defaults are from the best", means},
		{"figure1", "Gillenwater & Muñoz Medina, figure 1: error of the median by ε", figure1},
		{"histograms", "Gillenwater & Muñoz Medina, figures 2 and 3: medians of the vertebral column data set",
			histograms},
		{"gaussian-mean", "Bun & Steinke: mean squared error of private Gaussian means", gaussianMean},
		{"selection", "the exponential mechanism's utility bound in voting and pricing", selection},
		{"tails", "tilt at the tails", tails},
		{"streams", "base measures on a stream with drift, incident and night", streams},
		{"so-far", "the distribution so far: how far p50, p90 and p99 of a day are off", soFar},
		{"groups", "names that nobody listed: how many are found in a week, and from how many users on", groups},
		{"quantiles", "several quantiles, jointly and one by one", severalQuantiles},
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "experiments:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("experiments", flag.ContinueOnError)
	only := flags.String("only", "", "run one experiment: "+strings.Join(names(), ", "))
	quick := flags.Bool("quick", false, "fewer repetitions")
	out := flags.String("out", "results", "folder to write to")
	vertebral := flags.String("vertebral", "",
		"CSV file of the vertebral column data set (two classes); without it, histograms are left out")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *only != "" && !slices.Contains(names(), *only) {
		return fmt.Errorf("-only %q; want one of %s", *only, strings.Join(names(), ", "))
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	s := &session{folder: *out, quick: *quick, vertebral: *vertebral,
		log: func(format string, a ...any) { fmt.Printf(format+"\n", a...) }}
	for _, e := range experiments() {
		if *only != "" && *only != e.name {
			continue
		}
		start := time.Now()
		s.log("%s: %s", e.name, e.about)
		if err := e.run(s); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		s.log("%s: done in %.1f s", e.name, time.Since(start).Seconds())
	}
	return nil
}

func names() []string {
	var all []string
	for _, e := range experiments() {
		all = append(all, e.name)
	}
	return all
}
