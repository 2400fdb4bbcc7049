package audit

import (
	"github.com/louver/louver/stream/ledger"
)

// Audit compares a ledger with its checkpoints and with the outputs. Feed it the checkpoints, then every committed
// record of the ledger, in order within each partition, and of the output topics, in any order. Then ask for
// [Audit.Findings]. If the topics are still being written, read the ends of the output topics before those of the
// ledger, so that the entry of every output is included.
//
// It keeps a hash for each value, not the values. An Audit is not safe for concurrent use.
type Audit struct {
	// Learner recomputes the measures of adaptive draws. If it is nil, they are not compared. Set it before the first
	// entry.
	Learner Learner
	// Calendar gives the periods of running totals and roll-ups. If it is nil, they are not compared. Set it before the
	// first entry.
	Calendar Calendar

	found       *Findings
	outputs     *outputs
	entries     *entries
	checkpoints *checkpoints
	priors      *priors
	periods     *periods
}

// New begins an audit.
func New() *Audit {
	found := &Findings{}
	return &Audit{
		found: found, outputs: newOutputs(found), entries: newEntries(found), checkpoints: newCheckpoints(found),
		priors: newPriors(found), periods: newPeriods(found),
	}
}

// Begin makes the audit begin after the last entries that checkpoints cover. It takes their books as they are, and
// [Audit.Findings] say nothing about what they cover. Call it before anything else, with states from ledger/log. Then
// pass the entries that follow in those partitions. Other partitions are read from their first entry.
//
// Then neither the checkpoints are proven, nor what adaptive draws learnt.
func (a *Audit) Begin(states []*ledger.State) {
	a.entries.begin(states)
	for _, name := range a.entries.books.Streams() {
		latest, _ := a.entries.books.Latest(name)
		a.outputs.since[name] = latest.WindowEnd
		for lane, end := range a.entries.books.Lanes(name) {
			a.outputs.since[name+"/"+lane] = end
		}
	}
}

// Checkpoint takes the checkpoint of a partition of the ledger. Call it before the first [Audit.Entry]. The checkpoint
// is compared with the state after the entries. The topic of checkpoints is compacted, so each partition has only its
// last checkpoint.
func (a *Audit) Checkpoint(at Position, app string, partition int, text []byte) {
	a.checkpoints.take(at, app, partition, text)
}

// Entry takes the next record of the ledger.
func (a *Audit) Entry(at Position, key, value []byte) {
	a.found.Entries++
	e, err := ledger.Decode(value)
	if err != nil {
		a.found.fault(EntryUnreadable, at, "%v", err)
		return
	}
	if string(key) != e.Budget {
		a.found.fault(EntryUnreadable, at, "%s: the key is %q; want its budget %q", e.Name(), key, e.Budget)
	}
	records, err := e.Records()
	if err != nil {
		a.found.fault(EntryUnreadable, at, "%v", err)
		return
	}
	a.outputs.expect(e, records)
	a.checkpoints.prove(at, e, value)
	if a.Learner != nil {
		a.priors.learn(a.Learner, at, e, a.entries.history(at.Partition).Recent(e.Stream))
	}
	if a.Calendar != nil {
		a.periods.compare(a.Calendar, at, e)
	}
	a.entries.add(at, e)
}

// Output takes a committed record of an output topic. The value of a record in Avro is its [record.AvroContent].
func (a *Audit) Output(at Position, key, value []byte) {
	a.found.Outputs++
	a.outputs.add(at, key, value)
}

// Ended takes a committed record of an output topic that ends a series: it has an id and no value.
func (a *Audit) Ended(at Position, key []byte, id string) {
	a.found.Outputs++
	a.outputs.addEnded(at, key, id)
}

// Findings ends the audit.
func (a *Audit) Findings() Findings {
	a.entries.finish()
	a.checkpoints.finish()
	a.outputs.finish()
	a.found.OK = a.found.FaultCount == 0
	if a.found.Faults == nil {
		a.found.Faults = []Fault{}
	}
	return *a.found
}
