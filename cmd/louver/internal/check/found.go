package check

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
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
	Epsilon    cli.Digits `json:"epsilon"`
	Delta      cli.Digits `json:"delta"`
	MaxGroups  int64      `json:"max_groups"`
	AtLeast    int64      `json:"at_least"`
	Users50    int64      `json:"users_50"`
	Users95    int64      `json:"users_95"`
	Certain    int64      `json:"users_certain"`
	PerMillion float64    `json:"found_of_a_million"` // of names of at_least users
	Error      int64      `json:"error_95"`
	MaxWindows *capReport `json:"max_windows,omitempty"` // nil if everybody counts in every period

	of      *config.Discovery
	period  string // such as "24h"
	changed int64  // how many periods change with what a user has in one
}

// severalNames is how many names somebody has in the example of check.
const severalNames = 8

// describeGroups says how many groups and series there are, if nobody lists them.
func (s *streamReport) describeGroups(of *config.Stream) {
	if of.Found != nil {
		s.Groups = of.Found.Most()
		s.Series, s.ListOf = s.Groups*(len(of.SeriesNames())-len(s.Discoveries)), of.Found.From
	}
}

// describeDiscovery says how many users a name needs to be found.
func describeDiscovery(d *config.Discovery) foundReport {
	m, p := d.Mechanism, d.Mechanism.Promise()
	x := foundReport{of: d, Release: d.Name, Every: config.Duration(d.Every), Epsilon: cli.NewDigits(p.Epsilon),
		Delta: cli.NewDigits(p.Delta), MaxGroups: d.Groups, AtLeast: m.AtLeast(), Users50: m.UsersFor(0.5),
		Users95: m.UsersFor(0.95), Certain: m.Certain(), PerMillion: 1e6 * m.Found(m.AtLeast()), Error: m.Error95(),
		period: config.Period(d.Every)}
	if d.MaxWindows != nil {
		x.MaxWindows, x.changed = newCapReport(d.MaxWindows), d.MaxWindows.By.ChangedBy(1)
	}
	return x
}

// printFound says how the groups of a stream are found.
func (s *streamReport) printFound(w *bytes.Buffer) {
	if s.ListOf != "" {
		cli.Fprintf(w, "  groups are those that stream %s discovers, at no further cost\n"+
			"    figures for at most %d groups: %d series\n", s.ListOf, s.Groups, s.Series)
	}
	if len(s.Discoveries) == 0 {
		return
	}
	fmt.Fprintln(w, "  groups are discovered")
	for _, d := range s.Discoveries {
		least := ""
		if d.AtLeast > 1 {
			least = cli.Sprintf("; fewer than %d never suffice", d.AtLeast)
		}
		cli.Fprintf(w, "    %s: ε %s, δ %s in each %s: a group is found with a probability of 50 %% if %s count for "+
			"it, of 95 %% if %d do%s\n", d.Release, d.Epsilon, d.Delta, d.period, users(d.Users50), d.Users95, least)
		cli.Fprintf(w, "      of a million names with %s each, %s are published\n", users(d.AtLeast),
			cli.Short(d.PerMillion))
		names := max(severalNames, 2*d.MaxGroups)
		cli.Fprintf(w, "      a user counts for %s in each %s. With %d names that are not listed yet, they count for "+
			"each with a probability of %s\n", cli.Plural(d.MaxGroups, "name"), d.period, names,
			big.NewRat(d.MaxGroups, names))
		if d.MaxWindows != nil {
			d.MaxWindows.print(w, "      ", "period")
			if d.changed > 1 {
				cli.Fprintf(w, "      what one user sends in one period changes up to %d, because without it they "+
					"may count in a later one\n", d.changed)
			}
		}
	}
	longest := slices.MaxFunc(s.Discoveries, func(a, b foundReport) int { return cmp.Compare(a.of.Every, b.of.Every) })
	cli.Fprintf(w, "    figures for at most %d groups: %d series. Parts, which are personal, are kept for %s\n",
		s.Groups, s.Series, longest.period)
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

// mostSeries is how many series of found groups pass without a warning.
const mostSeries = 10_000

// found warns of how groups are found.
func (w *warner) found(s *config.Stream, x *streamReport) {
	for _, described := range x.Discoveries {
		d := described.of
		warn := func(key, format string, args ...any) {
			w.at(d.Where, keyOf(s, "groups.discover[%s].%s", d.Name, key), format, args...)
		}
		p := d.Mechanism.Promise()
		if p.Delta.GreaterThan(largeDelta) {
			warn("delta", "a name that only one user sent is found with a probability of up to %s; want at most %s",
				p.Delta, largeDelta)
		}
		// Users of a name in a period, if each of the windows that fill it one after another had others.
		if most := s.ExpectedUsers * int64((d.Every+s.Window.Size-1)/s.Window.Size); most > 0 &&
			most < described.Users50 {
			warn("epsilon", "to be found with a probability of 50 %%, a group needs %s; by expected_users there are "+
				"at most %d in %s; want a larger epsilon, delta or every", users(described.Users50), most,
				described.period)
		}
		switch m := described.MaxWindows; {
		case m != nil && m.Share >= 1:
			warn("max_windows", "has no effect, because a user counts in every period of a part of %s; want a "+
				"smaller count, or a longer per", m.Block)
		case m == nil && d.Every < time.Hour:
			warn("every", "with %s, one user who is always there loses %d times ε %s a day; want 1h or more, or "+
				"max_windows", described.Every, int64(day/d.Every)*d.Groups, p.Epsilon)
		}
	}
	if s.Found != nil && x.Series > mostSeries {
		key := keyOf(s, "groups.max")
		if s.Found.From != "" {
			key = keyOf(s, "groups.from")
		}
		w.at(s.Where, key, "up to %d series: %d groups with %d figures each; want at most %d, or a topic "+
			"and a metrics store that take so many", x.Series, x.Groups, x.Series/max(1, x.Groups), mostSeries)
	}
}

// follows warns of a list that stays as it is while a stream still follows it.
func (w *warner) follows(file *config.File, s *config.Stream) {
	if s.Found == nil || s.Found.From == "" {
		return
	}
	source := file.Stream(s.Found.From).Window
	if source.End != 0 && (s.Window.End == 0 || source.End < s.Window.End) {
		w.at(s.Where, keyOf(s, "groups.from"), "stream %s ends at %s; its list stays as it is from then on: no name "+
			"joins it, and none leaves it", s.Found.From, time.Unix(0, source.End).UTC().Format(time.RFC3339))
	}
}
