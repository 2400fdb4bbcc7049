package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/remedy"
	"github.com/louver/louver/stream/silence"
)

// streamInfo holds the public facts about a stream. Its JSON names are public.
type streamInfo struct {
	Stream string `json:"stream"`
	// Declared says that the stream is in the streams files. Others are known only from their records.
	Declared    bool     `json:"declared"`
	Description string   `json:"description"`
	Unit        string   `json:"unit"`
	Groups      []string `json:"groups"`
	// Together is the name of all groups together, "" if that is not published. It is the last of Groups.
	Together string `json:"together,omitempty"`
	// MaxGroups is how many groups of a window one user counts in; null if unknown.
	MaxGroups *int `json:"max_groups"`
	// MaxWindows is how many windows of a period one user counts in; null if in all, or if unknown.
	MaxWindows *record.Cap `json:"max_windows"`
	// Discovery says how groups are found; null if they are listed. If they are found, Groups is empty: api/v1/groups
	// has them.
	Discovery *discoveryInfo `json:"discovery"`
	Releases  []releaseInfo  `json:"releases"`
	Window    windowInfo     `json:"window"`
	Bounds    *boundsInfo    `json:"bounds"`
	// Contribution says which of a user's values counts, or what all of them make; "" if unknown.
	Contribution string `json:"contribution"`
	// Where says in words which events count; "" if all do, or if unknown.
	Where         string     `json:"where"`
	ExpectedUsers *int64     `json:"expected_users"`
	MinUsers      *minUsers  `json:"min_users"`
	Budget        string     `json:"budget"`
	Oldest        *time.Time `json:"oldest_window_end"` // in memory
	Newest        *time.Time `json:"newest_window_end"`
	// NextDue is when the next window closes by the public schedule.
	NextDue *time.Time `json:"next_due_at"`
	// Silent says since when hardly anybody has been in the stream; null unless that is so of all its groups.
	// SilentGroups says it of each group. Both follow from released counts that are within their noise.
	Silent       *silenceInfo  `json:"silent"`
	SilentGroups []silentGroup `json:"silent_groups"`
	// Remedies say what would make the newest figures readable that are only noise.
	Remedies []remedyInfo `json:"remedies"`
}

// discoveryInfo says how many groups have figures now.
type discoveryInfo struct {
	Listed int        `json:"listed"`
	Max    *int64     `json:"max"`
	Other  string     `json:"other"`
	AsOf   *time.Time `json:"as_of"`
}

// has reports whether a point is of the newest list; true if groups are not found.
func (d *discoveryInfo) has(f *point) bool {
	return d == nil || d.AsOf == nil || f.list == d.AsOf.Unix()
}

type releaseInfo struct {
	Release   string       `json:"release"`
	Statistic string       `json:"statistic"`
	P         *json.Number `json:"p"`
	Above     *json.Number `json:"above"`
	Below     *json.Number `json:"below"`
	Mechanism string       `json:"mechanism"`
	Unit      string       `json:"unit"`
	Epsilon   json.Number  `json:"epsilon"`
	Delta     json.Number  `json:"delta"`
	// What is nil is unknown, or of other kinds.
	config.Public
	// From is the histogram that the figure is computed from, or "".
	From string `json:"from,omitempty"`
}

// windowInfo holds the public times of the windows, in seconds; null if unknown.
type windowInfo struct {
	Size  *int64 `json:"size_seconds"`
	Every *int64 `json:"every_seconds"`
	Grace *int64 `json:"grace_seconds"`
}

type boundsInfo struct {
	Lower json.Number `json:"lower"`
	Upper json.Number `json:"upper"`
	Step  json.Number `json:"step"`
}

// silenceInfo says since when hardly anybody has been there, and how many users the newest window has at most, with a
// probability of 95 %.
type silenceInfo struct {
	Since       time.Time `json:"since"`
	UsersAtMost int64     `json:"users_at_most"`
}

type silentGroup struct {
	Group string `json:"group"`
	silenceInfo
}

// remedyInfo is the remedy for the newest figure of a series.
type remedyInfo struct {
	Group   string `json:"group"`
	Release string `json:"release"`
	remedy.Remedy
}

type minUsers struct {
	Count   int64  `json:"count"`
	Release string `json:"release"`
}

