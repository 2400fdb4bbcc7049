package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/louver/louver/stream/config"
)

// BenchmarkWatchesOfOneBudget settles the watches of one stream's window while others of the same budget are armed. The
// time for each of them counts in every window, so it has to be short.
func BenchmarkWatchesOfOneBudget(b *testing.B) {
	for _, streams := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			var editions []config.Edition
			for i := range streams {
				of := editionsOf(b, strings.NewReplacer("EPSILON", "1", "LIMIT", "1000000000", "ATMOST", "2").
					Replace(alarmed))[0]
				of.Stream.Name = fmt.Sprintf("s%d", i)
				editions = append(editions, of)
			}
			d := playing(b, editions)
			for _, of := range editions { // arms their watches
				d.give(of, users(1000, "a", 1), trouble{})
			}
			d.decided()
			b.ResetTimer()
			for i := range b.N {
				p := d.programs[i%streams]
				w, _ := p.lanes.Windows.Next()
				e := p.entry("app", w)
				e.Continual = d.watches.describe(p, w)
				_, e.Ended = d.watches.resume(p)
				if err := d.own.Books.Settle(&e); err != nil || len(e.Ended) > 0 || !e.Continual[0].Looks() ||
					e.Continual[0].Arms {
					b.Fatalf("%v, %v end, %+v", err, e.Ended, e.Continual)
				}
			}
		})
	}
}

// BenchmarkManyGroups draws a count for each of 1,000 groups, in which nobody is.
func BenchmarkManyGroups(b *testing.B) {
	var groups []string
	for i := range 1000 {
		groups = append(groups, fmt.Sprintf("g%d", i))
	}
	text := strings.NewReplacer("EPSILON", "1", "LIMIT", "1000000000000", "ATMOST", "2", "[a, b, c]",
		"["+strings.Join(groups, ", ")+"]").Replace(alarmed)
	d := playing(b, editionsOf(b, text))
	for b.Loop() {
		if e := d.next(nil); e.Reason != "" {
			b.Fatal(e.Reason)
		}
	}
}
