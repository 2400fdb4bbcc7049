package chaostest

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// redefinitions are the ways in which the file changes while the service runs.
var redefinitions = []struct {
	stream string
	change func(v *definition, revision int)
}{
	{"tumbling", func(v *definition, _ int) { v.size = other(v.size, 3*time.Second, 6*time.Second); v.every = v.size }},
	{"tumbling", func(v *definition, _ int) {
		if v.groups = slices.Clone(v.groups); len(v.groups) == 2 {
			v.groups = append(v.groups, "nobody")
		} else {
			v.groups = v.groups[:2]
		}
	}},
	{"hopping", func(v *definition, _ int) { v.size = other(v.size, 6*time.Second, 9*time.Second) }},
	{"hopping", func(v *definition, _ int) {
		v.epsilon = decimal.NewFromInt(3_000_000).Sub(v.epsilon)
	}},
	{"scarce", func(v *definition, _ int) { v.epsilon = decimal.New(6, -1).Sub(v.epsilon) }},
	{"scarce", func(v *definition, _ int) { v.limit.Epsilon = decimal.NewFromInt(5).Sub(v.limit.Epsilon) }},
	{"capped", func(v *definition, _ int) { v.cap = 12 - v.cap }},
	{"alarmed", func(v *definition, _ int) { v.alarm = 32 - v.alarm }},
	{"visits", func(v *definition, _ int) { v.total = 24 - v.total }},
	{"scarce", func(v *definition, revision int) { v.continues, v.budget = v.budget, fmt.Sprint("scarce-", revision) }},
}

func other(now, one, two time.Duration) time.Duration { return one + two - now }

// redefine changes the definition of one stream in the file, and gives the file to one of the processes. The others
// have the old one until they start again.
func (c *chaos) redefine() bool {
	// A budget that another takes over has been paid from by then.
	if time.Since(c.redefined) < time.Minute {
		return false
	}
	r := redefinitions[c.random.IntN(len(redefinitions))]
	i := slices.IndexFunc(c.streams, func(s promised) bool { return s.name == r.stream })
	c.revision++
	v := c.streams[i].newest()
	r.change(&v, c.revision)
	c.redefined = time.Now()
	v.given = c.redefined
	c.streams[i].definitions = append(slices.Clone(c.streams[i].definitions), v)
	c.configure()
	c.terminate(c.anyone())
	c.start()
	return true
}
