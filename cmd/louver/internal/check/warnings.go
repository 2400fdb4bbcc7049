package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// tooMuch is the ε above which check warns. At odds of e^10 an attacker is almost certain.
var tooMuch = decimal.NewFromInt(10)

// largeDelta is the δ above which check warns.
var largeDelta = decimal.New(1, -5)

// leastInformation is the ε·n that clipped means and sums need. From 12 on they may be good; below that they are only
// noise.
var leastInformation = decimal.NewFromInt(40)

// warner collects warnings about settings that are allowed but seldom intended.
type warner []string

func (w *warner) warn(where, format string, args ...any) {
	*w = append(*w, where+": warning: "+fmt.Sprintf(format, args...))
}

func warnings(file *config.File, found *examination) []string {
	w := warner{}
	for i, s := range file.Streams {
		e := found.Streams[i]
		for j, r := range s.Releases {
			w.privacy(s, r)
			for _, v := range e.Releases[j].Values {
				w.error(s, r, v)
			}
		}
		for j, x := range e.Watches {
			w.watch(s, s.Alarms[j], x)
		}
		for _, of := range s.OnChange {
			w.change(s, of)
		}
		w.window(s, e)
		w.minUsers(s, e)
		w.maxWindows(s, e)
		if s.Input.UserPartitioned {
			w.warn(s.Where, "streams[%s].input.user_partitioned: has no effect: users are always compared across partitions, because adding partitions moves users; leave it out", s.Name)
		}
	}
	w.payers(file)
	for _, b := range file.Budgets {
		if len(file.StreamsOf(b)) == 0 {
			w.warn(b.Where, "budgets[%s]: no stream uses it", b.Name)
		}
		if b.Delta.GreaterThan(largeDelta) {
			w.warn(b.Where, "budget %s: a delta of %s lets the promise fail for one user in %s; want far less than one in all users, for example %s",
				b.Name, b.Delta, decimal.NewFromInt(1).DivRound(b.Delta, 0), cost.Suggested)
		}
	}
	return w
}

// privacy warns of a release that protects hardly anyone.
func (w *warner) privacy(s *config.Stream, r config.Release) {
	if r.Query.Epsilon.Cmp(tooMuch) > 0 {
		w.warn(r.Where, "streams[%s].releases[%s].epsilon: ε %s hardly protects anyone; want 1 or less", s.Name, r.Name, r.Query.Epsilon)
	}
	if users := s.ExpectedUsers; users > 0 && r.Query.Delta.Mul(decimal.NewFromInt(users)).Cmp(decimal.NewFromInt(1)) >= 0 {
		w.warn(r.Where, "streams[%s].releases[%s].delta: with δ %s, every window may reveal one of the %d expected users; want far less than 1/%d",
			s.Name, r.Name, r.Query.Delta, users, users)
	}
}

// error warns of a value that may be all noise.
func (w *warner) error(s *config.Stream, r config.Release, v examinedValue) {
	users := s.ExpectedUsers
	if v.ValueError != nil {
		if width := s.Grid.Upper().Sub(s.Grid.Lower()).InexactFloat64(); *v.ValueError >= width/2 {
			w.warn(r.Where, "streams[%s].releases[%s]: the error can reach %s between bounds that are %s apart, so the value may be all noise; want more users, longer windows, a larger epsilon or narrower bounds",
				s.Name, v.Release, valueText(v.ValueError, s.Unit), cli.Short(width))
		}
	}
	if users == 0 {
		return
	}
	if information := r.Query.Epsilon.Mul(decimal.NewFromInt(users)); mechanisms.Clips(r.Mechanism) && information.LessThan(leastInformation) {
		w.warn(r.Where, "streams[%s].releases[%s]: ε %s times %d expected users is %s, too little to find an interval to clip values to; want at least %s (more users, longer windows or a larger epsilon), or clip: none",
			s.Name, v.Release, r.Query.Epsilon, users, information, leastInformation)
	}
	switch {
	case v.RankError != nil && v.Quality == mechanisms.Noise:
		w.warn(r.Where, "streams[%s].releases[%s]: the error can reach %.0f ranks among %d expected users, so the value may be all noise; want more users, longer windows or a larger epsilon",
			s.Name, v.Release, *v.RankError, users)
	case v.CountError != nil && *v.CountError >= users:
		w.warn(r.Where, "streams[%s].releases[%s]: the noise can reach %s, but only %d are expected; want more users, longer windows or a larger epsilon",
			s.Name, v.Release, cli.Plural(*v.CountError, "user"), users)
	case v.Lead != nil && *v.Lead >= users:
		w.warn(r.Where, "streams[%s].releases[%s]: the mode is found only if it leads by %s, but only %d are expected; want more users, longer windows, a larger epsilon or a coarser step",
			s.Name, v.Release, cli.Plural(*v.Lead, "user"), users)
	}
}

// change warns of a release on change that protects hardly anyone.
func (w *warner) change(s *config.Stream, of config.OnChange) {
	for _, c := range []struct {
		key     string
		epsilon decimal.Decimal
	}{{"epsilon", of.Release.Query.Epsilon}, {"watch_epsilon", of.Query.Epsilon}} {
		if c.epsilon.Cmp(tooMuch) > 0 {
			w.warn(of.Where, "streams[%s].releases[%s].%s: ε %s hardly protects anyone; want 1 or less", s.Name, of.Name, c.key, c.epsilon)
		}
	}
	p := of.Release.Query.Probabilities()[0]
	if side := decimal.Min(p, decimal.NewFromInt(1).Sub(p)); of.Tolerance.Mul(decimal.NewFromInt(2)).Cmp(side) > 0 {
		w.warn(of.Where, "streams[%s].releases[%s].tolerance: with %s a value holds from the quantile %s to %s, so hardly any change is seen; want at most %s",
			s.Name, of.Name, of.Tolerance, p.Sub(of.Tolerance), p.Add(of.Tolerance), side.Div(decimal.NewFromInt(2)))
	}
}

