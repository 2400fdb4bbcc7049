package parse

import (
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// mostSums is the most windows of all groups over which a stream's objectives may add up. Each takes 24 bytes in every
// process.
const mostSums = 2_000_000

// checkObjectives refuses objectives whose windows cannot be added up. The groups are known.
func checkObjectives(s *config.Stream, releases []releaseNode) {
	w, objectives := s.Window, len(s.Objectives())
	span := config.Duration(config.LongestSpan)
	windows := int64(config.LongestSpan / w.Every)
	for i := range releases {
		r := &releases[i]
		if !r.objective.IsPositive() {
			continue
		}
		v := r.Values["objective"]
		switch all := windows * int64(len(s.Groups)*objectives); {
		case w.Size != w.Every:
			v.Refuse("windows overlap: one is %s long and begins %s after the one before; want window.every as "+
				"window.size, so that no event is added up twice", config.Duration(w.Size), config.Duration(w.Every))
		case s.Found != nil:
			v.Refuse("the groups of this stream are found, and their sums would begin with each list; want groups " +
				"that are listed")
		case windows < config.LeastWindows:
			v.Refuse("the longest alert looks at %s, which has %s of %s; want at least %d: window.every of %s or less",
				span, form.Plural(int(windows), "window"), config.Duration(w.Every), config.LeastWindows,
				config.Duration(config.LongestSpan/config.LeastWindows))
		case all > mostSums:
			v.Refuse("the sums over %s have %d windows of all groups; want at most %d: longer windows, or "+
				"fewer groups", span, all, mostSums)
		}
	}
}
