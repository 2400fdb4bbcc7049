package demo

import (
	"fmt"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
)

// summary says at the end what the viewer has seen, and what to do next. It is "" if there was nothing to see.
func (v *view) summary() string {
	if v.seen == 0 {
		return ""
	}
	var b strings.Builder
	every := v.last.stream.Window.Every
	fmt.Fprintf(&b, "%s of %s", cli.Plural(v.seen, "window"), config.Duration(every))
	if v.last.sim != nil { // times of a file in which nothing happened are left out
		missing := int(v.last.end.Sub(v.first.end)/every) + 1 - v.seen
		fmt.Fprintf(&b, ", %d missing", missing)
	}
	fmt.Fprintf(&b, ". One person has lost at most ε %s.\n", v.last.lost)
	if g := v.guesses; g.total > 0 {
		fmt.Fprintf(&b, "You guessed %s whether Robin called, %d of them right.\n",
			cli.Plural(g.total, "time"), g.right)
	}
	return b.String()
}
