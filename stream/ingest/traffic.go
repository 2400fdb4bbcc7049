package ingest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize/english"
	"go.uber.org/zap"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/windows"
)

// Warnings about traffic. Each is logged when it begins, once more when it becomes true of all events, again every
// hour, and when it is over.
const (
	// lookEvery is how often the last minute is checked. The minute consists of slots of that length.
	lookEvery = 10 * time.Second
	slots     = int(time.Minute / lookEvery)
	// manyRejected and manyLate are shares of all events, manyFramed too, manyClamped a share of those that count.
	manyRejected, manyLate, manyClamped, manyFramed = 0.1, 0.1, 0.5, 0.5
	// calm is how many checks in a row must find nothing before a warning is over: five minutes.
	calm = 5 * slots
	// firstQuiet is how long a new process may go without events, and laterQuiet how long one that has read some may.
	// If a window is longer, its length counts instead.
	firstQuiet, laterQuiet = time.Minute, 10 * time.Minute
)

var badShare = episode.Rule{Every: time.Hour}

// traffic watches a stream's events in all partitions that this process reads, and logs what needs attention. It is
// safe for concurrent use.
type traffic struct {
	stream   *config.Stream
	log      *zap.Logger
	episodes *episode.Log
	last     time.Time // when the schedule ends, with the grace; zero: never

	mu    sync.Mutex
	slots [slots]tally
	now   int // the slot that is being filled
	ever  bool
	// quiet is how many partitions are read without an event since silence began. It is 0 if there are events, or if
	// nothing is read.
	quiet int
	since time.Time
	calm  map[string]int  // checks in a row that found nothing, by warning
	total map[string]bool // warnings that have been true of all events of a minute
	// start and end are those of all windows, in Unix nanoseconds. They are 0 before a partition is read, and end is 0
	// if there is no last window.
	start, end int64
	all        tally // since the process began
	minute     tally // the last one
	skipped    int64 // records that were written before the first window and are not read; not told yet
}

func newTraffic(s *config.Stream, log *zap.Logger, episodes *episode.Log) *traffic {
	t := &traffic{stream: s, log: log, episodes: episodes, calm: map[string]int{}, total: map[string]bool{}}
	if s.Window.End != 0 {
		t.last = time.Unix(0, s.Window.End).Add(s.Window.Grace)
	}
	return t
}

func (t *traffic) add(o tally) {
	if o.events == 0 && o.skipped == 0 && o.empty == 0 {
		return
	}
	if o.skipped > 0 {
		t.tellMistyped(o)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots[t.now].add(o)
	t.all.add(o)
}

// between notes that there are windows of a schedule.
func (t *traffic) between(s windows.Schedule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.start == 0 || s.Start < t.start {
		t.start = s.Start
	}
	t.end = s.End
}

// skip notes that a partition has so many records that are not read, because they were written before the first window.
func (t *traffic) skip(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.skipped += n
}

// watch checks the streams until ctx ends. reading returns how many partitions of a topic are read here, or 0 while
// Kafka is lost.
func watch(ctx context.Context, all []*traffic, reading func(topic string) int) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, t := range all {
			t.look(reading(t.stream.Input.Topic))
		}
		tellQuiet(all)
	}
}

