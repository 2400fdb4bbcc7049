package chaostest

import "github.com/louver/louver/stream/ledger"

// check judges what a run leaves behind.
func (e evidence) check() verdict {
	c := &checker{evidence: e, entries: map[string]ledger.Entry{}, drawn: map[string][]byte{},
		follows: map[string]definition{}}
	c.verdict.faults = e.faults
	c.checkLedger()
	c.checkOutputs()
	c.checkSchedule()
	c.checkFigures()
	c.checkCaps()
	c.checkWatches()
	c.checkTotals()
	c.checkFound()
	c.checkBudgets()
	c.windows = len(c.entries)
	return c.verdict
}