// mostRemedies bounds for how many figures of a stream remedies are given: a found list may have a thousand groups.
const mostRemedies = 200

// listing answers what streams there are.
type listing struct {
	source
	demo bool // api/v1/demo has an answer
}

// answer answers with all streams, and says whether the output topics can be read.
func (l listing) answer(w http.ResponseWriter, r *http.Request) error {
	want, err := l.wanted(r)
	if err != nil {
		return err
	}
	all := []streamInfo{}
	for _, s := range l.infos() {
		if len(want.streams) == 0 || slices.Contains(want.streams, s.Stream) {
			all = append(all, s)
		}
	}
	return answerJSON(w, r, struct {
		Streams []streamInfo `json:"streams"`
		Reading Reading      `json:"reading"`
		Demo    bool         `json:"demo"`
	}{all, l.store.Reading(), l.demo})
}

// infos returns all streams: declared ones in the order of the files, then others by name.
func (l listing) infos() []streamInfo {
	var all []streamInfo
	oldest, lists := l.store.oldest(), l.lists()
	for _, s := range l.streams {
		info := infoOf(s)
		if list, found := lists[s.Name]; found {
			info.Discovery, info.Groups = &discoveryInfo{list.Listed, list.Max, list.Other, list.AsOf}, []string{}
		}
		all = append(all, info)
	}
	at := map[string]int{}
	for i, s := range all {
		at[s.Stream] = i
	}
	for _, f := range l.store.latest(selection{}) { // by series
		if f.series.discovery {
			continue
		}
		i, known := at[f.series.stream]
		if !known {
			i = len(all)
			at[f.series.stream] = i
			all = append(all, streamInfo{Stream: f.series.stream, Groups: []string{}, Releases: []releaseInfo{},
				Remedies: []remedyInfo{}})
		}
		all[i].Oldest = oldest[f.series.stream]
		if list, found := lists[f.series.stream]; found && all[i].Discovery == nil {
			all[i].Discovery = &discoveryInfo{list.Listed, list.Max, list.Other, list.AsOf}
		}
		all[i].learn(f)
		if i < len(l.streams) && f.noise && len(all[i].Remedies) < mostRemedies && all[i].Discovery.has(f) {
			all[i].addRemedy(l.streams, f)
		}
	}
	for i, s := range l.streams {
		all[i].schedule(s, l.now())
	}
	for i := range all {
		all[i].addTogether()
		all[i].addSilences(l.store)
	}
	return all
}

// addTogether puts all groups together behind the groups, as the records of a window are. Found groups are elsewhere.
func (s *streamInfo) addTogether() {
	if s.Together == "" || s.Discovery != nil {
		return
	}
	is := func(group string) bool { return group == s.Together }
	s.Groups = append(slices.DeleteFunc(slices.Clone(s.Groups), is), s.Together)
}

// addSilences adds which groups are silent, of those that have figures now.
func (s *streamInfo) addSilences(store *Store) {
	groups, all := store.silent(s.Stream)
	s.SilentGroups = []silentGroup{}
	for _, g := range groups {
		s.SilentGroups = append(s.SilentGroups, silentGroup{g.Group, silenceInfo{g.Since, g.AtMost}})
	}
	if all != nil {
		s.Silent = &silenceInfo{all.Since, all.AtMost}
	}
}

// silent returns what is said of a stream: see [silence.Tracker.Of].
func (s *Store) silent(stream string) (groups []silence.State, all *silence.State) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.silence.Of(stream)
}

// oldest returns the ends of the streams' oldest windows in memory.
func (s *Store) oldest() map[string]*time.Time {
	ends := map[string]int64{}
	s.each(func(e *series) {
		if end, ok := ends[e.stream]; !e.discovery && (!ok || e.points[0].end < end) {
			ends[e.stream] = e.points[0].end
		}
	})
	times := map[string]*time.Time{}
	for stream, end := range ends {
		times[stream] = instant(end)
	}
	return times
}

