package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// growth is how cost grows along one axis: rows that differ from the first row of the axis in one thing alone.
type growth struct {
	axis  string
	steps []row
}

// axes are the axes of the growth tables. Every row's events and users are given here; the row that all axes start from
// reads a million events of 100,000 users.
func axes() []growth {
	const events, users = 1_000_000, 100_000
	along := func(axis string, values []int, set func(r *row, n int)) growth {
		g := growth{axis: axis}
		for _, n := range values {
			r := row{name: fmt.Sprintf("%s=%d", axis, n), events: events, users: users}
			set(&r, n)
			g.steps = append(g.steps, r)
		}
		return g
	}
	return []growth{
		along("events", []int{100_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000},
			func(r *row, n int) { r.events = n }),
		along("users", []int{1000, 10_000, 100_000, 1_000_000, 10_000_000}, func(r *row, n int) { r.users = n }),
		along("groups", []int{1, 10, 100, 1000, 10_000}, func(r *row, n int) { r.groups = n }),
		along("releases", []int{1, 10, 100}, func(r *row, n int) { r.releases = n }),
		along("overlap", []int{1, 5, 60}, func(r *row, n int) { r.over = n }),
		along("streams", []int{1, 20, 200, 2000}, func(r *row, n int) { r.streams, r.events = n, 200_000 }),
		along("different-streams", []int{1, 5, 20},
			func(r *row, n int) { r.streams, r.unlike, r.events = n, true, 200_000 }),
		along("idle-streams", []int{0, 100, 1000, 2000}, func(r *row, n int) { r.idle = n }),
		along("processes", []int{1, 2, 4, 20}, func(r *row, n int) { r.processes = n }),
	}
}

// TestGrowth prints a table for each axis whose name contains a word of GROWTH. Rows of more events or
// users than GROWTH_MOST, a million without, are left out, and rows of more figures than a tenth of that.
func TestGrowth(t *testing.T) {
	words, chosen := os.LookupEnv("GROWTH")
	if !chosen {
		t.Skip("a run takes long; make growth starts it")
	}
	most := number(t, "GROWTH_MOST", 1_000_000)
	binary := filepath.Join(t.TempDir(), "louver")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/louver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, g := range axes() {
		if !contains(g.axis, words) {
			continue
		}
		var table strings.Builder
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintf(w, "| %s\t| CPU s\t| CPU µs/event\t| peak RSS MiB\t|\n%s|\n", g.axis, strings.Repeat("|---\t", 4))
		for _, r := range g.steps {
			if r.events > most || r.users > most || 10*r.figures() > most {
				continue
			}
			t.Run(r.name, func(t *testing.T) {
				got := r.measure(t, kafkatest.Real(t), binary, r.events, r.users)
				_, _ = fmt.Fprintf(w, "| %s\t| %.2f\t| %.2f\t| %.0f\t|\n", strings.TrimPrefix(r.name, g.axis+"="),
					got.cpu*float64(r.events)/1e6, got.cpu, got.rss)
				t.Logf("%.2f µs an event, %.0f MiB", got.cpu, got.rss)
			})
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\n%s\n", table.String())
	}
}

func contains(name, words string) bool {
	for word := range strings.SplitSeq(words, ",") {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
