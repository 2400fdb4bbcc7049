package check

import (
	"bytes"
	"fmt"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
)

// foundReport describes a discovery before it is drawn, from public figures only.
type foundReport struct {
	Release    string     `json:"release"`
	Every      string     `json:"every"`
	Epsilon    cli.Figure `json:"epsilon"`
	Delta      cli.Figure `json:"delta"`
	MaxGroups  int64      `json:"max_groups"`
	AtLeast    int64      `json:"at_least"`
	Users50    int64      `json:"users_50"`
	Users95    int64      `json:"users_95"`
	Certain    int64      `json:"users_certain"`
	PerMillion float64    `json:"found_of_a_million"` // of names of at_least users
	Error      int64      `json:"error_95"`

	period string // such as "24h"
}

// severalNames is how many names somebody has in the example of check.
const severalNames = 8

// describeFound describes how the groups of a stream are found, if nobody lists them.
func (s *streamReport) describeFound(of *config.Stream) {
	if of.Found == nil {
		return
	}
	figures := len(of.Free) + len(of.StepSeries())
	for _, r := range of.Releases {
		figures += len(r.Names())
	}
	s.Groups = of.Found.Most()
	s.Series = s.Groups * figures
	for _, d := range of.Discoveries() {
		m := d.Mechanism
		p := m.Promise()
		s.Discoveries = append(s.Discoveries, foundReport{Release: d.Name, Every: config.Duration(d.Every),
			Epsilon: cli.NewFigure(p.Epsilon), Delta: cli.NewFigure(p.Delta), MaxGroups: d.MaxGroups, AtLeast: m.AtLeast(),
			Users50: m.UsersFor(0.5), Users95: m.UsersFor(0.95), Certain: m.Certain(),
			PerMillion: 1e6 * m.Found(m.AtLeast()), Error: m.Error95(), period: config.Period(d.Every)})
	}
}

// printFound says how the groups of a stream are found.
func (s *streamReport) printFound(w *bytes.Buffer) {
	if len(s.Discoveries) == 0 {
		return
	}
	fmt.Fprintln(w, "  groups are discovered")
	for _, d := range s.Discoveries {
		least := ""
		if d.AtLeast > 1 {
			least = fmt.Sprintf("; fewer than %d never suffice", d.AtLeast)
		}
		fmt.Fprintf(w, "    %s: ε %s, δ %s in each %s: a group needs %s who count to be found with 50 %%, %d with 95 %%%s\n",
			d.Release, d.Epsilon, d.Delta, d.period, users(d.Users50), d.Users95, least)
		fmt.Fprintf(w, "      of a million names with %s each, %s are published\n", users(d.AtLeast), cli.Short(d.PerMillion))
		names := max(severalNames, 2*d.MaxGroups)
		fmt.Fprintf(w, "      a user counts for %s in each %s. Whoever has %d that are not listed yet counts for each of them "+
			"with %s\n", cli.Plural(d.MaxGroups, "name"), d.period, names, share(d.MaxGroups, names))
	}
	fmt.Fprintf(w, "    figures for at most %d groups: %d series. Parts, which are personal, are kept for %s\n", s.Groups,
		s.Series, s.Discoveries[longest(s.Discoveries)].period)
}

// longest is the discovery with the longest period.
func longest(all []foundReport) (at int) {
	length := func(i int) time.Duration { d, _ := time.ParseDuration(all[i].Every); return d } // as config writes it
	for i := range all {
		if length(i) > length(at) {
			at = i
		}
	}
	return at
}

// share writes a fraction in lowest terms.
func share(of, all int64) string {
	for d := of; d > 1; d-- {
		if of%d == 0 && all%d == 0 {
			of, all = of/d, all/d
		}
	}
	return fmt.Sprintf("%d/%d", of, all)
}

// mostSeries is how many series of found groups pass without a warning.
const mostSeries = 10_000

// found warns of how groups are found.
func (w *warner) found(s *config.Stream, x *streamReport) {
	for i, d := range s.Discoveries() {
		warn := func(key, format string, args ...any) {
			w.at(d.Where, keyOf(s, "groups.discover[%s].%s", d.Name, key), format, args...)
		}
		p, described := d.Mechanism.Promise(), x.Discoveries[i]
		w.hardlyAnyone(d.Where, keyOf(s, "groups.discover[%s].epsilon", d.Name), p.Epsilon)
		if p.Delta.GreaterThan(largeDelta) {
			warn("delta", "δ %s lets a name that one user sent be found with that probability; want at most %s", p.Delta,
				largeDelta)
		}
		// users of a name in a period, if each window had others
		if most := s.ExpectedUsers * max(1, int64(d.Every/s.Window.Every)); most > 0 && most < described.Users50 {
			warn("epsilon", "a group needs %s to be found with 50 %%, and there are at most %d in %s, by expected_users; want a "+
				"larger epsilon, delta or every", users(described.Users50), most, described.period)
		}
		if d.Every < time.Hour {
			warn("every", "every %s costs one user who is always there %d times ε %s a day; want 1h or more", described.Every,
				int64(day/d.Every)*d.MaxGroups, p.Epsilon)
		}
	}
	if s.Found != nil && x.Series > mostSeries {
		w.at(s.Where, keyOf(s, "groups.max"), "up to %d series: %d groups with %d figures each; want at most %d, or a topic "+
			"and a metrics store that take so many", x.Series, x.Groups, x.Series/max(1, x.Groups), mostSeries)
	}
}
