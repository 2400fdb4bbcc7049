package release

import (
	"context"
	"math"
	"slices"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// before returns what earlier budgets of a program's stream had paid for it: budgets whose spending the present one
// does not count. ok is false while one of their windows that is due before w is undecided, because their sum is not
// known yet.
//
// Waiting ends: a window waits only for windows that are due earlier, and a budget decides its windows in the order in
// which they are due. It leaves out those of their windows that are due later, because the grace was longer.
func (cs *charges) before(ctx context.Context, p *program, w windows.Window) (paid ledger.Before, ok bool, err error) {
	stream, line := p.stream.Name, cs.Lineage(p.stream.Budget.Name)
	latest, known := cs.own.fold.Books.Latest(stream)
	if known = known && slices.Contains(line, latest.Budget); known && latest.Epoch == p.epoch {
		return latest.Before, true, nil
	}
	for _, e := range slices.Backward(cs.Editions) {
		if e.Stream.Name != stream || e.Number >= p.epoch || slices.Contains(line, e.Stream.Budget.Name) {
			continue
		}
		if known && e.Number < latest.Epoch {
			break
		}
		books, err := cs.told(ctx, e.Stream.Budget.Name)
		if err != nil {
			return nil, false, err
		}
		decided := int64(math.MinInt64)
		if last, ok := books.Last(stream, e.Number); ok {
			decided = last.UnixNano()
		}
		if next, ok := e.Schedule.After(decided); ok && e.Schedule.Due(next) < p.schedule.Due(w) {
			return nil, false, nil
		}
		if decided == math.MinInt64 { // it never began
			continue
		}
		return books.Paid(e.Stream.Budget.Name, stream).Without(line), true, nil
	}
	if known {
		paid = latest.Before
	}
	return paid, true, nil
}

// told returns the books that hold a budget, whichever it is, read to the end of its partition.
func (cs *charges) told(ctx context.Context, budget string) (*ledger.Books, error) {
	at := cs.Place(budget)
	if at == cs.own.number {
		return cs.own.fold.Books, nil
	}
	p := cs.formers[at]
	if p != nil {
		_, err := cs.readOn(ctx, p, cs.Fetch)
		return p.fold.Books, err
	}
	p = &partition{number: at}
	_, err := cs.readPartition(ctx, p, cs.Fetch)
	if err != nil {
		return nil, err
	}
	cs.formers[at] = p
	return p.fold.Books, nil
}
