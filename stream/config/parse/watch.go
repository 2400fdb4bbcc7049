package parse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// watchNode is a watch and its place. Its mechanism is made later.
type watchNode struct {
	config.Watch
	condition watch.Condition
	form.Mapping
	sound bool // it has no faults of its own
}

// The ledger keeps every instance for ever, and very long times cannot be added to others.
const (
	farthestHold  = 366 * 24 * time.Hour
	mostInstances = 1000
)

var watchForm = form.Form{
	{Name: "name", Required: true, Example: "slow",
		Meaning: "the name of the alarm. Its records have it as their `release`, so no release of the stream may " +
			"have the same name",
		Value: form.Into(figureName(), func(w *watchNode, v string) { w.Name = v })},
	{Name: "above", Absent: "see `below` and `users_below`", Example: "2000",
		Meaning: "what the watch counts: users whose value in the window is higher than this",
		Value:   form.Into(form.Number(anyNumber), func(w *watchNode, v decimal.Decimal) { w.condition.Above = &v })},
	{Name: "below", Absent: "see `above` and `users_below`", Example: "10",
		Meaning: "users whose value is lower than this",
		Value:   form.Into(form.Number(anyNumber), func(w *watchNode, v decimal.Decimal) { w.condition.Below = &v })},
	{Name: "more_than", Absent: "see `less_than` and `users`", Example: "0.01",
		Meaning: "with `above` or `below`: fire if more than this share of the group's users are counted",
		Value:   form.Into(form.Number(aShare), func(w *watchNode, v decimal.Decimal) { w.condition.MoreThan = &v })},
	{Name: "less_than", Absent: "see `more_than` and `users`", Example: "0.9",
		Meaning: "with `above` or `below`: fire if less than this share of the group's users are counted. Where " +
			"groups are found, it looks at those of `always` alone",
		Value: form.Into(form.Number(aShare), func(w *watchNode, v decimal.Decimal) { w.condition.LessThan = &v })},
	{Name: "users", Absent: "see `more_than` and `less_than`", Example: "100",
		Meaning: "with `above` or `below`: fire if more than so many users are counted",
		Value:   form.Into(form.Whole("of users "), func(w *watchNode, v int64) { w.condition.Users = &v })},
	{Name: "users_below", Absent: "see `above` and `below`", Example: "500",
		Meaning: "alone: fire if a group has fewer users than this, whatever their values are. Where groups are " +
			"found, it looks at those of `always` alone",
		Value: form.Into(form.Whole("of users "), func(w *watchNode, v int64) { w.condition.UsersBelow = &v })},
	{Name: "epsilon", Required: true, Example: "1",
		Meaning: "what one user loses from arming to firing, in ε, over all windows and groups together. There is " +
			"no default",
		Value: form.Into(form.Number(positive), func(w *watchNode, v decimal.Decimal) { w.Query.Epsilon = v })},
	{Name: "false_alarms", Required: true, Example: "{at_most: 0.05, per: 30d}",
		Meaning: "how rarely the watch may fire without cause. The rarer, the more users it takes to be seen",
		Value: form.Into(form.MappingOf[falseAlarms](falseAlarmsForm, nil), func(w *watchNode, v falseAlarms) {
			w.Query.FalseAlarms, w.FalseAlarmsPer = v.probability, v.per
		})},
	{Name: "hold", Required: true, Example: "15m",
		Meaning: "how long after it has fired the watch stays at 1 and looks at nothing. Then it is armed again, " +
			"which costs `epsilon` again",
		Value: form.Into(form.Duration(0), func(w *watchNode, v time.Duration) { w.Hold = v })},
	{Name: "at_most", Required: true, Example: "3",
		Meaning: "how often the watch may be armed in a period of the budget. Instances of former definitions under " +
			"the same budget count too. After that it is withheld until the period has passed",
		Value: form.Into(form.WholeUpTo("of times ", mostInstances), func(w *watchNode, v int64) { w.AtMost = v })},
}

type falseAlarms struct {
	probability decimal.Decimal
	per         time.Duration
}

var falseAlarmsForm = form.Form{
	{Name: "at_most", Required: true, Example: "0.05",
		Meaning: "the probability of any false alarm in this time, as long as the truth is not beyond the condition",
		Value:   form.Into(form.Number(aShare), func(f *falseAlarms, v decimal.Decimal) { f.probability = v })},
	{Name: "per", Required: true, Example: "30d", Meaning: "the time that the probability is for",
		Value: form.Into(form.Duration(time.Second), func(f *falseAlarms, v time.Duration) { f.per = v })},
}

func alarm() form.Kind[watchNode] {
	return form.MappingOf(watchForm, func(m form.Mapping, w *watchNode, ok bool) {
		w.Head.Where, w.Mapping, w.sound = m.Where(), m, ok
		if v, given := m.Values["hold"]; given && w.Hold > farthestHold {
			v.Refuse("%s; want at most %s", config.Duration(w.Hold), config.Duration(farthestHold))
			w.sound = false
		}
	})
}

// watch makes the mechanism of a sound watch.
func (w *watchNode) watch(s *config.Stream) {
	q := &w.Query
	groups, fixed, sound := w.looks(s)
	if !sound {
		return
	}
	q.Conditions, q.Grid, q.Groups = []watch.Condition{w.condition}, s.Grid, int64(groups)
	q.Windows = max(1, int64((w.FalseAlarmsPer+s.Window.Every-1)/s.Window.Every))
	var err error
	if w.Mechanism, err = watch.New(*q); err != nil {
		refuse(w.Mapping, err)
		return
	}
	w.Definition = fingerprint("%s|%s|%s|%d|%s|%s|%s|%s", w.condition, w.Query.Epsilon, w.Query.FalseAlarms,
		w.Query.Windows, fixed, s.Grid.Lower(), s.Grid.Upper(), s.Grid.Step())
}

// looks returns at how many groups of a window the watch looks at most, and what of them its instances depend on.
//
// Where groups are found, a watch looks at the list of each window, and only the length of the longest list is fixed:
// its margin is for that many. A watch for few users looks at the groups that are always listed. Any other group has
// few users when it is found and when it fades away, and the watch would fire for that.
func (w *watchNode) looks(s *config.Stream) (groups int, fixed string, sound bool) {
	f := s.Found
	if f == nil {
		return s.MostGroups(), fmt.Sprintf("%q", s.Groups), true
	}
	key := "less_than"
	switch {
	case w.condition.UsersBelow != nil:
		key = "users_below"
	case w.condition.LessThan == nil:
		return s.MostGroups(), fmt.Sprint(s.MostGroups()), true
	}
	if w.Always = true; len(f.Always) == 0 {
		w.Values[key].Refuse("groups are found, and come and go, so this watch looks at those of groups.always " +
			"alone, and there are none; want groups.always, or above or below with more_than or users")
		return 0, "", false
	}
	return len(f.Always), fmt.Sprintf("always %q", f.Always), true
}

// fingerprint identifies everything that an instance depends on. If two definitions of a stream have the same one, the
// second goes on with the instance of the first.
func fingerprint(format string, parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, parts...))
	return hex.EncodeToString(sum[:8])
}
