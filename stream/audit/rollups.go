package audit

import "github.com/louver/louver/stream/ledger"

// rollups compares the roll-ups of entries with the sums of the histograms in the entries before them.
type rollups struct {
	found *Findings
	sums  map[int]*ledger.Rollups // by partition
}

func newRollups(found *Findings) *rollups { return &rollups{found, map[int]*ledger.Rollups{}} }

// begin takes the sums that a checkpoint holds.
func (r *rollups) begin(f *ledger.State) { r.sums[f.Partition()] = f.Rollups() }

func (r *rollups) compare(at Position, e ledger.Entry) {
	sums := r.sums[at.Partition]
	if sums == nil {
		sums = ledger.NewRollups()
		r.sums[at.Partition] = sums
	}
	want, err := sums.Next(e)
	switch {
	case err != nil:
		r.found.fault(RollupDiffers, at, "%v", err)
		return
	case !e.SameRollups(want):
		r.found.fault(RollupDiffers, at, "%s: its roll-ups are not the sums of the windows before it", e.Name())
	}
	if err := sums.Add(e); err != nil {
		r.found.fault(RollupDiffers, at, "%v", err)
	}
}
