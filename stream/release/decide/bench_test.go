package decide

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/windows"
)

// BenchmarkWatchesOfOneBudget settles the watches of one stream's window while others of the same budget are armed. The
// time for each of them counts in every window, so it has to be short.
func BenchmarkWatchesOfOneBudget(b *testing.B) {
	for _, streams := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			text := strings.NewReplacer("EPSILON", "1", "LIMIT", "1000000000", "ATMOST", "2").Replace(alarmed)
			d := newDecider(b, programOf(b, text), zap.NewNop()).sealing()
			var all []*program
			for i := range streams {
				p := programOf(b, text)
				p.Stream.Name = fmt.Sprintf("s%d", i)
				all = append(all, p)
			}
			d.goesOn(nil, nil, all...)
			for _, p := range all {
				first, _ := p.lanes.Windows.Next()
				arm(b, d.Core, p, first)
			}
			b.ResetTimer()
			for i := range b.N {
				p := all[i%streams]
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

// arm records a program's first window, for which its watches are armed.
func arm(b *testing.B, s *Core, p *program, w windows.Window) {
	b.Helper()
	e := p.entry("app", w)
	e.Reason, e.Continual = "", s.watches.describe(p, w)
	if err := s.own.Books.Settle(&e); err != nil {
		b.Fatal(err)
	}
	samples := make([]*mechanisms.Sample, len(e.Groups))
	for g := range samples {
		samples[g] = mechanisms.NewSample(p.Stream.Grid, []windows.Point{{Index: 1, Count: 1000}})
	}
	for i := range e.Continual {
		if err := s.watches.lookOnce(p.continual[i], &e, &e.Continual[i], instance{}, samples, p.random); err != nil ||
			e.Continual[i].Fires() != nil {
			b.Fatal(err, e.Continual[i].Fires())
		}
	}
	if err := s.own.Books.Finish(&e); err != nil {
		b.Fatal(err)
	}
	e.Reason = "budget_exhausted" // the figures are not drawn
	value, err := e.Encode()
	if err == nil {
		err = s.own.Books.Add(e)
	}
	if err != nil || len(value) == 0 {
		b.Fatal(err)
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
	d := newDecider(b, programOf(b, text), zap.NewNop()).sealing()
	for b.Loop() {
		if e := d.next(nil); e.Reason != "" {
			b.Fatal(e.Reason)
		}
	}
}
