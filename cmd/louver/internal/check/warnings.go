package check

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// tooMuch is the ε of a single release, watch or window above which check warns. At odds of e^10 an attacker is almost
// certain. A day is held to more: see [warner.day].
var tooMuch = decimal.NewFromInt(10)

// largeDelta is the δ above which check warns.
var largeDelta = decimal.New(1, -5)

// warner collects warnings about settings that are allowed but seldom intended.
type warner []*form.Mistake

func (w *warner) at(where, key, format string, args ...any) {
	*w = append(*w, form.MistakeAt(where, key, "%s", cli.Sprintf(format, args...)))
}

// keyOf is the path of a key of a stream.
func keyOf(s *config.Stream, format string, args ...any) string {
	return fmt.Sprintf("streams[%s].%s", s.Name, fmt.Sprintf(format, args...))
}

// hardlyAnyone warns of figures whose ε protects hardly anyone.
func (w *warner) hardlyAnyone(s *config.Stream) {
	for _, f := range s.Figures {
		h := f.Heading()
		w.epsilon(h.Where, keyOf(s, "%s[%s].epsilon", config.Kinds[f.Kind()].List, h.Name), f.About().Epsilon)
	}
}

// epsilon warns of such an ε.
func (w *warner) epsilon(where, key string, epsilon decimal.Decimal) {
	if epsilon.Cmp(tooMuch) > 0 {
		w.at(where, key, "ε %s hardly protects anyone; want 1 or less", epsilon)
	}
}

// Clipped means and sums can be useful from about usefulInformation of ε·n on. Below leastInformation, the count of
// users outside is too noisy to tell them from a third of the users, and they are noise.
var leastInformation, usefulInformation = decimal.NewFromInt(70), decimal.NewFromInt(340)

func warnings(file *config.File, found findings, now time.Time) []*form.Mistake {
	w := warner{}
	for i, s := range file.Streams {
		x := found.Streams[i]
		w.hardlyAnyone(s)
		for _, r := range x.Releases {
			w.guessed(s, r.of)
			for _, v := range r.Values {
				w.noise(s, r.of, v)
			}
		}
		for _, f := range x.Free {
			w.free(s, f)
			if f.SLO != nil {
				w.objective(f.of, s, f.SLO)
			}
		}
		for _, of := range x.Watches {
			w.watch(s, of)
		}
		for _, c := range x.OnChange {
			w.change(s, c.of)
		}
		for _, t := range x.Totals {
			w.total(s, t.of, now)
		}
		w.adding(s, x)
		w.duration(s)
		w.found(s, x)
		w.follows(file, s)
		w.window(s, x)
		w.weeks(s, x)
		w.uncounted(s, x)
		w.minUsers(s, x)
		w.maxWindows(s, x)
		if s.Input.UserPartitioned {
			w.at(s.Where, keyOf(s, "input.user_partitioned"), "has no effect: users are always compared across "+
				"partitions, because adding partitions moves users; leave it out")
		}
	}
	w.payers(file)
	for _, v := range file.FromData {
		w.at(v.Where, v.Key, "came from the data, and is published; want a choice from what you know beforehand. "+
			"If it is to stay as it is, delete its comment")
	}
	for i, b := range file.Budgets {
		w.budget(file, b, found.Budgets[i], now)
	}
	return w
}

// adding warns of figures of contributions that add up which say something else than most people expect.
func (w *warner) adding(s *config.Stream, x *streamReport) {
	if name := summed(s); name != "" && s.Unsaid {
		w.at(s.Where, keyOf(s, "contribution"), "missing, so %s adds up only the last value of each user; want sum to add "+
			"up all values, or last if that is meant", name)
	} else if name != "" && s.Contribution == windows.Mean {
		w.at(s.Where, keyOf(s, "contribution"), "mean, so %s adds up the users' means, however many values they have; "+
			"want sum to add up all values, or statistic: mean", name)
	}
	if !s.Contribution.Adds() {
		return
	}
	for _, c := range s.Input.Where {
		if s.Contribution == windows.Sum && s.Input.Format == "otlp_metrics" && slices.Contains(c.Is,
			codec.Operand{Text: "cumulative"}) {
			w.at(s.Where, keyOf(s, "contribution"), "adds up points of a cumulative sum, each of which is a total so far; "+
				"want max or last, or metric.aggregation_temporality: delta")
		}
	}
	counts, sums := "", false
	for _, r := range x.Releases {
		if sums = sums || r.of.Query.Statistic == mechanisms.Sum; r.of.Query.CountsUsers() {
			counts = r.of.Name
		}
	}
	if counts != "" && !sums && len(x.Totals) == 0 && s.Contribution == windows.Count {
		w.at(s.Where, keyOf(s, "releases[%s].statistic", counts), "counts users, and not events; want statistic: sum for "+
			"the number of events")
	}
	if n := len(s.Groups); sums && s.MaxGroups < n {
		w.at(s.Where, keyOf(s, "max_groups"), "%d of %d groups: events in a user's other groups are in no sum; want %d to "+
			"add up all of them, which costs more in the same proportion", s.MaxGroups, n, n)
	}
}