// look judges the last minute and begins the next slot.
func (t *traffic) look(partitions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listen(partitions, t.slots[t.now].events == 0)
	if t.skipped > 0 {
		t.log.Info(printed("stream %s: %d %s of topic %s from before the first window, which starts at %s: not read; "+
			"to count such events, let window.start lie before them", t.stream.Name, t.skipped,
			english.PluralWord(int(t.skipped), "record", "records"),
			t.stream.Input.Topic, instant(t.start)))
		t.skipped = 0
	}
	var minute tally
	for _, s := range t.slots {
		minute.add(s)
	}
	t.now = (t.now + 1) % slots
	t.slots[t.now] = tally{}
	t.minute = minute
	if minute.events == 0 {
		return
	}
	rejected := 0
	for _, n := range minute.rejected {
		rejected += n
	}
	counted := minute.events - rejected - minute.late - minute.outside
	t.judge("rejected", rejected, minute.events, manyRejected,
		printed("%d of %d events rejected in the last minute (%s)", rejected, minute.events, t.reasons(minute)))
	t.judge("with keys that begin like the header of a schema registry", minute.framed, minute.events, manyFramed,
		printed("%d of %d keys in the last minute begin like the header of a schema registry, Confluent's (a zero byte and "+
			"four others) or AWS Glue's (3 and seventeen others): a person counts once for each schema; want %s",
			minute.framed, minute.events, t.bareKeys()))
	t.judge("with keys of JSON that are written in another way than others", minute.respelled, minute.spelled, 0,
		printed("%d of %d keys that were looked at in the last minute are JSON that others write in another way, with "+
			"other white space or another order of members: a person counts once for each way; let all producers write "+
			"keys alike, or name a field of the value as user", minute.respelled, minute.spelled))
	t.judge("late", minute.late, minute.events, manyLate,
		printed("%d of %d events late in the last minute: their windows had closed", minute.late, minute.events))
	t.judge("outside all windows", minute.outside, minute.events, manyLate, t.astray(minute))
	totals := minute.skips[codec.NoDelta]
	t.judge("that are totals so far", totals, minute.events+totals, 0,
		printed("%d of %d data points skipped in the last minute: they are totals so far, not events; %s", totals,
			minute.events+totals, wantDeltas))
	t.judge("beyond the bounds", minute.clamped, counted, manyClamped,
		printed("%d of %d values beyond the bounds in the last minute", minute.clamped, counted))
}

// wantDeltas says what helps where points of a sum are not said to be differences.
const wantDeltas = "let the SDK or the Collector's cumulativetodelta send differences, or ask for totals with where " +
	"metric.aggregation_temporality: cumulative"

// bareKeys says what would let a person with keys of several schemas count once.
func (t *traffic) bareKeys() string {
	if f, _ := codec.FormatOf(t.stream.Input.Format); f.Schematic() {
		return "schema: registry for Confluent's, or keys without headers"
	}
	return "keys without headers, or a field of the value as user"
}

// astray says of a minute that events are in no window. If none ever was, it says that.
func (t *traffic) astray(minute tally) string {
	line := printed("%d of %d events in the last minute are in no window", minute.outside, minute.events)
	if t.all.outside == t.all.events {
		minute = t.all
		line = printed("0 of %d records are in any window", minute.events)
	}
	if t.stream.Input.Time == codec.TimestampField && minute.newest < t.start {
		line = printed("%d of %d events lie before the stream's start, %s: their timestamps are of %s", minute.outside,
			minute.events, instant(t.start), t.before(minute.oldest))
		if newest := t.before(minute.newest); newest != t.before(minute.oldest) {
			line += " to " + newest
		}
		if time.Unix(0, minute.newest).UTC().Year() == 1970 {
			line += ". Kafka counts timestamps in milliseconds, and these look like seconds"
		}
		return line
	}
	if minute.oldest < t.start {
		return fmt.Sprintf("%s: the oldest is of %s, the first window starts at %s", line, t.before(minute.oldest),
			instant(t.start))
	}
	return fmt.Sprintf("%s: the newest is of %s, the last window ends at %s", line, date(minute.newest), instant(t.end))
}

func instant(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }

func date(ns int64) string { return time.Unix(0, ns).UTC().Format(time.DateOnly) }

// before is the day of a moment before the first window, and its hour if they are on one day.
func (t *traffic) before(ns int64) string {
	if date(ns) == date(t.start) {
		return time.Unix(0, ns).UTC().Format("2006-01-02, 15 h")
	}
	return date(ns)
}

// judge begins, continues or ends a warning: n of so many events are affected.
func (t *traffic) judge(what string, n, of int, many float64, line string) {
	key := fmt.Sprintf("stream %s: events %s", t.stream.Name, what)
	if float64(n) > many*float64(of) {
		t.calm[what] = 0
		if n == of && !t.total[what] {
			t.total[what] = true
			t.episodes.Forget(key) // the former line was about some of them
		}
		t.episodes.On(key, badShare, "stream "+t.stream.Name+": "+line)
		return
	}
	if t.calm[what]++; t.calm[what] >= calm {
		t.total[what] = false
		t.episodes.Over(key, fmt.Sprintf("stream %s: few or no events %s now", t.stream.Name, what))
	}
}