// everybody is what a warning by expected_users adds in a stream with max_windows.
func everybody(s *config.Stream) string {
	if s.MaxWindows == nil {
		return ""
	}
	return ", or a stream of its own: a watch looks at everybody, and with max_windows expected_users is only those who still count"
}

// watch warns of a watch that protects hardly anyone, or sees nothing.
func (w *warner) watch(s *config.Stream, of config.Alarm, x examinedWatch) {
	if of.Query.Epsilon.Cmp(tooMuch) > 0 {
		w.warn(of.Where, "streams[%s].watches[%s].epsilon: ε %s hardly protects anyone; want 1 or less", s.Name, of.Name, of.Query.Epsilon)
	}
	if m, n := of.Query.Conditions[0].UsersBelow, s.ExpectedUsers; m != nil && n > 0 && *m > n {
		w.warn(of.Where, "streams[%s].watches[%s].users_below: %d is more than the %d expected users, so the watch fires without cause; want a smaller number%s", s.Name, of.Name, *m, n, everybody(s))
	}
	if most := mostAlarms(of, s.Window.Every); most > 30 {
		w.warn(of.Where, "streams[%s].watches[%s].false_alarms: noise alone may raise this alarm %.0f times in 30 days, and each time costs ε %s; want a longer per, for example 30d, or a smaller at_most",
			s.Name, of.Name, most, of.Query.Epsilon)
	}
	if of.Hold < s.Window.Every && of.AtMost > 1 {
		w.warn(of.Where, "streams[%s].watches[%s].hold: %s is less than the %s from one window to the next, so a cause that lasts soon uses up at_most (%d); want %[4]s or more",
			s.Name, of.Name, config.Duration(of.Hold), config.Duration(s.Window.Every), of.AtMost)
	}
	switch {
	case x.Most != nil && *x.Most <= 0:
		w.warn(of.Where, "streams[%s].watches[%s]: it can never fire, because %d users are expected; want a condition that fewer users can meet%s", s.Name, of.Name, s.ExpectedUsers, everybody(s))
	case x.Most != nil && *x.Most < x.Excess:
		w.warn(of.Where, "streams[%s].watches[%s]: at most %s of %d expected users can be %s, but %s are needed to be seen with 95 %%; want more users, a larger epsilon or more false alarms%s",
			s.Name, of.Name, cli.Tenths(*x.Most), s.ExpectedUsers, cli.Direction(x.Condition), cli.Tenths(x.Excess), everybody(s))
	}
}

// mostAlarms is how many false alarms in 30 days a watch allows. Its promise is for whole windows.
func mostAlarms(of config.Alarm, every time.Duration) float64 {
	return of.Query.FalseAlarms.InexactFloat64() * float64(30*24*time.Hour) / float64(max(of.FalseAlarmsPer, every))
}

// window warns of releases that are harmless alone but not together.
func (w *warner) window(s *config.Stream, e examinedStream) {
	alone := slices.ContainsFunc(s.Releases, func(r config.Release) bool { return r.Query.Epsilon.Cmp(tooMuch) > 0 })
	if alone || e.Epsilon.Cmp(tooMuch) <= 0 {
		return
	}
	want := "fewer or cheaper releases"
	if s.MaxGroups > 1 {
		want += fmt.Sprintf(", or max_groups below %d, which multiplies their cost", s.MaxGroups)
	}
	w.warn(s.Where, "streams[%s]: one window costs a user ε %s, which hardly protects anyone; want %s", s.Name, e.Epsilon, want)
}

// minUsers warns of a threshold that noise alone can pass.
func (w *warner) minUsers(s *config.Stream, e examinedStream) {
	if s.MinUsers == nil {
		return
	}
	for _, r := range e.Releases {
		if noise := r.Values[0].CountError; r.Release == s.MinUsers.Release && noise != nil && *noise >= s.MinUsers.Count {
			w.warn(s.Where, "streams[%s].min_users.count: %d is within the noise of release %s (± %s), so even an empty window may pass; want more than %d, or a larger epsilon",
				s.Name, s.MinUsers.Count, r.Release, cli.Plural(*noise, "user"), *noise)
		}
	}
}

// maxWindows warns of a cap that changes nothing.
func (w *warner) maxWindows(s *config.Stream, e examinedStream) {
	switch {
	case s.MaxWindows == nil:
	case len(s.Releases) == 0:
		w.warn(s.Where, "streams[%s].max_windows: has no effect, because watches and releases on change count everybody, and no release is drawn in every window; leave it out", s.Name)
	case e.MaxWindows.Share >= 1:
		w.warn(s.Where, "streams[%s].max_windows: has no effect, because a user counts in every window of a part of %s; want a smaller count, or a longer per", s.Name, e.MaxWindows.Block)
	}
}

// payers warns of two budgets for the users of one topic.
func (w *warner) payers(file *config.File) {
	first := map[string]*config.Stream{}
	for _, s := range file.Streams {
		if other := first[s.Input.Topic]; other == nil {
			first[s.Input.Topic] = s
		} else if other.Budget != s.Budget && !other.Fresh && !s.Fresh {
			w.warn(s.Where, "streams[%s]: reads topic %s, as stream %s does, but another budget pays, so users of the topic can lose the sum of both; louver run refuses it; want one budget for both, or fresh: true if that is intended",
				s.Name, s.Input.Topic, other.Name)
		}
	}
}