// duration warns of a unit in which a span's duration is not. Every figure would be wrong by the same factor.
func (w *warner) duration(s *config.Stream) {
	seconds := []string{"s", "sec", "second", "seconds"}
	milliseconds := []string{"ms", "msec", "millisecond", "milliseconds"}
	others := []string{"ns", "nanoseconds", "us", "µs", "μs", "microseconds", "min", "minutes", "h", "hours"}
	is, want := map[string][]string{"span.duration_ms": milliseconds, "span.duration_s": seconds}[s.Input.Value], "ms"
	if is == nil || s.Contribution == windows.Count || slices.Contains(is, s.Unit) ||
		!slices.Contains(slices.Concat(seconds, milliseconds, others), s.Unit) {
		return
	}
	other := "span.duration_s for seconds"
	if s.Input.Value == "span.duration_s" {
		want, other = "s", "span.duration_ms for milliseconds"
	}
	w.at(s.Where, keyOf(s, "unit"), "is %s, but %s is in %s; want %s, or value: %s", s.Unit, s.Input.Value, want, want,
		other)
}

// summed is the name of the first figure that adds up what users count with, or "".
func summed(s *config.Stream) string {
	for _, f := range s.Figures {
		for _, x := range f.Series() {
			if x.Statistic == string(mechanisms.Sum) {
				return x.Name
			}
		}
	}
	return ""
}

// guessed warns of a δ with which every window may reveal somebody.
func (w *warner) guessed(s *config.Stream, r *config.Release) {
	n := s.ExpectedUsers
	if n > 0 && r.Query.Delta.Mul(decimal.NewFromInt(n)).Cmp(decimal.NewFromInt(1)) >= 0 {
		w.at(r.Where, keyOf(s, "releases[%s].delta", r.Name), "with δ %s, every window may reveal one of the %d "+
			"expected users; want far less than 1/%d", r.Query.Delta, n, n)
	}
}

// noise warns of a value that may be all noise.
func (w *warner) noise(s *config.Stream, r *config.Release, v valueReport) {
	warn := func(format string, args ...any) {
		w.at(r.Where, keyOf(s, "releases[%s]", v.Release), format, args...)
	}
	const want = "want more users, longer windows, "
	if v.ValueError != nil && r.Query.Statistic == mechanisms.Sum {
		// A sum has no bounds. What it can be at most depends on how many users there are.
		largest := decimal.Max(s.Grid.Lower().Abs(), s.Grid.Upper().Abs()).Mul(decimal.NewFromInt(s.ExpectedUsers))
		if s.ExpectedUsers > 0 && *v.ValueError >= largest.InexactFloat64()/2 {
			warn("the error can reach %s, but the sum of %d expected users is %s at most, so the value may be all noise; "+
				want+"a larger epsilon or narrower bounds", valueText(v.ValueError, s.Unit), s.ExpectedUsers,
				record.Grouped(largest.String()))
		}
	} else if v.ValueError != nil {
		if width := s.Grid.Upper().Sub(s.Grid.Lower()).InexactFloat64(); *v.ValueError >= width/2 {
			warn("the error can reach %s between bounds that are %s apart, so the value may be all noise; "+want+
				"a larger epsilon or narrower bounds", valueText(v.ValueError, s.Unit), cli.Short(width))
		}
	}
	expected := s.ExpectedUsers
	if expected == 0 {
		return
	}
	if information := r.Query.Epsilon.Mul(decimal.NewFromInt(expected)); mechanisms.Clips(r.Mechanism) {
		const enough = "; want at least %s (more users, longer windows or a larger epsilon), or clip: none"
		judged := r.Query.Statistic == mechanisms.Mean || r.Query.Statistic == mechanisms.Sum
		switch {
		case information.LessThan(leastInformation):
			warn("ε %s times %d expected users is %s, too little to find an interval to clip values to"+enough,
				r.Query.Epsilon, expected, information, usefulInformation)
		case judged && information.LessThan(usefulInformation):
			warn("ε %s times %d expected users is %s, so the value is rough at best: the noise hides how many users "+
				"are outside the interval to which values are clipped"+enough, r.Query.Epsilon, expected, information,
				usefulInformation)
		}
	}
	switch {
	case v.RankError != nil && v.Quality == mechanisms.Noise:
		warn("the error can reach %s among %d expected, so the value may be all noise; "+want+"or a larger epsilon",
			rankText(v.Figure), expected)
	case v.CountError != nil && *v.CountError >= expected:
		warn("the noise can reach %s, but only %d are expected; "+want+"or a larger epsilon", users(*v.CountError),
			expected)
	case v.Lead != nil && *v.Lead >= expected:
		warn("the mode is found only if it leads by %s, but only %d are expected; "+
			want+"a larger epsilon or a coarser step", users(*v.Lead), expected)
	}
}

