package control

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// keyEpoch begins the keys of the records of epochs. The epoch's number follows.
const keyEpoch = "epoch/"

// lead is the shortest time before a new definition begins. It is long enough for every process to learn of it.
const lead = 20 * time.Second

// farthestBoundary is the longest time until the next common boundary of a stream's old and new windows.
const farthestBoundary = 366 * 24 * time.Hour

// Wanted is the content of a process's streams files.
type Wanted struct {
	Streams []*config.Stream
	// Revision is raised to go back to definitions that the app has had before.
	Revision int
	// Removed are the streams that the files end.
	Removed []string
	// By is the process that has the files. It is recorded with what it proposes.
	By Proposer
	// Now is the time by which windows close; nil: time.Now.
	Now func() time.Time
}

// now is when these definitions are proposed.
func (w Wanted) now() time.Time {
	if w.Now == nil {
		return time.Now()
	}
	return w.Now()
}

// Proposer is a process as operators know it.
type Proposer struct {
	Host     string `json:"host"`
	ClientID string `json:"client_id"`
	Version  string `json:"version"`
}

// epoch holds everything that the app has agreed on: every definition of every stream, and its windows. Processes act
// on the newest epoch and not on their own files.
type epoch struct {
	Number   int                  `json:"number"`
	Revision int                  `json:"revision"`
	At       time.Time            `json:"at"`
	By       Proposer             `json:"by"`
	Streams  map[string][]edition `json:"streams"`
}

// edition is a [config.Edition] as it is written. Times are Unix seconds.
type edition struct {
	Number     uint32            `json:"number"`
	Start      int64             `json:"start"`           // of the first window
	Until      int64             `json:"until,omitempty"` // end of the last window; 0: the definition says
	Removed    bool              `json:"removed,omitempty"`
	Definition config.Definition `json:"definition"`
}

// current returns the current definition of each stream that is not removed.
func (e *epoch) current() map[string]config.Definition {
	all := map[string]config.Definition{}
	for name, editions := range e.Streams {
		if last := editions[len(editions)-1]; !last.Removed {
			all[name] = last.Definition
		}
	}
	return all
}

func (w Wanted) definitions() map[string]config.Definition {
	all := map[string]config.Definition{}
	for _, s := range w.Streams {
		all[s.Name] = s.Definition
	}
	return all
}

// watches reports whether any stream has a watch or a release on change, whose instances have secrets.
func (w Wanted) watches() bool {
	return slices.ContainsFunc(w.Streams,
		func(s *config.Stream) bool {
			return slices.ContainsFunc(s.Figures, func(f config.Figure) bool { return f.Cost().Per == config.PerInstance })
		})
}

// older reports whether the files belong to an earlier epoch or revision. A process with such files follows the newest
// epoch, for example during a rolling deployment.
func (s *State) older(w Wanted) bool {
	newest := s.newest()
	if newest == nil || w.Revision == newest.Revision && maps.Equal(w.definitions(), newest.current()) {
		return false
	}
	if w.Revision < newest.Revision {
		return true
	}
	return slices.ContainsFunc(s.epochs, func(e *epoch) bool {
		return e.Revision == w.Revision && maps.Equal(w.definitions(), e.current())
	})
}

func (s *State) newest() *epoch {
	if len(s.epochs) == 0 {
		return nil
	}
	return s.epochs[len(s.epochs)-1]
}

// Epoch is the number of the newest epoch.
func (s *State) Epoch() int {
	if e := s.newest(); e != nil {
		return e.Number
	}
	return 0
}

func (s *State) applyEpoch(into func(any) error) error {
	e := &epoch{}
	if err := into(e); err != nil {
		return err
	}
	for name, editions := range e.Streams {
		if len(editions) == 0 {
			return fmt.Errorf("epoch %d has no definition of stream %s; want at least one", e.Number, name)
		}
	}
	s.epochs = append(s.epochs, e)
	slices.SortFunc(s.epochs, func(a, b *epoch) int { return a.Number - b.Number })
	return nil
}

// propose returns an epoch in which the streams are as wanted, or nil if they already are.
func (s *State) propose(w Wanted, now time.Time) (*epoch, error) {
	next := &epoch{Number: 1, Revision: w.Revision, At: now.UTC().Truncate(time.Second), By: w.By,
		Streams: map[string][]edition{}}
	changed := true
	if old := s.newest(); old != nil {
		changed = old.Revision != w.Revision
		next.Number = old.Number + 1
		for name, editions := range old.Streams {
			next.Streams[name] = slices.Clone(editions)
		}
	}
	for _, stream := range w.Streams {
		editions, err := s.define(next.Streams[stream.Name], stream, now)
		if err != nil {
			return nil, err
		}
		if editions != nil {
			next.Streams[stream.Name], changed = editions, true
		}
	}
	for name, editions := range next.Streams {
		last := &editions[len(editions)-1]
		if last.Removed || slices.ContainsFunc(w.Streams, func(s *config.Stream) bool { return s.Name == name }) {
			continue
		}
		if !slices.Contains(w.Removed, name) {
			return nil, fmt.Errorf("%w: stream %s is no longer in the streams files, but this app still runs it; "+
				"to end it, write `removed: [%s]`", ErrRefused, name, name)
		}
		before, err := s.defined.stream(last.Definition)
		if err != nil {
			return nil, err
		}
		schedule := last.schedule(before)
		last.end(windows.NextBoundary(max(now.Add(lead).UnixNano(), schedule.Start), schedule.Every), schedule)
		last.Removed, changed = true, true
	}
	if !changed {
		return nil, nil
	}
	return next, nil
}

