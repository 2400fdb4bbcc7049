package parse

import (
	"cmp"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// A count with `active` is the number of users seen lately. It is no part of a window's price: any day costs epsilon
// once, for each of the max_groups, however many values it has.

var counted = form.When{Key: "statistic", Is: texts([]mechanisms.Statistic{mechanisms.Count})}

// activeKeys are the keys of a release that make it a number of active users.
type activeKeys struct{ active time.Duration }

var activeForm = form.Form{
	{Name: "active", Absent: "figures of single windows", Only: counted, Unless: "from", Example: "15m",
		Meaning: "makes it the number of users seen in so much time: a multiple of `window.every`, from " +
			"`window.size` to 24 hours. There is a new value with every `update`, and all values of any 24 hours " +
			"together cost `epsilon` once. It counts everybody, whatever `max_windows` says. A user counts in at most " +
			"`max_groups` groups, and gives one up after 24 hours without it",
		Value: form.Into(form.Duration(time.Second), func(r *releaseNode, v time.Duration) { r.active = v })},
}

// checkActive refuses keys that do not go together with active, or mean nothing without it.
func (r *releaseNode) checkActive() {
	v, active := r.Values["active"]
	if since, given := r.Values["since"]; active && given {
		since.Refuse("given, but active is %s, which begins at no midnight; want one of the two",
			config.Duration(r.active))
		r.sound = false
	}
	if interval, given := r.Values["interval"]; active && given {
		interval.Refuse("given, but active is %s, and its records have an error of their own; remove it",
			config.Duration(r.active))
		r.sound = false
	}
	if active && r.active > config.Day {
		v.Refuse("%s; want at most 24h: for whole days, a total counts the users so far, with since: midnight",
			config.Duration(r.active))
		r.sound = false
	}
}

// makeActive makes the mechanism of a sound number of active users.
func (r *releaseNode) makeActive(s *config.Stream) *config.Active {
	w := s.Window
	a := &config.Active{Head: r.Head, Within: r.active, Update: cmp.Or(r.update, w.Every), Size: w.Size, Every: w.Every,
		Listed: len(s.Groups),
		Query: mechanisms.ActiveQuery{Above: r.Query.Above, Below: r.Query.Below, Epsilon: r.Query.Epsilon,
			Mechanism: r.Query.Mechanism, ZCDP: r.Query.ZCDP, Grid: s.Grid}}
	if len(s.Groups) > 1 {
		a.Query.Groups = int64(len(s.Groups))
	}
	refused := func(key, problem string, args ...any) *config.Active {
		r.refuseKey(key, "active", problem, args...)
		return a
	}
	switch {
	case s.Grid == nil || w.Every <= 0: // it was refused before
		return a
	case a.Within%w.Every != 0 || a.Within < w.Size:
		return refused("active", "%s; want a multiple of window.every, %s, and at least window.size, %s",
			config.Duration(a.Within), config.Duration(w.Every), config.Duration(w.Size))
	case w.Size%w.Every != 0:
		return refused("active", "given, but window.size, %s, is no multiple of window.every, %s; want one that "+
			"is", config.Duration(w.Size), config.Duration(w.Every))
	case a.Update%w.Every != 0 || a.Update > config.Day/2:
		return refused("update", "%s; want a multiple of window.every, %s, up to 12h", config.Duration(a.Update),
			config.Duration(w.Every))
	case endless(s) && !s.Withhold:
		return refused("active", "%s, but a budget for ever cannot pay for days without end; want window.end, a budget "+
			"for a rolling period, or on_exhausted: withhold", config.Duration(a.Within))
	}
	a.Query.Leaves = int64((config.Day + a.Update - 1) / a.Update)
	var err error
	if a.Mechanism, err = mechanisms.NewActive(a.Query); err != nil {
		refuse(r.Mapping, err)
		return a
	}
	a.AtMost = mostDays(s, time.Now())
	a.Definition = fingerprint("active|%s|%v|%v|%s|%s|%s|%s|%s|%s", a.Within, a.Query.Above, a.Query.Below,
		a.Query.Epsilon, a.Mechanism.Name(), a.Update, w.Size, w.Every, whoCounts(s))
	return a
}

// mostDays returns how many days any period of the stream's budget holds: each costs the price of a day, and the last
// one may be short.
func mostDays(s *config.Stream, now time.Time) int64 {
	stretch := time.Duration(0)
	switch {
	case s.Budget == nil || endless(s):
		return config.Endless
	case s.Budget.Per == 0:
		stretch = time.Duration(s.Window.End - s.Window.FirstStart(now))
	default:
		stretch = s.Budget.Per
	}
	return max(1, int64((stretch+config.Day-1)/config.Day))
}