// uncounted warns of figures that are never called useful, because nothing says how many users a window has.
func (w *warner) uncounted(s *config.Stream, x *streamReport) {
	if s.ExpectedUsers == 0 || s.Counting() != nil {
		return
	}
	var names []string
	for _, r := range x.Releases {
		if of := r.of.Query.Statistic; of.Family() == mechanisms.OfRanks ||
			mechanisms.Clips(r.of.Mechanism) && (of == mechanisms.Mean || of == mechanisms.Sum) {
			names = append(names, r.Release)
		}
	}
	if len(names) > 0 {
		w.at(s.Where, keyOf(s, "expected_users"), "a number of users that is only expected makes no figure useful, "+
			"here %s; want a release of all users as well, with statistic: count", strings.Join(names, ", "))
	}
}

// free warns of a figure from a histogram that is likely to be all noise.
func (w *warner) free(s *config.Stream, x freeReport) {
	if x.Quality != mechanisms.Noise {
		return
	}
	useful := ""
	if x.UsefulFrom != nil {
		useful = cli.Sprintf(", and %d for it to be useful", *x.UsefulFrom)
	}
	w.at(x.of.Where, keyOf(s, "releases[%s]", x.Release), "with %d expected users and ε %s of %s the value is mostly "+
		"noise; want at least %d%s: longer windows, or a larger epsilon", s.ExpectedUsers, x.of.From.Query.Epsilon,
		x.From, *x.NoiseBelow, useful)
}

// change warns of a release on change whose test protects hardly anyone, or which hardly ever changes.
func (w *warner) change(s *config.Stream, of *config.Change) {
	key := keyOf(s, "releases[%s]", of.Name)
	w.epsilon(of.Where, key+".watch_epsilon", of.Query.Epsilon)
	p, two := of.Release.Query.Probabilities()[0], decimal.NewFromInt(2)
	if side := decimal.Min(p, decimal.NewFromInt(1).Sub(p)); of.Tolerance.Mul(two).Cmp(side) > 0 {
		w.at(of.Where, key+".tolerance",
			"with %s a value holds from the quantile %s to %s, so hardly any change is seen; want at most %s",
			of.Tolerance, p.Sub(of.Tolerance), p.Add(of.Tolerance), side.Div(two))
	}
}

// total warns of a running total whose periods do not begin with a window, now or after clocks have changed.
func (w *warner) total(s *config.Stream, of *config.Total, now time.Time) {
	for at := s.Window.FirstStart(now); at < now.AddDate(1, 0, 0).UnixNano(); {
		since, until := of.PeriodAt(at, s.Window.Every)
		if begin, _ := of.Calendar.Of(since); begin != since {
			first := time.Unix(0, since).In(of.Calendar.Zone)
			w.at(of.Where, keyOf(s, "releases[%s].since", of.Name), "the %s begins at %s in %s, and no window does, "+
				"so the total counts from %s on; want windows of %s or less, or another zone", of.Calendar.Unit.Noun(),
				time.Unix(0, begin).In(of.Calendar.Zone).Format("15:04"), cmp.Or(of.Zone, "UTC"), first.Format("15:04"),
				config.Duration(time.Duration(since-begin)))
			return
		}
		at = until
	}
}

