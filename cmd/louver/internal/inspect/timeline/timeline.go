// Package timeline says in which state an app's windows are: which are open, which wait and for what, and which are
// decided and how. The state follows from the app's definitions, the progress of its workers, and the ledger. The
// package never reads what people sent, or how much.
package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// State is the state of a window.
type State string

// The states of a window, in the order in which it passes through them.
const (
	// Open: it is not due. Events may still count in it.
	Open State = "open"
	// Waiting: it is due, and not all partitions of the input have been read up to its cut.
	Waiting State = "waiting"
	// Cut: all partitions are cut, and it is not decided.
	Cut State = "cut"
	// Released and Withheld: it is in the ledger, with figures or without.
	Released State = "released"
	Withheld State = "withheld"
)

// Run is a series of consecutive windows of one stream in the same state.
type Run struct {
	Stream string `json:"stream"`
	// Definition counts the stream's definitions, from 0.
	Definition uint32 `json:"definition"`
	State      State  `json:"state"`
	Windows    int64  `json:"windows"`
	// First and Last are the ends of the first window and of the last.
	First time.Time `json:"first_end"`
	Last  time.Time `json:"last_end"`
	// Due is when the first of them may be closed.
	Due time.Time `json:"due_at"`
	// Overdue says that the first of them should have been decided already.
	Overdue bool `json:"overdue"`
	// Incomplete says that they were decided without a part of their input, which was lost.
	Incomplete bool `json:"incomplete"`
	// Input is the topic that the stream reads.
	Input string `json:"input"`
	// Partitions are those of the input that windows wait for, or that lost something. It is empty for an incomplete
	// window if they are unknown.
	Partitions []int `json:"partitions"`
	// Why says in words what the windows wait for, or why they are in this state.
	Why []string `json:"why"`
}

// Partition is one partition of an input topic.
type Partition struct {
	Topic  string
	Number int
}

// Facts collects the input of the timeline.
type Facts struct {
	// Editions are the definitions of all streams, in the order of their names and numbers.
	Editions []config.Edition
	// Partitions returns from how many partitions of an input a window is made that is due at a moment, in Unix
	// nanoseconds. 0 means not known yet.
	Partitions func(topic string, due int64) int
	// Lineage returns a budget and those whose spending it has taken over.
	Lineage func(budget string) []string
	// Only names the stream to report; "" means all.
	Only string

	inputs  map[Partition]progress.Input
	decided map[edition][]Run
	last    map[edition]int64 // the end of the last decided window, as Decided has said
}

type edition struct {
	stream string
	number uint32
}

// kept is how many runs of decided windows are reported for a definition: the last ones.
const kept = 3

// Progress adds a record of the progress topic.
func (f *Facts) Progress(key, value []byte) error {
	topic, partition, ok := progress.ParseInputKey(string(key))
	if !ok {
		return nil
	}
	in, err := progress.DecodeInput(value)
	if err != nil {
		return err
	}
	if f.inputs == nil {
		f.inputs = map[Partition]progress.Input{}
	}
	f.inputs[Partition{topic, partition}] = in
	return nil
}

// Position returns the offset up to which a partition of an input has been read. ok is false if reading has not begun.
func (f *Facts) Position(at Partition) (offset int64, ok bool) {
	in, ok := f.inputs[at]
	return in.Offset, ok
}

// Again says what a run's windows wait for in a partition whose broker was away; nil: they do not wait.
func (f *Facts) Again(r Run, partition int, now time.Time) *progress.Again {
	a := f.inputs[Partition{r.Input, partition}].Streams[config.EditionKey(r.Stream, r.Definition)].Again
	if a == nil || !now.Before(a.Until) {
		return nil
	}
	return a
}

// Asks says that a run's windows wait in a partition for the schema registry; nil: they do not.
func (f *Facts) Asks(r Run, partition int) *progress.Asks {
	return f.inputs[Partition{r.Input, partition}].Streams[config.EditionKey(r.Stream, r.Definition)].Asks
}

// Learn adds an entry of the ledger. Entries of one definition come in the order of their windows.
func (f *Facts) Learn(e ledger.Entry) {
	run := Run{Stream: e.Stream, Definition: e.Epoch, State: Released, Windows: 1, First: e.WindowEnd,
		Last: e.WindowEnd, Due: e.DueAt, Incomplete: e.Incomplete, Input: e.Input, Partitions: e.IncompleteIn,
		Why: []string{}}
	if e.Reason != "" {
		run.State, run.Why = Withheld, []string{fmt.Sprintf("budget %s is exhausted", e.Budget)}
	}
	if e.Incomplete {
		run.Why = append(run.Why, lost(e))
	}
	if run.Partitions == nil {
		run.Partitions = []int{}
	}
	if f.decided == nil {
		f.decided = map[edition][]Run{}
	}
	of := edition{e.Stream, e.Epoch}
	runs := extend(f.decided[of], run, e.Every)
	f.decided[of] = runs[max(0, len(runs)-kept):]
}

// Decided says which window of an edition is the last that the ledger holds. Its entry may be too old to be learned.
func (f *Facts) Decided(e config.Edition, last time.Time) {
	if f.last == nil {
		f.last = map[edition]int64{}
	}
	f.last[edition{e.Stream.Name, e.Number}] = last.UnixNano()
}

func lost(e ledger.Entry) string {
	if len(e.IncompleteIn) == 0 {
		return "a part of its input was lost"
	}
	return "input of " + Numbers(e.Input, e.IncompleteIn) + " was lost"
}

