package check

import (
	"time"

	"github.com/louver/louver/stream/config"
)

// mostSeries is how many series of found groups pass without a warning.
const mostSeries = 10_000

// found warns of how groups are found.
func (w *warner) found(s *config.Stream, x *streamReport) {
	for i, d := range config.All[*config.Discovery](s) {
		warn := func(key, format string, args ...any) {
			w.at(d.Where, keyOf(s, "groups.discover[%s].%s", d.Name, key), format, args...)
		}
		p, described := d.Mechanism.Promise(), x.Discoveries[i]
		w.hardlyAnyone(d.Where, keyOf(s, "groups.discover[%s].epsilon", d.Name), p.Epsilon)
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