// infoOf returns what a streams file says about a stream.
func infoOf(s *config.Stream) streamInfo {
	seconds := func(d time.Duration) *int64 { return new(int64(d / time.Second)) }
	g := s.Grid
	info := streamInfo{Stream: s.Name, Declared: true, Description: s.Description, Unit: s.Unit, Groups: s.Groups,
		Together: s.Together, MaxGroups: new(s.MaxGroups),
		Window:       windowInfo{seconds(s.Window.Size), seconds(s.Window.Every), seconds(s.Window.Grace)},
		Bounds:       &boundsInfo{exactly(g.Lower()), exactly(g.Upper()), exactly(g.Step())},
		Contribution: string(s.Contribution), Where: codec.InWords(s.Input.Where), Budget: s.Budget.Name,
		Remedies: []remedyInfo{}}
	if s.ExpectedUsers > 0 {
		info.ExpectedUsers = new(s.ExpectedUsers)
	}
	if m := s.MaxWindows; m != nil {
		info.MaxWindows = &record.Cap{Count: m.By.AtMost(), Per: config.Duration(m.Per)}
	}
	if m := s.MinUsers; m != nil {
		info.MinUsers = &minUsers{m.Count, m.Release}
	}
	info.Releases = releasesOf(s)
	return info
}

// releasesOf returns the series of each group: one for each release, or one for each of several quantiles, and one for
// each figure from a histogram, total, watch and release on change.
func releasesOf(s *config.Stream) (all []releaseInfo) {
	for _, f := range s.Figures {
		if config.Kinds[f.Kind()].Finds { // it is published for no group
			continue
		}
		about := f.About()
		for _, x := range f.Series() {
			all = append(all, releaseInfo{Release: x.Name, Statistic: x.Statistic, P: optional(x.P),
				Above: optional(cmp.Or(about.Above, x.Above)), Below: optional(cmp.Or(about.Below, x.Below)),
				Mechanism: x.Mechanism, Unit: x.Unit, Epsilon: exactly(x.Epsilon), Delta: exactly(x.Delta),
				Public: about.Public, From: x.From})
		}
	}
	return all
}

// learn adds facts from a record that are not known yet.
func (s *streamInfo) learn(f *point) {
	if s.Discovery == nil && !slices.Contains(s.Groups, f.series.group) {
		s.Groups = append(slices.Clone(s.Groups), f.series.group)
	}
	if f.series.together {
		s.Together = f.series.group
	}
	newer := s.Newest == nil || f.end > s.Newest.Unix()
	if newer {
		s.Newest = instant(f.end)
	}
	known := slices.ContainsFunc(s.Releases, func(x releaseInfo) bool { return x.Release == f.series.release })
	if known && (s.Declared || !newer) {
		return
	}
	r, err := f.decode()
	if err != nil {
		return // cannot happen: it was decoded before
	}
	if !known {
		s.Releases = append(s.Releases, releaseInfo{Release: r.Release, Statistic: r.Statistic, P: r.P,
			Mechanism: r.Mechanism, Unit: r.Unit, Epsilon: r.Epsilon, Delta: r.Delta,
			Public: config.Public{OnChange: r.Changed != nil}, From: r.From})
	}
	// watches and figures on change look at everybody, and have none
	if !s.Declared && r.MaxWindows != nil && r.Statistic != record.StatisticGroups {
		s.MaxWindows = r.MaxWindows
	}
	if !s.Declared && newer {
		s.Budget = r.Budget
		s.Window = windowInfo{Size: new(int64(r.WindowEnd.Sub(r.WindowStart).Seconds())),
			Grace: new(int64(r.DueAt.Sub(r.WindowEnd).Seconds()))}
	}
}

// addRemedy adds the remedy of a point that is only noise.
func (s *streamInfo) addRemedy(all []*config.Stream, f *point) {
	r, err := f.decode()
	if err != nil {
		return // cannot happen: it was decoded before
	}
	if found, ok := remedy.Of(all, r); ok {
		s.Remedies = append(s.Remedies, remedyInfo{r.Group, r.Release, found})
	}
}

// schedule says when the next window closes: the one after the newest, or the first one that is not due yet. The
// boundaries of windows do not depend on when a stream starts.
func (s *streamInfo) schedule(of *config.Stream, now time.Time) {
	windows := of.Window.Schedule(of.Window.Start)
	after := now.Add(-of.Window.Grace).UnixNano()
	if s.Newest != nil {
		after = s.Newest.UnixNano()
	}
	if next, ok := windows.After(after); ok {
		s.NextDue = new(time.Unix(0, windows.Due(next)).UTC())
	}
}
