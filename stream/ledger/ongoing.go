package ledger

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// ongoing is a kind that is drawn at the end of each leaf of an instance: a [Total], a [SoFar] or an [Active]. Its
// values follow from all draws of the instance, and those are in the entries.
type ongoing interface {
	kind
	// leaf is the number of the leaf that holds the window, or 0 if no instance looks, and since is when the instance
	// began. The leaf ends with the window if that has records.
	leaf() (number int64, since record.Second)
	// draw records what is drawn for each number of each group at the end of a leaf.
	draw(draws [][]*big.Int)
}

// Leaf returns the number of the leaf that holds the window of an ongoing figure, from 1, and whether it ends with the
// window. It is 0 if no instance looks, and for other figures.
func (s Continual) Leaf(e Entry) (number int64, ends bool) {
	k, ok := s.kind().(ongoing)
	if !ok {
		return 0, false
	}
	number, _ = k.leaf()
	return number, k.publishes(s, e, "")
}

// Since returns when the instance of an ongoing figure began that looks at the window.
func (s Continual) Since() time.Time {
	_, since := s.kind().(ongoing).leaf()
	return since.Time
}

// Draw records what is drawn at the end of a leaf for each number of each group, group by group. [State.Finish]
// computes what follows. The figure must be an ongoing one.
func (s Continual) Draw(draws [][]*big.Int) { s.kind().(ongoing).draw(draws) }

// describes checks that a kind describes its own figure, which is drawn by one of some mechanisms.
func (s Continual) describes(of record.Series, mechanisms []string) error {
	if of.Name != s.Name || !slices.Contains(mechanisms, of.Mechanism) || len(s.Cost) != 1 ||
		!s.Cost[0].Epsilon.Equal(of.Epsilon) {
		return fmt.Errorf("it describes release %q by %q with epsilon %s; want its own, at its own cost", of.Name,
			of.Mechanism, of.Epsilon)
	}
	return nil
}

// ongoingValue is a value with its band and its quality. A number of users is never negative.
func ongoingValue(raw decimal.Decimal, error95 *decimal.Decimal, users bool) Value {
	v, limits := Value{Value: &raw, Error95: error95}, Limits{}
	if users {
		v.Raw, v.Value, limits = &raw, new(decimal.Max(raw, decimal.Zero)), fromZero
	}
	v.Band = NewBand(v, false, limits)
	v.Quality = string(mechanisms.JudgeTotal(v.Value.InexactFloat64(), error95.InexactFloat64()))
	return v
}

// whole returns draws as whole numbers.
func whole(draws ...decimal.Decimal) []*big.Int {
	all := make([]*big.Int, len(draws))
	for i, y := range draws {
		all[i] = y.BigInt()
	}
	return all
}

// ongoingBook is what the next values of an instance follow from.
type ongoingBook interface {
	// leaves says when the instance began, how many leaves are finished, and how many seconds one has, if they are
	// charged one by one.
	leaves() (since, finished, seconds int64)
}

// OpenOngoing is an instance of an ongoing figure that has not ended. Times are Unix nanoseconds.
type OpenOngoing struct {
	Number int64
	// Since is when it began: the start of its first window. Until is the end of its period, if it has one.
	Since, Until int64
	// From and Looked are the ends of the first and the last window that it looked at.
	From, Looked int64
	// Leaf is how many leaves are finished.
	Leaf int64
}

// OpenOngoing returns the instance of an ongoing figure that has not ended, or false if there is none.
func (b *Books) OpenOngoing(budget, stream, name, definition string) (o OpenOngoing, ok bool) {
	figure := continualName{budget, stream, name}
	number := b.lasting.last(figure, definition, nil)
	a := b.lasting.get(figure, number)
	if a == nil || a.Over {
		return o, false
	}
	o = OpenOngoing{Number: number, Until: a.Until, From: a.From, Looked: a.Looked}
	of := a.book()
	if of == nil {
		return OpenOngoing{}, false
	}
	o.Since, o.Leaf, _ = of.leaves()
	return o, true
}
