package audit

import (
	"cmp"
	"fmt"
)

// Position says where a record was read.
type Position struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (p Position) String() string { return fmt.Sprintf("%s/%d@%d", p.Topic, p.Partition, p.Offset) }

func comparePositions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
}

// The faults that an audit finds.
const (
	EntryUnreadable  = "entry_unreadable"  // cannot be decoded, or contradicts itself
	ChargedTwice     = "charged_twice"     // a second entry for one window of a stream
	WrongSum         = "wrong_sum"         // spent or left does not follow from the earlier entries
	OverLimit        = "over_limit"        // paid although it did not fit
	WronglyWithheld  = "wrongly_withheld"  // withheld for its budget although it fitted
	WrongCap         = "wrong_cap"         // charged under another cap than the windows before, and not in a new era
	OutputUnreadable = "output_unreadable" // not a record of louver
	OutputUnknown    = "output_unknown"    // in no entry
	OutputDiffers    = "output_differs"    // the entry differs
	OutputTwice      = "output_twice"      // committed a second time

	CheckpointUnreadable = "checkpoint_unreadable" // cannot be decoded, or is not of this partition
	CheckpointDiffers    = "checkpoint_differs"    // does not follow from the entries

	WatchDiffers = "watch_differs" // another instance looked or was armed than follows from the earlier entries

	PriorDiffers = "prior_differs" // the measures of a window's draws do not follow from the entries before it

	BandDiffers = "band_differs" // a band does not follow from the error of its value and the figures before it

	// the groups of a window, or the names that joined or left, do not follow from what was found
	ListDiffers = "list_differs"

	RollupDiffers = "rollup_differs" // a roll-up is not the sum of the windows before it
	// a figure does not follow from the numbers of the histogram that it is computed from
	FigureDiffers = "figure_differs"
)

// What an audit notes although it is no fault.
const (
	// a period of a running total or a roll-up is not that of this program's time zones
	PeriodDiffers = "period_differs"
)

// Fault is one discrepancy, or a note.
type Fault struct {
	Kind string   `json:"kind"`
	At   Position `json:"at"`
	What string   `json:"what"`
}

func (f Fault) String() string { return fmt.Sprintf("%s: %s: %s", f.At, f.Kind, f.What) }

// Findings are the outcome of an audit. Its JSON names are public.
type Findings struct {
	OK bool `json:"ok"`
	// Entries and Outputs count the records that were read, Matched the outputs that agree with their entries.
	Entries int64 `json:"entries"`
	Outputs int64 `json:"outputs"`
	Matched int64 `json:"matched"`
	// Earlier counts the outputs of windows that the checkpoints cover. They are not compared if the audit begins
	// there.
	Earlier int64 `json:"earlier,omitempty"`
	// Checkpoints counts the checkpoints that follow from their entries.
	Checkpoints int64 `json:"checkpoints"`
	// Priors counts the windows whose measures follow from the entries before them.
	Priors int64 `json:"priors"`
	// Instances counts the armed instances of watches, each charged once, and Firings those that fired.
	Instances int64 `json:"instances"`
	Firings   int64 `json:"firings"`
	// Pending values wait for publication. Absent values are missing although later ones of their stream are published:
	// they left the output topic by retention or compaction, or were never in it.
	Pending int64 `json:"pending"`
	Absent  int64 `json:"absent"`
	// Faults are the first thousand; FaultCount counts all.
	FaultCount int64   `json:"fault_count"`
	Faults     []Fault `json:"faults"`
	// Notes are the first thousand things that somebody should know although the ledger is right.
	Notes []Fault `json:"notes,omitempty"`
}

// mostFaults is how many faults are listed, and how many notes. Each takes memory, and nobody reads more.
const mostFaults = 1000

func (f *Findings) fault(kind string, at Position, format string, args ...any) {
	f.FaultCount++
	if len(f.Faults) < mostFaults {
		f.Faults = append(f.Faults, Fault{kind, at, fmt.Sprintf(format, args...)})
	}
}

func (f *Findings) note(kind string, at Position, format string, args ...any) {
	if len(f.Notes) < mostFaults {
		f.Notes = append(f.Notes, Fault{kind, at, fmt.Sprintf(format, args...)})
	}
}
