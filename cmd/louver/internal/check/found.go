package check

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
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
	MaxWindows *capReport `json:"max_windows,omitempty"` // nil if everybody counts in every period

	period  string // such as "24h"
	changed int64  // how many periods change with what a user has in one
}

// severalNames is how many names somebody has in the example of check.
const severalNames = 8

// describeFound describes how the groups of a stream are found, if nobody lists them.
func (s *streamReport) describeFound(of *config.Stream) {
	if of.Found == nil {
		return
	}
	discoveries := config.All[*config.Discovery](of)
	figures := len(of.SeriesNames()) - len(discoveries)
	s.Groups = of.Found.Most()
	s.Series, s.ListOf = s.Groups*figures, of.Found.From
	for _, d := range discoveries {
		m := d.Mechanism
		p := m.Promise()
		x := foundReport{Release: d.Name, Every: config.Duration(d.Every), Epsilon: cli.NewFigure(p.Epsilon),
			Delta: cli.NewFigure(p.Delta), MaxGroups: d.Groups, AtLeast: m.AtLeast(), Users50: m.UsersFor(0.5),
			Users95: m.UsersFor(0.95), Certain: m.Certain(), PerMillion: 1e6 * m.Found(m.AtLeast()), Error: m.Error95(),
			period: config.Period(d.Every)}
		if d.MaxWindows != nil {
			x.MaxWindows, x.changed = newCapReport(d.MaxWindows), d.MaxWindows.By.ChangedBy(1)
		}
		s.Discoveries = append(s.Discoveries, x)
	}
}

// printFound says how the groups of a stream are found.
func (s *streamReport) printFound(w *bytes.Buffer) {
	if s.ListOf != "" {
		fmt.Fprintf(w, "  groups are those that stream %s discovers, at no further cost\n"+
			"    figures for at most %d groups: %d series\n", s.ListOf, s.Groups, s.Series)
	}
	if len(s.Discoveries) == 0 {
		return
	}
	fmt.Fprintln(w, "  groups are discovered")
	for _, d := range s.Discoveries {
		least := ""
		if d.AtLeast > 1 {
			least = fmt.Sprintf("; fewer than %d never suffice", d.AtLeast)
		}
		fmt.Fprintf(w, "    %s: ε %s, δ %s in each %s: a group is found with a probability of 50 %% if %s count for "+
			"it, of 95 %% if %d do%s\n", d.Release, d.Epsilon, d.Delta, d.period, users(d.Users50), d.Users95, least)
		fmt.Fprintf(w, "      of a million names with %s each, %s are published\n", users(d.AtLeast),
			cli.Short(d.PerMillion))
		names := max(severalNames, 2*d.MaxGroups)
		fmt.Fprintf(w, "      a user counts for %s in each %s. With %d names that are not listed yet, they count for "+
			"each with a probability of %s\n", cli.Plural(d.MaxGroups, "name"), d.period, names,
			share(d.MaxGroups, names))
		if d.MaxWindows != nil {
			d.MaxWindows.print(w, "      ", "period")
			if d.changed > 1 {
				fmt.Fprintf(w, "      what one user sends in one period changes up to %d, because without it they "+
					"may count in a later one\n", d.changed)
			}
		}
	}
	fmt.Fprintf(w, "    figures for at most %d groups: %d series. Parts, which are personal, are kept for %s\n",
		s.Groups, s.Series, s.Discoveries[longest(s.Discoveries)].period)
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

// reach says how many users a name needs to be found, if each of them counts for it with a probability: with 1/8 if a
// user has 8 names and counts for one of them.
type reach struct {
	*mechanisms.TruncatedGeometric
	counts float64
}

// found is the probability that a name with that many users is found, averaged over which of them count.
func (r reach) found(users int64) float64 {
	if r.counts >= 1 {
		return r.Found(users)
	}
	n, sum := float64(users), 0.
	mean, spread := n*r.counts, math.Sqrt(n*r.counts*(1-r.counts))
	// beyond this is less than 10⁻¹² of a binomial law (Bernstein's inequality)
	first, last := math.Max(0, math.Floor(mean-8*spread-20)), math.Min(n, math.Ceil(mean+8*spread+20))
	choose := logFactorial(n)
	for k := first; k <= last; k++ {
		p := math.Exp(choose - logFactorial(k) - logFactorial(n-k) + k*math.Log(r.counts) + (n-k)*math.Log1p(-r.counts))
		sum += p * r.Found(int64(k))
	}
	return min(sum, 1)
}

// users is the least number of them with which a name is found with a probability in (0, 1).
func (r reach) users(probability float64) int64 {
	most := int64(1)
	for r.found(most) < probability {
		most *= 2
	}
	return int64(sort.Search(int(most), func(n int) bool { return r.found(int64(n)) >= probability }))
}

func logFactorial(n float64) float64 {
	log, _ := math.Lgamma(n + 1)
	return log
}
