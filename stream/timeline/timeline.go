// Package timeline tells how the windows of an app stand: which are open, which wait and for what, and which are decided
// and how. All of it follows from what the app has agreed on, how far its workers have come, and the ledger. What
// anybody sent, and how much, is neither read nor told.
package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/windows"
)

// State is how a window stands.
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

// Run is a number of windows of one stream, one after the other, that stand alike.
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
	// Overdue says that the first of them should have been decided by now.
	Overdue bool `json:"overdue"`
	// Incomplete says that they were decided without a part of their input, which was lost.
	Incomplete bool `json:"incomplete"`
	// Input is the topic that the stream reads.
	Input string `json:"input"`
	// Partitions of the input are those that windows wait for, or of which something was lost. Empty in windows that are
	// incomplete: not known.
	Partitions []int `json:"partitions"`
	// Why says in words what the windows wait for, or why they stand so.
	Why []string `json:"why"`
}

// Partition is one partition of an input topic.
type Partition struct {
	Topic  string
	Number int
}

// Facts are what the timeline is made of.
type Facts struct {
	// Editions are the definitions of all streams, in the order of their names and numbers.
	Editions []control.Edition
	// Partitions is how many partitions of an input a window takes that is due at a moment, in Unix nanoseconds; 0: not
	// known yet.
	Partitions func(topic string, due int64) int
	// Lineage gives a budget and those whose spending it took over.
	Lineage func(budget string) []string
	// Only names the one stream that is told of; "": all are.
	Only string

	inputs  map[Partition]progress.Input
	decided map[edition][]Run
}

type edition struct {
	stream string
	number uint32
}

// kept is how many runs of decided windows are told of a definition: the last.
const kept = 3

// Progress takes in a record of the progress topic.
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

// Position is the offset up to which a partition of an input has been read; false if nobody has begun to.
func (f *Facts) Position(at Partition) (offset int64, ok bool) {
	in, ok := f.inputs[at]
	return in.Offset, ok
}

// Learn takes in an entry of the ledger. Those of one definition come in the order of their windows.
func (f *Facts) Learn(e ledger.Entry) {
	run := Run{Stream: e.Stream, Definition: e.Epoch, State: Released, Windows: 1, First: e.WindowEnd, Last: e.WindowEnd, Due: e.DueAt,
		Incomplete: e.Incomplete, Input: e.Input, Partitions: e.IncompleteIn, Why: []string{}}
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

func lost(e ledger.Entry) string {
	if len(e.IncompleteIn) == 0 {
		return "a part of its input was lost"
	}
	return "input of " + Numbers(e.Input, e.IncompleteIn) + " was lost"
}

// extend adds a run of one window, or lets the last run be longer.
func extend(runs []Run, next Run, every time.Duration) []Run {
	if n := len(runs); n > 0 {
		last := &runs[n-1]
		if last.Last.Add(every).Equal(next.First) && last.State == next.State && slices.Equal(last.Partitions, next.Partitions) && slices.Equal(last.Why, next.Why) {
			last.Last, last.Windows = next.Last, last.Windows+next.Windows
			return runs
		}
	}
	return append(runs, next)
}

// Runs are all windows up to a moment, by stream and definition, in the order of their ends: of the decided ones the last
// runs, of all others every window that has begun.
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

// after is the end of the last window of an edition that is decided.
func (f *Facts) after(e control.Edition) int64 {
	if runs := f.decided[edition{e.Stream.Name, e.Number}]; len(runs) > 0 {
		return runs[len(runs)-1].Last.UnixNano()
	}
	return e.Schedule.First().End - int64(e.Schedule.Every)
}

// undecided are the windows of an edition that have begun and are not in the ledger.
func (f *Facts) undecided(e control.Edition, now time.Time) []Run {
	var runs []Run
	topic, at := e.Stream.Input.Topic, now.UnixNano()
	through := f.through(e)
	for w, more := e.Schedule.After(f.after(e)); more && w.Start <= at; w, more = e.Schedule.After(w.End) {
		end, due := time.Unix(0, w.End).UTC(), e.Schedule.Due(w)
		run := Run{Stream: e.Stream.Name, Definition: e.Number, State: Open, Windows: 1, First: end, Last: end, Due: time.Unix(0, due).UTC(),
			Input: topic, Partitions: []int{}, Why: []string{}}
		if due <= at {
			run.State, run.Partitions = f.waiting(topic, due, w, through)
			run.Overdue = at-due > int64(e.Schedule.Grace+health.Patience)
		}
		runs = extend(runs, run, e.Schedule.Every)
	}
	return runs
}

// through are the ends of the last windows of an edition that each partition has cut.
func (f *Facts) through(e control.Edition) map[int]int64 {
	through := map[int]int64{}
	for at, in := range f.inputs {
		if at.Topic != e.Stream.Input.Topic {
			continue
		}
		if s, ok := in.Streams[progress.StreamKey(e.Stream.Name, e.Number)]; ok {
			through[at.Number] = s.Through
		}
	}
	return through
}

// waiting tells which partitions a window that is due waits for.
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

// turn says what windows that are cut everywhere wait for, if it is not the stage that decides them.
func (f *Facts) turn(run Run) []string {
	why := []string{}
	at := slices.IndexFunc(f.Editions, func(e control.Edition) bool { return e.Stream.Name == run.Stream && e.Number == run.Definition })
	budget := f.Editions[at].Stream.Budget.Name
	line := f.Lineage(budget)[1:]
	for _, e := range f.Editions {
		w, more := e.Schedule.After(f.after(e))
		due := time.Unix(0, e.Schedule.Due(w)).UTC()
		switch {
		case !more:
		case slices.Contains(line, e.Stream.Budget.Name):
			why = append(why, fmt.Sprintf("budget %s goes on where %s ends, which has not decided all windows of stream %s", budget, e.Stream.Budget.Name, e.Stream.Name))
		case e.Stream.Budget.Name == budget && e.Stream.Name != run.Stream && due.Before(run.Due):
			why = append(why, fmt.Sprintf("its turn comes after the window of stream %s that was due %s", e.Stream.Name, due.Format(time.RFC3339)))
		}
	}
	return why
}

// Numbers names partitions of a topic, of many the first.
func Numbers(topic string, partitions []int) string {
	const most = 5
	text, some := "", partitions[:min(most, len(partitions))]
	for i, p := range some {
		switch {
		case i == 0:
		case i == len(some)-1 && len(some) == len(partitions):
			text += " and "
		default:
			text += ", "
		}
		text += fmt.Sprint(p)
	}
	if more := len(partitions) - len(some); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	noun := "partitions"
	if len(partitions) == 1 {
		noun = "partition"
	}
	return fmt.Sprintf("%s %s of %s", noun, text, topic)
}

// Awaited are the partitions that windows wait for, sorted.
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