// watch warns of a watch that fires without cause, or sees nothing.
func (w *warner) watch(s *config.Stream, x watchReport) {
	of := x.of
	key, expected, everybody := keyOf(s, "watches[%s]", of.Name), s.ExpectedUsers, ""
	if s.MaxWindows != nil {
		everybody = ", or a stream of its own: a watch looks at everybody, and with max_windows expected_users is " +
			"only those who still count"
	}
	if m := of.Query.Conditions[0].UsersBelow; m != nil && expected > 0 && *m > expected {
		w.at(of.Where, key+".users_below",
			"%d is more than the %d expected users, so the watch fires without cause; want a smaller number%s",
			*m, expected, everybody)
	}
	if most := mostAlarms(of, s.Window.Every); most > 30 {
		w.at(of.Where, key+".false_alarms", "noise alone may raise this alarm %.0f times in 30 days, and each time "+
			"costs ε %s; want a longer per, for example 30d, or a smaller at_most", most, of.Query.Epsilon)
	}
	if of.Hold < s.Window.Every && of.AtMost > 1 {
		w.at(of.Where, key+".hold", "%s is less than the %s from one window to the next, so a cause that lasts soon "+
			"uses up at_most (%d); want %[2]s or more", config.Duration(of.Hold), config.Duration(s.Window.Every),
			of.AtMost)
	}
	switch {
	case x.Most != nil && *x.Most <= 0:
		w.at(of.Where, key, "it can never fire, because %d users are expected; want a condition that fewer users can "+
			"meet%s", expected, everybody)
	case x.Most != nil && *x.Most < x.Excess:
		w.at(of.Where, key, "at most %s of %d expected users can be %s, but %s are needed for it to fire in "+
			"the first window with a probability of 95 %%; want more users, a larger epsilon or more false alarms%s",
			cli.Tenths(*x.Most), expected, cli.Direction(x.Condition), cli.Tenths(x.Excess), everybody)
	}
}

// objective warns of an objective that is probably the share of bad users instead, or that no alert can see.
func (w *warner) objective(of *config.Computed, s *config.Stream, x *objectiveReport) {
	key := keyOf(s, "releases[%s].objective", of.Name)
	if good := of.Objective; good.LessThan(decimal.New(5, -1)) {
		w.at(of.Where, key, "with %s, up to %s of the users may be %s; did you mean %s?", good,
			percent(x.Bad.InexactFloat64()), x.limit, x.Bad)
		return
	}
	unseen := func(a burnReport) bool { return a.Seen != nil && *a.Seen*x.Bad.InexactFloat64() > 1 }
	if len(x.Alerts) > 0 && !slices.ContainsFunc(x.Alerts, func(a burnReport) bool { return !unseen(a) }) {
		w.at(of.Where, key, "with %d expected users no alert can be seen: the noise is larger than all of them; want "+
			"more users, longer windows, a larger epsilon or fewer buckets", s.ExpectedUsers)
	}
}

// mostAlarms is how many false alarms in 30 days a watch allows. Its promise is for whole windows.
func mostAlarms(of *config.Watch, every time.Duration) float64 {
	return of.Query.FalseAlarms.InexactFloat64() * float64(30*day) / float64(max(of.FalseAlarmsPer, every))
}

// window warns of releases that are harmless alone but not together.
func (w *warner) window(s *config.Stream, x *streamReport) {
	alone := slices.ContainsFunc(x.Releases, func(r releaseReport) bool { return r.of.Query.Epsilon.Cmp(tooMuch) > 0 })
	if alone || x.Epsilon.Cmp(tooMuch) <= 0 {
		return
	}
	want := "fewer or cheaper releases"
	if s.MaxGroups > 1 {
		want += cli.Sprintf(", or max_groups below %d, which multiplies their cost", s.MaxGroups)
	}
	w.at(s.Where, fmt.Sprintf("streams[%s]", s.Name),
		"one window costs a user ε %s, which hardly protects anyone; want %s", x.Epsilon, want)
}

// week is a length that many expect to begin on a Monday.
const week = 7 * 24 * time.Hour

// weeks warns of windows and roll-ups of whole weeks: they begin at multiples of their length since 1 January 1970.
func (w *warner) weeks(s *config.Stream, x *streamReport) {
	const instead = "for weeks from Monday, want a running total with since: monday"
	if s.Window.Every%week == 0 {
		w.at(s.Where, keyOf(s, "window"), "windows of whole weeks begin on Thursdays at 00:00 UTC, as 1 January 1970 "+
			"did; %s", instead)
	}
	for _, of := range x.Releases {
		r := of.of
		for _, d := range r.Rollups {
			if d%week != 0 || d == s.Window.Every {
				continue
			}
			zone := "UTC"
			if c, local := r.Days[d]; local {
				zone = c.Zone.String()
			}
			w.at(r.Where, keyOf(s, "releases[%s].rollup", r.Name), "%s begins on Thursdays at 00:00 %s, as 1 January "+
				"1970 did; %s, or add up 1d yourself", config.Duration(d), zone, instead)
		}
	}
}

