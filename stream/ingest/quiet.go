package ingest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/episode"
)

// A stream without events is told: nothing comes, or nothing that comes is an event of the stream.

// manyQuiet is how many streams must have no events before one line speaks of all of them.
const manyQuiet = 5

// tellQuiet warns of streams without events: a line each, or one line if there are many.
func tellQuiet(all []*traffic) {
	if len(all) == 0 {
		return
	}
	episodes, key := all[0].episodes, "streams without events"
	var names []string
	for _, t := range all {
		if t.silent() && !t.skips() {
			names = append(names, t.stream.Name)
		}
	}
	if len(names) >= manyQuiet {
		slices.Sort(names)
		episodes.On(key, badShare, fmt.Sprintf("no events in %d of the %d streams that this process reads, such as %s",
			len(names), len(all), strings.Join(names[:3], ", ")))
	} else {
		episodes.Over(key, "few or no streams are without events now")
	}
	for _, t := range all {
		t.tellQuiet(len(names) < manyQuiet)
	}
}

// listen notes whether events arrive at all.
func (t *traffic) listen(partitions int, empty bool) {
	t.ever = t.ever || !empty
	ended := !t.last.IsZero() && time.Now().After(t.last)
	switch {
	case !empty:
		t.quiet, t.since = 0, time.Time{}
		t.episodes.Over(t.quietKey(), fmt.Sprintf("stream %s: events are arriving again", t.stream.Name))
		t.episodes.Over(t.skipKey(), fmt.Sprintf("stream %s: events count again", t.stream.Name))
	case partitions == 0, ended:
		t.quiet, t.since = 0, time.Time{}
		t.episodes.Forget(t.quietKey())
		t.episodes.Forget(t.skipKey())
	default:
		if t.quiet = partitions; t.since.IsZero() {
			t.since = time.Now()
		}
	}
}

func (t *traffic) quietKey() string { return "stream " + t.stream.Name + ": no events" }

func (t *traffic) skipKey() string { return "stream " + t.stream.Name + ": all events skipped" }

// skips reports whether records came in the last minute of which none is an event of the stream.
func (t *traffic) skips() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.minute.skipped+t.minute.empty > 0 && t.minute.events == 0
}

// patience is how long the stream may go without events.
func (t *traffic) patience() time.Duration {
	if t.ever {
		return max(laterQuiet, t.stream.Window.Size)
	}
	return firstQuiet
}

// silent reports whether no events have arrived for longer than that.
func (t *traffic) silent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.quiet > 0 && time.Since(t.since) >= t.patience()
}

// tellQuiet warns that no events arrive, unless one line already says so about many streams.
func (t *traffic) tellQuiet(alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.quiet == 0:
	case t.minute.skipped > 0:
		t.episodes.Forget(t.quietKey())
		what, hint := "records", ""
		if t.stream.Input.Batched() { // in Protocol Buffers, log records and metrics look like spans without anything in them
			what, hint = "items", "; louver init --topic "+t.stream.Input.Topic+" says what the topic holds"
		}
		t.episodes.On(t.skipKey(), episode.Rule{After: t.patience(), Every: time.Hour}, printed(
			"stream %s: no events for %s: all %d %s of the last minute were skipped (%s)%s", t.stream.Name,
			t.patience(), t.minute.skipped, what, t.unmet(t.minute), hint))
	case t.minute.empty > 0:
		t.episodes.Forget(t.quietKey())
		t.episodes.On(t.skipKey(), episode.Rule{After: t.patience(), Every: time.Hour}, printed(
			"stream %s: no events for %s: %d records of the last minute hold no items of %s; louver init --topic %s says "+
				"what the topic holds", t.stream.Name, t.patience(), t.minute.empty, t.stream.Input.Format,
			t.stream.Input.Topic))
	case !alone:
		t.episodes.Forget(t.quietKey())
	default:
		noun := "partitions"
		if t.quiet == 1 {
			noun = "partition"
		}
		t.episodes.On(t.quietKey(), episode.Rule{After: t.patience()},
			fmt.Sprintf("stream %s: no events for %s in the %d %s of topic %s that this process reads",
				t.stream.Name, t.patience(), t.quiet, noun, t.stream.Input.Topic))
	}
}

// unmet says which conditions the skipped records do not meet, the most frequent reason first. It shows fields, and no
// value of a record.
func (t *traffic) unmet(m tally) string {
	type reason struct {
		words string
		n     int
	}
	var all []reason
	if n := m.skips[codec.NoUser]; n > 0 {
		all = append(all, reason{fmt.Sprintf("no field \"%s\", which says who", t.stream.Input.User), n})
	}
	if n := m.skips[codec.NoValue]; n > 0 {
		all = append(all, reason{"data points without a number of their own, such as those of histograms and summaries", n})
	}
	if n := m.skips[codec.NoDelta]; n > 0 {
		all = append(all, reason{"points of a sum that are totals so far, not events; " + wantDeltas, n})
	}
	for i, c := range t.stream.Input.Where {
		for why, n := range m.unmet[i] {
			if n == 0 {
				continue
			}
			all = append(all, reason{skipWords(t.stream.Input, c, codec.SkipCause(why)), n})
		}
	}
	slices.SortStableFunc(all, func(a, b reason) int { return b.n - a.n })
	var parts []string
	for _, r := range all {
		if len(all) > 1 {
			r.words = printed("%d: %s", r.n, r.words)
		}
		parts = append(parts, r.words)
	}
	return strings.Join(parts, "; ")
}

// skipWords says why a condition leaves a record out.
func skipWords(in config.Input, c codec.Condition, why codec.SkipCause) string {
	switch why {
	case codec.IsMissing:
		return fmt.Sprintf("where needs field \"%s\", which is missing%s", c.Field, dotted(in, c.Field))
	case codec.IsText:
		return fmt.Sprintf("field \"%s\" is a text, but where has a number", c.Field)
	case codec.IsNumber:
		return fmt.Sprintf("field \"%s\" is a number, but where has a text", c.Field)
	case codec.IsOther:
		return fmt.Sprintf("field \"%s\" is neither a text nor a number", c.Field)
	}
	return fmt.Sprintf("where wants %s", c)
}

// tellMistyped says at once, and only once, that a condition compares a number with a text: it will hardly ever be met.
func (t *traffic) tellMistyped(o tally) {
	for i, c := range t.stream.Input.Where {
		for _, why := range []codec.SkipCause{codec.IsText, codec.IsNumber} {
			if o.unmet[i][why] > 0 {
				words := skipWords(t.stream.Input, c, why)
				t.episodes.On("stream "+t.stream.Name+": "+words, episode.Rule{}, fmt.Sprintf(
					"stream %s: %s: what has such a field is skipped", t.stream.Name, words))
			}
		}
	}
}