// reasons names the reasons for rejecting, with the configured name of the field at fault, and never a value.
func (t *traffic) reasons(m tally) string {
	in := t.stream.Input
	fields := map[codec.Reason]string{codec.BadValue: in.Value, codec.BadUser: in.User, codec.BadTime: in.Time,
		codec.BadGroup: in.Group}
	several := 0
	for _, n := range m.rejected {
		if n > 0 {
			several++
		}
	}
	var parts []string
	for _, r := range codec.Reasons() {
		n := m.rejected[r]
		if n == 0 {
			continue
		}
		part := r.String()
		if several > 1 {
			part = printed("%d %s", n, part)
		}
		wrong := "unusable"
		switch {
		case r == codec.BadGroup && t.stream.Found != nil:
			wrong = "not a name of 1–200 characters that can be printed"
		case r == codec.BadGroup:
			wrong = "not in groups"
		}
		also := ""
		if r == codec.BadTime && in.Clock != "" {
			also = fmt.Sprintf(" with time of day \"%s\"", in.Clock)
		}
		switch field, named := fields[r]; {
		case r == codec.Malformed, r == codec.Future:
			part += causes(m, r)
		case r == codec.BadTime && m.causes[cause{r, unstamped}] == n:
			part += ": the records have no timestamp"
		case r == codec.BadTime && m.causes[cause{r, unstamped}] > 0:
			without := m.causes[cause{r, unstamped}]
			part += printed(": %d %s no timestamp; field \"%s\"%s is missing or unusable in the others", without,
				english.PluralWord(without, "record has", "records have"), field, also)
		case named && m.missing[r] == n:
			part += fmt.Sprintf(": no field \"%s\"%s%s", field, also, dotted(in, field))
		case named && m.missing[r] > 0:
			part += fmt.Sprintf(": field \"%s\"%s is missing or %s", field, also, wrong)
		case named:
			part += fmt.Sprintf(": field \"%s\"%s is %s", field, also, wrong)
		}
		if r == codec.BadValue {
			part += causes(m, r)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// causes says more about why records are rejected: the most frequent cause first, and how many have each if there are
// several.
func causes(m tally, r codec.Reason) string {
	known := maps.Clone(m.causes)
	maps.DeleteFunc(known, func(of cause, _ int) bool { return of.reason != r })
	if u := m.unknown; r == codec.Malformed && u.records > 0 {
		words := codec.UnknownSchema(u.id)
		if u.several {
			words = fmt.Sprintf("names a schema that the registry does not have, such as %s", u.id)
		}
		if known == nil {
			known = map[cause]int{}
		}
		known[cause{r, words}] += u.records
	}
	order := slices.SortedFunc(maps.Keys(known), func(a, b cause) int {
		return cmp.Or(known[b]-known[a], strings.Compare(a.words, b.words))
	})
	n := m.rejected[r]
	if u := m.unknown; u.several && u.records == n {
		return ": " + unframed(n, u.id)
	}
	if len(order) == 1 && known[order[0]] == n {
		return ": the record " + order[0].words
	}
	var parts []string
	for _, of := range order {
		parts = append(parts, printed("%s (%d)", of.words, known[of]))
		n -= known[of]
	}
	if len(parts) == 0 {
		return ""
	}
	if n > 0 {
		parts = append(parts, printed("is wrong in another way (%d)", n))
	}
	return ": the record " + strings.Join(parts, ", or ")
}

// dotted says how to write a field whose name itself has dots. "" if there is none, or if it is written so already.
func dotted(in config.Input, field string) string {
	head := ""
	switch rest, ok := strings.CutPrefix(field, "data."); {
	case in.Format == "cloudevents" && ok:
		head, field = "data.", rest
	case in.Format != "json":
		return ""
	}
	if strings.Contains(field, `\`) || !strings.Contains(field, ".") {
		return ""
	}
	return fmt.Sprintf(`; a name that itself has a dot is written '%s%s'`, head, strings.ReplaceAll(field, ".", `\.`))
}

// printed formats figures with separators: 3,030.
func printed(format string, args ...any) string {
	return message.NewPrinter(language.English).Sprintf(format, args...)
}
