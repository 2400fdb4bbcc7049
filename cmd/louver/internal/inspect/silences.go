package inspect

import (
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/silence"
)

// silences says when hardly anybody is in a stream or a group any more, and when users are back.
type silences struct {
	tracker silence.Tracker
	// found are the streams whose groups are found: there may be a thousand of them, and they leave the list by
	// themselves. Only the stream as a whole is spoken of.
	found map[string]bool
	said  map[string]map[string]time.Time // by stream and name: since when
}

func newSilences(streams []*config.Stream) *silences {
	s := &silences{found: map[string]bool{}, said: map[string]map[string]time.Time{}}
	for _, of := range streams {
		s.found[of.Name] = of.Found != nil
	}
	return s
}

// remark is what is said of a stream, or of one of its groups.
type remark struct{ name, text string }

// remarks returns what has changed since they were asked for.
func (s *silences) remarks(stream string, end time.Time) (all []remark) {
	groups, whole := s.tracker.Of(stream)
	now := map[string]time.Time{}
	switch {
	case whole != nil:
		now[stream] = whole.Since
	case !s.found[stream]:
		for _, g := range groups {
			now[stream+"/"+g.Group] = g.Since
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, ok := s.said[stream][name]; !ok || !old.Equal(now[name]) {
			all = append(all, remark{name, "hardly anybody since " + sinceClock(now[name], end) +
				": the released counts are within their noise"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.said[stream])) {
		if _, still := now[name]; !still && whole == nil {
			all = append(all, remark{name, "users are back: released counts are beyond their noise"})
		}
	}
	s.said[stream] = now
	return all
}

// sinceClock writes a time before another one, in UTC: without the day if it is the same.
func sinceClock(at, end time.Time) string {
	if at.Truncate(24 * time.Hour).Equal(end.Truncate(24 * time.Hour)) {
		return at.UTC().Format("15:04:05Z")
	}
	return at.UTC().Format(time.RFC3339)
}

// Records are read back so far to know since when hardly anybody is there, if that is not more records than so many.
const (
	silenceDay     = 24 * time.Hour
	silenceRecords = 100_000
)

// silenceReach is how far back records of the streams are read.
func silenceReach(streams []*config.Stream) time.Duration {
	rate := 0.0 // records a second
	for _, s := range streams {
		rate += float64(s.MostGroups()*len(namesOf(s))) / s.Window.Every.Seconds()
	}
	return min(silenceDay, time.Duration(silenceRecords/rate*float64(time.Second)))
}
