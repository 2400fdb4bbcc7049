package budget

import (
	"fmt"
	"math"
)

// Open is the end of a held charge that goes on.
const Open = math.MaxInt64

// Held is a charge for a stretch of time instead of a window, such as that of a watch, from arming to firing. One
// person loses its price once over the whole stretch, so it counts in full in every period that the stretch touches.
type Held struct {
	// ID is unique within the account, such as "latency/slow/3": stream, watch and instance.
	ID     string
	Stream string
	// From and To are the stretch [From, To), in Unix nanoseconds. To is [Open] while the end is not known.
	From, To int64
	// Items are the costs in canonical order.
	Items []Item
	// Drawn says that what was drawn before decides whether and when this is charged, as for a watch that is armed again
	// once it has fired. Otherwise it follows from public figures alone.
	Drawn bool
}

// held is a Held in an account.
type held struct {
	Held
	unit *unit
}

// counts reports whether the stretch touches (from, to]. One that ended where it began counts like a window that ends
// there.
func (h *held) counts(from, to int64) bool { return h.From <= to && h.To > from }

// Hold charges the account with a held charge, whether or not it fits. It fails if the ID is known already, if the
// stretch ends before it begins, or if an item is not a valid cost.
func (a *Account) Hold(h Held) error {
	items, err := Canonical(h.Items)
	if err != nil {
		return fmt.Errorf("held charge %q: %w", h.ID, err)
	}
	if h.To < h.From {
		return fmt.Errorf("held charge %q: it ends at %d, before it begins at %d", h.ID, h.To, h.From)
	}
	if a.byID[h.ID] != nil {
		return fmt.Errorf("held charge %q: it is already charged", h.ID)
	}
	if h.Items = items; len(items) > 0 {
		one := &held{h, a.unit(price(items), items)}
		a.held, a.byID[h.ID] = append(a.held, one), one
	}
	return nil
}

// EndHeld ends a held charge that is open or would end later. It fails if there is no such charge with that ID.
func (a *Account) EndHeld(id string, to int64) error {
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

// FitsHeld reports whether the limit would still hold, in every period, if h were added. A charge that is open also
// counts in all periods to come. An exact match fits. It counts the charges in plus as if they were added. They must
// not end after h begins.
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
