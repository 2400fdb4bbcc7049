// Command mutate shows that the tests see a privacy defect: it makes each of the changes listed in mutations.yaml, one
// at a time, and runs the tests that are named for it. A change that no test notices has survived, and the command
// fails.
//
//	go run ./mechanisms/internal/mutate [-jobs n] [part of a description …]
//
// The list names what privacy rests on: sensitivities, shares of ε, weights, the bounds of the sums, and the places
// where an exact figure could take a noisy one's place. It also names what alerts say about noise. Tools such as
// gremlins change operators wherever they find them. Few of these changes touch privacy, and many change nothing that a
// test could see. So the list is written by hand.
//
// The source tree stays as it is: `go test -overlay` compiles changed files from a temporary directory. All changes
// inside functions are compiled at once; see weave.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sync/errgroup"
)

func main() {
	jobs := flag.Int("jobs", max(1, runtime.NumCPU()/2), "how many mutations are tried at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *jobs, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, jobs int, only []string) error {
	all, err := load(".")
	if err != nil {
		return err
	}
	mutations := slices.DeleteFunc(all, func(m mutation) bool { return !chosen(m, only) })
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system removes what is left

	if err := weave(ctx, dir, mutations); err != nil {
		return err
	}
	if err := sound(ctx, dir, mutations); err != nil {
		return err
	}
	began, done := time.Now(), 0
	results := make([]result, len(mutations))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for i, m := range mutations {
		group.Go(func() error {
			results[i] = m.try(ctx, dir)
			mu.Lock()
			defer mu.Unlock()
			done++
			_, _ = fmt.Fprintf(os.Stderr, "%3d of %d, %s: %s: %s\n", done, len(mutations),
				time.Since(began).Round(time.Second), m.What, results[i])
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	counts := map[string]int{}
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.AppendHeader(table.Row{"", "where", "what", "noticed by"})
	for i, m := range mutations {
		verdict := results[i].verdict()
		counts[verdict]++
		t.AppendRow(table.Row{verdict, m.at, m.What, strings.Join(results[i].failed, " ")})
	}
	t.Render()
	fmt.Printf("%d mutations, %d caught\n", len(mutations), counts["caught"])
	if n := len(mutations) - counts["caught"]; n > 0 {
		return fmt.Errorf("%d mutations survived, %d could not be tried", counts["SURVIVED"], counts["BROKEN"])
	}
	return nil
}

// chosen reports whether a mutation has one of the texts in its place or its description. If there are no texts, all
// are chosen.
func chosen(m mutation, texts []string) bool {
	for _, text := range texts {
		if strings.Contains(m.at+" "+m.What, text) {
			return true
		}
	}
	return len(texts) == 0
}
