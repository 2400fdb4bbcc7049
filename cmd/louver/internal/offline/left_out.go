package offline

import (
	"errors"
	"fmt"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
)

// leftOut counts the rows of a file that cannot be used, by reason. One of them does not end a release: a stream would
// reject such a record too, and go on.
//
// Privacy: whether a row is left out depends on that row alone. So nobody changes more of a sample than before.
type leftOut struct {
	file    string
	used    int
	skipped int            // those that do not meet the conditions
	where   feed.WhereFlag // which these are
	reasons []*reason      // in the order in which they were found
}

type reason struct {
	why          string
	count, first int // line
}

// add notes that a row is left out.
func (l *leftOut) add(line int, why string) { l.addAll(1, line, why) }

// addAll notes the same for several, the first of which is on that line.
func (l *leftOut) addAll(count, first int, why string) {
	for _, r := range l.reasons {
		if r.why == why {
			r.count += count
			return
		}
	}
	l.reasons = append(l.reasons, &reason{why, count, first})
}

// err is the first reason if there are rows and none of them can be used: then a column is probably wrong.
func (l *leftOut) err() error {
	if l.skipped > 0 && l.used == 0 && len(l.reasons) == 0 {
		return l.where.None(l.file)
	}
	if l.used > 0 || len(l.reasons) == 0 {
		return nil
	}
	r := l.reasons[0]
	return &cli.ExitError{Code: cli.ExitInvalid, Err: fmt.Errorf("%s:%d: %w", l.file, r.first, errors.New(r.why))}
}

// say tells the owner of the file.
func (l *leftOut) say(app *cli.App) {
	all := l.used
	for _, r := range l.reasons {
		all += r.count
	}
	if l.skipped > 0 {
		app.Say("louver: %s: %s (this line is not private: do not publish it)", l.file, l.where.Skipped(l.skipped, all))
	}
	for _, r := range l.reasons {
		are := "are"
		if r.count == 1 {
			are = "is"
		}
		app.Say("louver: %s: %s %s left out, first on line %d: %s (this line is not private: "+
			"do not publish it)", l.file, cli.Part(r.count, all, "row"), are, r.first, r.why)
	}
}
