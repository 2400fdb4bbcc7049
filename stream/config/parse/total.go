package parse

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// A release with `since` is a running total. It is no part of a window's price: a period of it costs epsilon once, for
// each of the max_groups, however many windows it has.

var (
	totalled = form.When{Key: "statistic", Is: texts(mechanisms.TotalStatistics())}
	since    = form.When{Key: "since", Is: units()}
)

func units() (all []string) {
	for _, u := range period.Units() {
		all = append(all, string(u))
	}
	return all
}

// totalKeys are the keys of a release that make it a running total.
type totalKeys struct {
	since, zone string
	update      time.Duration
	maxTotal    *decimal.Decimal
}

var totalForm = form.Form{
	{Name: "since", Absent: "figures of single windows", Only: totalled, Unless: "from", Example: "midnight",
		Meaning: "makes it a running total: of users, or of what they add, so far in the `hour`, since `midnight` or " +
			"`monday`, or in the `month`. Each window has a new value, and all of them together cost `epsilon` once " +
			"a period. A user counts once in a period, in at most `max_groups` groups. It counts everybody. Of a " +
			"`histogram` it makes the distribution so far, in which a user counts with their first value",
		Value: form.Into(form.OneOf(units()...), func(r *releaseNode, v string) { r.since = v })},
	{Name: "zone", Fallback: "UTC", Only: totalled, Example: "Europe/Berlin",
		Meaning: "the time zone of the periods, by its name in the IANA database: those of `since`, or a `rollup` " +
			"of whole days",
		Value: form.Into(form.Prose(), func(r *releaseNode, v string) { r.zone = v })},
	{Name: "update", Absent: "as `window.every`", Only: totalled, Example: "15m",
		Meaning: "the time from one value to the next, with `since` or `active`: a multiple of `window.every`. Fewer " +
			"values are more exact",
		Value: form.Into(form.Duration(time.Second), func(r *releaseNode, v time.Duration) { r.update = v })},
	{Name: "max_total", Absent: "1 for a count or a histogram; a sum needs it", Only: since, Example: "5",
		Meaning: "what one user adds in a period at most, in each group. For users: in how many windows they count; " +
			"above 1 its unit is `visits`. For a sum: an amount, of either sign. The noise is proportional to it",
		Value: form.Into(form.Number(positive), func(r *releaseNode, v decimal.Decimal) { r.maxTotal = &v })},
}

// checkTotal refuses keys of a total that do not go together.
func (r *releaseNode) checkTotal() {
	// Other statistics have no clip.
	if v, given := r.Values["clip"]; given && r.since != "" && r.Query.Statistic == mechanisms.Sum {
		v.Refuse("given, but since is %s; want one of the two", r.since)
		r.sound = false
	}
	if v, given := r.Values["update"]; given && !r.updates() {
		v.Refuse("it means nothing without since: %s, or active; add one of them, or remove it", form.List(units(), "or"))
		r.sound = false
	}
	_, rolled := r.Values["rollup"]
	may := slices.Contains(totalled.Is, string(r.Query.Statistic)) // others have no zone at all, which was said
	_, asked := r.Values["since"]                                  // what it says may be wrong, which was said
	if v, given := r.Values["zone"]; given && may && !asked && !rolled {
		want := "since: " + form.List(units(), "or")
		if r.Query.Statistic == mechanisms.Histogram {
			want += ", or a rollup of whole days, such as rollup: [1d]"
		}
		v.Refuse("it means nothing without %s", want)
		r.sound = false
	}
}

