package budget

import (
	"fmt"
	"math"
)

// Open is the end of a held charge that still goes on.
const Open = math.MaxInt64

// Held is a charge that lies on a stretch of time instead of a window: that of a watch, from arming to firing. One
// person loses its price once over the whole stretch, so that it counts in full in every period that the stretch
// touches.
type Held struct {
	// ID tells it apart from every other one of the account, such as "latency/slow/3": stream, watch and instance.
	ID     string
	Stream string
	// From and To are the stretch [From, To), in Unix nanoseconds. To is Open as long as it goes on and its end is not
	// known.
	From, To int64
	// Items are the costs in canonical order.
	Items []Item
}

// held is a Held in an account.
type held struct {
	Held
	unit *unit
}

// counts says whether the stretch touches (from, to]. One that ended where it began counts as a window does that ends
// there.
func (h *held) counts(from, to int64) bool { return h.From <= to && h.To > from }

// Hold charges the account with a held charge, whether or not it fits. It fails where the ID is known already, the
// stretch ends before it begins, or an item is not a cost.
func (a *Account) Hold(h Held) error {
	items, err := Canonical(h.Items)
	if err != nil {
		return fmt.Errorf("held charge %q: %w", h.ID, err)
	}
	if h.To < h.From {
		return fmt.Errorf("held charge %q: it ends at %d, before it begins at %d", h.ID, h.To, h.From)
	}
	if a.byID[h.ID] != nil {
		return fmt.Errorf("held charge %q: it is charged a second time", h.ID)
	}
	if h.Items = items; len(items) > 0 {
		one := &held{h, a.unit(price(items), items)}
		a.held, a.byID[h.ID] = append(a.held, one), one
	}
	return nil
}

// Let ends a held charge: one that is open, or that would end later. It fails if there is none with
// that ID.
func (a *Account) Let(id string, to int64) error {
	h := a.byID[id]
	if h == nil || h.To < to {
		return fmt.Errorf("held charge %q: it does not go on, and cannot end", id)
	}
	if to < h.From {
		return fmt.Errorf("held charge %q: it ends at %d, before it begins at %d", id, to, h.From)
	}
	h.To = to
	return nil
}

// FitsHeld says whether the limit would still hold, in every period, with h beside what is charged: one that is open
// also counts in all periods to come. An exact match fits. It counts the charges in plus as if they were added; they
// must not end after h begins.
func (a *Account) FitsHeld(h Held, plus ...Charge) bool {
	unit := a.filter.sumOf(h.Items)
	reach := int64(math.MaxInt64)
	if a.limit.Per != 0 {
		reach = after(h.To, int64(a.limit.Per))
	}
	return a.fitsThrough(h.From, reach, func(at int64) sum {
		s := a.period(at, "", plus)
		s.add(unit, 1)
		return s
	})
}