// extend adds a run of one window, or lengthens the last run.
func extend(runs []Run, next Run, every time.Duration) []Run {
	if n := len(runs); n > 0 {
		last := &runs[n-1]
		if last.Last.Add(every).Equal(next.First) && last.State == next.State &&
			slices.Equal(last.Partitions, next.Partitions) && slices.Equal(last.Why, next.Why) {
			last.Last, last.Windows = next.Last, last.Windows+next.Windows
			return runs
		}
	}
	return append(runs, next)
}

// Runs returns the windows up to a moment, by stream and definition, in the order of their ends: the last runs of
// decided windows, and every other window that has begun.
func (f *Facts) Runs(now time.Time) []Run {
	var all []Run
	for _, e := range f.Editions {
		if f.Only != "" && f.Only != e.Stream.Name {
			continue
		}
		all = append(all, f.decided[edition{e.Stream.Name, e.Number}]...)
		all = append(all, f.undecided(e, now)...)
	}
	for i := range all {
		if all[i].State == Cut {
			all[i].Why = f.turn(all[i])
		}
	}
	return all
}

// after returns the end of an edition's last decided window.
func (f *Facts) after(e config.Edition) int64 {
	of := edition{e.Stream.Name, e.Number}
	if runs := f.decided[of]; len(runs) > 0 {
		return runs[len(runs)-1].Last.UnixNano()
	}
	if last, ok := f.last[of]; ok {
		return last
	}
	return e.Schedule.First().End - int64(e.Schedule.Every)
}

// undecided returns the windows of an edition that have begun and are not in the ledger.
func (f *Facts) undecided(e config.Edition, now time.Time) []Run {
	var runs []Run
	topic, at := e.Stream.Input.Topic, now.UnixNano()
	through := f.through(e)
	for w, more := e.Schedule.After(f.after(e)); more && w.Start <= at; w, more = e.Schedule.After(w.End) {
		end, due := time.Unix(0, w.End).UTC(), e.Schedule.Due(w)
		run := Run{Stream: e.Stream.Name, Definition: e.Number, State: Open, Windows: 1, First: end, Last: end,
			Due:   time.Unix(0, due).UTC(),
			Input: topic, Partitions: []int{}, Why: []string{}}
		if due <= at {
			run.State, run.Partitions = f.waiting(topic, due, w, through)
			run.Overdue = at-due > int64(e.Schedule.Grace+health.Patience)
		}
		runs = extend(runs, run, e.Schedule.Every)
	}
	return runs
}

// through returns, for each partition, the end of the last window of an edition that it has cut.
func (f *Facts) through(e config.Edition) map[int]int64 {
	through := map[int]int64{}
	for at, in := range f.inputs {
		if at.Topic != e.Stream.Input.Topic {
			continue
		}
		if s, ok := in.Streams[config.EditionKey(e.Stream.Name, e.Number)]; ok {
			through[at.Number] = s.Through
		}
	}
	return through
}

// waiting says which partitions a due window waits for.
func (f *Facts) waiting(topic string, due int64, w windows.Window, through map[int]int64) (State, []int) {
	missing := []int{}
	n := f.Partitions(topic, due)
	for p := range n {
		if t, ok := through[p]; !ok || t < w.End {
			missing = append(missing, p)
		}
	}
	if n > 0 && len(missing) == 0 {
		return Cut, missing
	}
	return Waiting, missing
}

// turn says what else than the deciding stage itself holds up windows that are cut everywhere: one line for each cause.
func (f *Facts) turn(run Run) []string {
	at := slices.IndexFunc(f.Editions,
		func(e config.Edition) bool { return e.Stream.Name == run.Stream && e.Number == run.Definition })
	budget := f.Editions[at].Stream.Budget.Name
	line := f.Lineage(budget)[1:]
	var ending, before []string // streams
	var first time.Time         // of the windows that come before
	former := ""
	for _, e := range f.Editions {
		w, more := e.Schedule.After(f.after(e))
		if !more {
			continue
		}
		due := time.Unix(0, e.Schedule.Due(w)).UTC()
		switch {
		case slices.Contains(line, e.Stream.Budget.Name):
			former = cmp.Or(former, e.Stream.Budget.Name)
			ending = append(ending, e.Stream.Name)
		case e.Stream.Budget.Name == budget && e.Stream.Name != run.Stream && due.Before(run.Due):
			before = append(before, e.Stream.Name)
			if len(before) == 1 || due.Before(first) { // the one that is decided next is named
				first, before[0], before[len(before)-1] = due, e.Stream.Name, before[0]
			}
		}
	}
	why := []string{}
	if len(ending) > 0 {
		why = append(why,
			fmt.Sprintf("budget %s goes on where %s ends, which has not decided all windows of stream %s%s", budget,
				former, ending[0], others(ending)))
	}
	if len(before) > 0 {
		why = append(why, fmt.Sprintf("its turn comes after the window of stream %s that was due %s%s", before[0],
			first.Format(time.RFC3339), others(before)))
	}
	return why
}

// others says how many streams there are besides the first.
func others(streams []string) string {
	distinct := map[string]bool{}
	for _, s := range streams {
		distinct[s] = true
	}
	if len(distinct) == 1 {
		return ""
	}
	return ", and " + english.Plural(len(distinct)-1, "other stream", "")
}

// Numbers names partitions of a topic, or the first of many.
func Numbers(topic string, partitions []int) string {
	const most = 5
	var some []string
	for _, p := range partitions[:min(most, len(partitions))] {
		some = append(some, strconv.Itoa(p))
	}
	if more := len(partitions) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s %s of %s", english.PluralWord(len(partitions), "partition", ""),
		english.WordSeries(some, "and"), topic)
}

// Awaited returns the partitions that windows wait for, sorted.
func Awaited(runs []Run) []Partition {
	seen := map[Partition]bool{}
	for _, r := range runs {
		if r.State != Waiting {
			continue
		}
		for _, p := range r.Partitions {
			seen[Partition{r.Input, p}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
	})
}