// total makes the mechanism of a sound running total.
func (r *releaseNode) total(s *config.Stream) *config.Total {
	unit, every := period.Unit(r.since), s.Window.Every
	t := &config.Total{Head: r.Head, Zone: r.zone, Update: cmp.Or(r.update, every),
		Query: mechanisms.TotalQuery{Statistic: r.Query.Statistic, Above: r.Query.Above, Below: r.Query.Below,
			Buckets: r.Query.Buckets, Levels: r.Query.Levels, Cuts: r.Query.Cuts,
			MaxTotal: r.maxTotal, Epsilon: r.Query.Epsilon, Mechanism: r.Query.Mechanism, ZCDP: r.Query.ZCDP,
			Grid: s.Grid, Groups: int64(len(s.Groups))}}
	refused := func(key, problem string, args ...any) *config.Total {
		r.refuseKey(key, "since", problem, args...)
		return t
	}
	var err error
	if t.Calendar, err = period.NewCalendar(unit, r.zone); err != nil {
		return refused("zone", "%s", err)
	}
	switch {
	case s.Grid == nil || every <= 0: // it was refused before
		return t
	case s.Window.Size != every:
		return refused("since", "%s, but windows overlap, and nobody may count in a total twice; want windows whose "+
			"every is their size, %s", r.since, config.Duration(s.Window.Size))
	case every > unit.Nominal():
		return refused("since", "%s, but a window lasts %s; want shorter windows or a longer period", r.since,
			config.Duration(every))
	case t.Update%every != 0 || t.Update > unit.Nominal():
		return refused("update", "%s; want a multiple of window.every, %s, up to %s", config.Duration(t.Update),
			config.Duration(every), config.Duration(unit.Nominal()))
	case endless(s) && !s.Withhold:
		return refused("since", "%s, but a budget for ever cannot pay for periods without end; want window.end, a "+
			"budget for a rolling period, or on_exhausted: withhold", r.since)
	}
	up := func(d time.Duration) int64 { return int64((d + t.Update - 1) / t.Update) }
	t.Query.Period = running.Period{Leaves: up(unit.Nominal()), Longest: up(unit.Longest())}
	if t.Mechanism, err = mechanisms.NewTotal(t.Query); err != nil {
		refuse(r.Mapping, err)
		return t
	}
	t.AtMost, t.Daily = mostPeriods(t, s, time.Now()), mostPeriodsIn(config.Day, t, every, time.Now())
	var most string
	if r.maxTotal != nil {
		most = r.maxTotal.String()
	}
	t.Definition = fingerprint("total|%s|%v|%v|%s|%s|%s|%s|%s|%s|%s|%s", t.Query.Statistic, t.Query.Above,
		t.Query.Below, most, t.Query.Epsilon, t.Mechanism.Name(), unit, r.zone, t.Update, every, whoCounts(s))
	return t
}

// whoCounts is what of a stream decides which users have counted as whom, and by how much, while an instance lasts.
//
// Privacy: if the topic or a field changes, a person may have another name, and nobody knows that the person has
// counted. So the instance ends when these change, and the next one is charged separately.
func whoCounts(s *config.Stream) string {
	in, payer := &s.Input, ""
	if s.Budget != nil {
		payer = s.Budget.Name
	}
	of := append([]string{in.Topic, in.User, in.Value, in.Group}, in.Columns...)
	for _, c := range in.Where {
		of = append(of, c.String())
	}
	return fmt.Sprintf("%q|%d|%s|%s|%s|%s|%s|%s|%q", s.Groups, s.MaxGroups, s.Contribution, s.Grid.Lower(),
		s.Grid.Upper(), s.Grid.Step(), s.Window.Grace, payer, of)
}

// refuseKey refuses what a key says; where it is not given, what the key says that makes the release one of its kind.
func (r *releaseNode) refuseKey(key, kind, problem string, args ...any) {
	v, given := r.Values[key]
	if !given {
		v = r.Values[kind]
	}
	v.Refuse(problem, args...)
}

// endless reports whether a budget for ever would have to pay for periods without end, which it cannot.
func endless(s *config.Stream) bool { return s.Budget != nil && s.Budget.Per == 0 && s.Window.End == 0 }

// mostPeriods returns how many periods of a total any period of the budget touches.
func mostPeriods(t *config.Total, s *config.Stream, now time.Time) int64 {
	switch {
	case s.Budget != nil && s.Budget.Per > 0:
		return mostPeriodsIn(s.Budget.Per, t, s.Window.Every, now)
	case s.Window.End == 0:
		return config.Endless
	}
	n := int64(0)
	for begin := s.Window.FirstStart(now); begin < s.Window.End; n++ {
		_, begin = t.Period(windows.Window{Start: begin, End: begin + int64(s.Window.Every)})
	}
	return max(1, n)
}

// mostPeriodsIn returns how many periods of a total any stretch of time of this length touches, by the calendar of two
// years from now. Days of 23 hours count: 24 hours around one of them touch three days. every is the step of windows.
func mostPeriodsIn(stretch time.Duration, t *config.Total, every time.Duration, now time.Time) (most int64) {
	step := int64(every)
	begin, until := t.Period(windows.Window{Start: now.UnixNano(), End: now.UnixNano() + step})
	var ends []int64 // of periods that a stretch may hold beside the last one
	for end := now.AddDate(2, 0, 0).UnixNano(); begin < end; {
		// The stretch that holds the first window of this period, and as much before it as possible.
		for len(ends) > 0 && ends[0] <= begin+step-int64(stretch) {
			ends = ends[1:]
		}
		ends = append(ends, until)
		most = max(most, int64(len(ends)))
		begin = until
		_, until = t.Period(windows.Window{Start: begin, End: begin + step})
	}
	return most
}