// define returns the editions of a stream with its wanted definition as the last one, or nil if nothing changes.
func (s *State) define(editions []edition, stream *config.Stream, now time.Time) ([]edition, error) {
	if len(editions) == 0 {
		start := stream.Window.FirstStart(now) / int64(time.Second)
		return []edition{{Start: start, Definition: stream.Definition}}, nil
	}
	last := editions[len(editions)-1]
	if !last.Removed && last.Definition == stream.Definition {
		first := editions[0].Start
		if !stream.Window.StartNow && stream.Window.Start != first*int64(time.Second) {
			s.note("stream %s: start %s has no effect, because the stream began at %s",
				stream.Name, rfc3339(stream.Window.Start/int64(time.Second)), rfc3339(first))
		}
		return nil, nil
	}
	before, err := s.defined.stream(last.Definition)
	if err != nil {
		return nil, err
	}
	if ended(editions, before, stream, now) {
		s.note("stream %s has ended, so changes to its definition have no effect", stream.Name)
		return nil, nil
	}
	if editions, err = addEdition(editions, before, stream, now); err != nil {
		return nil, fmt.Errorf("%w: stream %s: %w", ErrRefused, stream.Name, err)
	}
	return editions, s.consequences(editions, stream)
}

// ended reports whether a stream's windows are over and the new definition adds none.
func ended(editions []edition, before, stream *config.Stream, now time.Time) bool {
	last := editions[len(editions)-1]
	end := last.schedule(before).End
	return !last.Removed && end != 0 && end <= now.Add(lead).UnixNano() &&
		stream.Window.End != 0 && stream.Window.End <= end
}

// addEdition ends the last edition of a stream, whose definition is was, and adds a new one. The new one begins at the
// first common boundary of both that is far enough ahead. Windows that begin before it are finished by the old
// definition.
func addEdition(editions []edition, was, stream *config.Stream, now time.Time) ([]edition, error) {
	if err := keepsFormat(was, stream); err != nil {
		return nil, err
	}
	last := &editions[len(editions)-1]
	before := last.schedule(was)
	next := edition{Number: last.Number + 1, Definition: stream.Definition}
	begin, every := now.Add(lead).UnixNano(), stream.Window.Every
	switch over := before.End != 0 && before.End <= begin; {
	case over && last.Removed:
		begin = windows.NextBoundary(begin, every)
	case over:
		begin = windows.NextBoundary(before.End, every)
	default:
		common := every / gcd(every, before.Every) * before.Every
		if common > farthestBoundary {
			return nil, fmt.Errorf("windows every %s and every %s have no common boundary within a year; "+
				"choose one that is a multiple of the other", before.Every, every)
		}
		begin = windows.NextBoundary(max(begin, before.Start), common)
		if begin <= before.Start {
			editions = editions[:len(editions)-1] // it never began
		} else {
			last.end(begin, before)
		}
	}
	if end := stream.Window.End; end != 0 && end < begin+int64(stream.Window.Size) {
		return nil, fmt.Errorf("its end, %s, is before the end of the first window under the new definition, %s",
			rfc3339(end/int64(time.Second)), rfc3339((begin+int64(stream.Window.Size))/int64(time.Second)))
	}
	next.Start = begin / int64(time.Second)
	return append(editions, next), nil
}

// end ends the edition with the windows that begin before a moment.
func (e *edition) end(at int64, s windows.Schedule) {
	until := at - int64(s.Every) + int64(s.Size)
	if s.End != 0 {
		until = min(until, s.End)
	}
	e.Until = until / int64(time.Second)
}

// keepsFormat returns an error if the same topic would get figures in another format, which its readers do not know.
func keepsFormat(before, next *config.Stream) error {
	if before.Output == next.Output && before.OutputFormat != next.OutputFormat {
		return fmt.Errorf("output.format: %s, but topic %s has figures in %s; want %s, or another topic",
			next.OutputFormat, next.Output, before.OutputFormat, before.OutputFormat)
	}
	return nil
}

func gcd(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// schedule returns the schedule of the edition's own windows. stream is the stream of its definition.
func (e *edition) schedule(stream *config.Stream) windows.Schedule {
	s := stream.Window.Schedule(e.Start * int64(time.Second))
	if until := e.Until * int64(time.Second); until != 0 && (s.End == 0 || until < s.End) {
		s.End = until
	}
	return s
}

// Editions returns the editions of all streams, by name and number.
func (s *State) Editions(w Wanted) ([]config.Edition, error) {
	e := s.newest()
	var all []config.Edition
	for _, name := range slices.Sorted(maps.Keys(e.Streams)) {
		for _, ed := range e.Streams[name] {
			var stream *config.Stream
			for _, own := range w.Streams {
				if own.Name == name && own.Definition == ed.Definition {
					stream = own
				}
			}
			if stream == nil {
				var err error
				if stream, err = s.defined.stream(ed.Definition); err != nil {
					return nil, err
				}
			}
			all = append(all, config.Edition{Stream: stream, Number: ed.Number, Schedule: ed.schedule(stream)})
		}
	}
	return all, nil
}

// consequences notes what the last edition of a stream costs because it follows another one.
func (s *State) consequences(editions []edition, stream *config.Stream) error {
	if len(editions) < 2 { // it replaces an edition that never began
		return nil
	}
	before, err := s.defined.stream(editions[len(editions)-2].Definition)
	if err != nil {
		return err
	}
	for _, text := range config.Consequences(before, stream) {
		s.note("stream %s: %s", stream.Name, text)
	}
	return nil
}

func (s *State) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

func rfc3339(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }

// EpochOf returns the number of the epoch that a record of the control topic holds, by the record's key. ok is false if
// it holds none.
func EpochOf(key []byte) (number int, ok bool) {
	text, ok := strings.CutPrefix(string(key), keyEpoch)
	if !ok {
		return 0, false
	}
	number, err := strconv.Atoi(text)
	return number, err == nil
}