// minUsers warns of a threshold that noise alone can pass.
func (w *warner) minUsers(s *config.Stream, x *streamReport) {
	if s.MinUsers == nil {
		return
	}
	for _, r := range x.Releases {
		noise := r.Values[0].CountError
		if r.Release == s.MinUsers.Release && noise != nil && *noise >= s.MinUsers.Count {
			w.at(s.Where, keyOf(s, "min_users.count"), "%d is within the noise of release %s (± %s), so even an "+
				"empty window may pass; want more than %d, or a larger epsilon", s.MinUsers.Count, r.Release,
				users(*noise), *noise)
		}
	}
}

// maxWindows warns of a cap that changes nothing.
func (w *warner) maxWindows(s *config.Stream, x *streamReport) {
	switch key := keyOf(s, "max_windows"); {
	case s.MaxWindows == nil:
	case len(s.Price()) == 0:
		w.at(s.Where, key, "has no effect, because watches and releases on change count everybody, and no release is "+
			"drawn in every window; leave it out")
	case x.MaxWindows.Share >= 1:
		w.at(s.Where, key, "has no effect, because a user counts in every window of a part of %s; want a smaller "+
			"count, or a longer per", x.MaxWindows.Block)
	}
}

// payers warns of two budgets for the users of one topic.
func (w *warner) payers(file *config.File) {
	first := map[string]*config.Stream{}
	for _, s := range file.Streams {
		if other := first[s.Input.Topic]; other == nil {
			first[s.Input.Topic] = s
		} else if other.Budget != s.Budget && !other.Fresh && !s.Fresh {
			w.at(s.Where, fmt.Sprintf("streams[%s]", s.Name), "reads topic %s, as stream %s does, but another budget "+
				"pays, so users of the topic can lose the sum of both; louver run refuses it; want one budget for "+
				"both, or fresh: true if that is intended", s.Input.Topic, other.Name)
		}
	}
}

// budget warns of one that nobody uses, or that protects hardly anyone.
func (w *warner) budget(file *config.File, b *config.Budget, x budgetReport, now time.Time) {
	key := fmt.Sprintf("budgets[%s]", b.Name)
	if s := file.Stream(b.Name); s != nil && s.Budget == b {
		key = keyOf(s, "budget")
	}
	if x.Day == nil {
		w.at(b.Where, key, "no stream uses it")
	} else if !x.Day.lost.Hides() {
		w.day(file, b, x, key, now)
	}
	if b.Delta.GreaterThan(largeDelta) {
		w.at(b.Where, key+".delta", "%s lets the promise fail for one user in %s; want far less than one in all "+
			"users, for example %s", b.Delta, decimal.NewFromInt(1).DivRound(b.Delta, 0), cost.Suggested)
	}
}

// day warns of a budget whose windows of any 24 hours hide nobody. Whatever a window costs, people are there for a day,
// and the day's total is what an attacker has. The threshold is where the odds leave no doubt at all: of 100 guesses
// whether somebody was there, not even one has to be wrong ([cost.Loss.Hides]). The page's statement says the same of
// it.
func (w *warner) day(file *config.File, b *config.Budget, x budgetReport, key string, now time.Time) {
	want := fmt.Sprintf("want ε %s or less: fewer or cheaper windows, or max_windows", cost.MostThatHides)
	with := file.PayerWithDelta(b, now)
	with.Epsilon = decimal.Zero // whatever its ε will be
	if less := with.InAnyDay(); less.Hides() {
		want += fmt.Sprintf(", or delta: %s in the budget, which makes it ε %s", with.Delta,
			cli.Short(less.Epsilon.InexactFloat64()))
	}
	w.at(b.Where, key, "one person can lose %s in any 24 h: %s; %s",
		x.Day.lost, x.Day.lost.Odds("somebody was there"), want)
}

// blind refuses watches for few users whose margin is larger than the number: even with nobody there they stay silent.
// A service goes on with one that it has.
func blind(file *config.File) error {
	var all []error
	for _, s := range file.Streams {
		for _, of := range config.All[*config.Watch](s) {
			m := of.Query.Conditions[0].UsersBelow
			if m == nil {
				continue
			}
			margin := of.Mechanism.Margin()
			if short := margin - of.Mechanism.Most(0); short > 0 {
				all = append(all, form.MistakeAt(of.Where, keyOf(s, "watches[%s].users_below", of.Name),
					"%d is less than the margin of %s users, so the watch stays silent even if nobody is there; want "+
						"at least %d, a larger epsilon or more false alarms", *m, cli.Tenths(margin),
					*m+int64(math.Ceil(short))))
			}
		}
	}
	return errors.Join(all...)
}
