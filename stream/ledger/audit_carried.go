package ledger

import (
	"cmp"
	"maps"
	"slices"

	"github.com/shopspring/decimal"
)

// definition is one of a stream.
type definition struct {
	stream string
	epoch  uint32
}

// defined is what the audit knows of the windows of a definition.
type defined struct {
	first, last booking
	own         *decimal.Decimal // what its budget had paid for the stream before the first one
}

// carry notes an entry that is about to be booked. What its definition should carry from the former one is known only at the end,
// since the two may be in different partitions. But what its own budget had paid is known only now.
func (a *Audit) carry(b booking) {
	e := b.entry
	of := definition{e.Stream, e.Epoch}
	d := a.defined[of]
	if d == nil {
		d = &defined{b, b, epsilon(a.books.account(e).StreamTotal(e.Stream))}
		if before, ok := a.since[e.Stream]; ok && before.Epoch == e.Epoch {
			d.first.entry = before
		}
		a.defined[of] = d
	}
	if have, want := carriedText(e.Before), carriedText(d.first.entry.Before); have != want {
		a.fault(WrongSum, b.at, "%s: by its former definitions the stream had spent %s, but the first entry of this one says %s", e.name(), have, want)
	}
	if !e.WindowEnd.Before(d.last.entry.WindowEnd) {
		d.last = b
	}
}

// compareCarried compares what definitions carry from former ones.
func (a *Audit) compareCarried() {
	all := slices.SortedFunc(maps.Keys(a.defined), func(x, y definition) int {
		return cmp.Or(cmp.Compare(x.stream, y.stream), cmp.Compare(x.epoch, y.epoch))
	})
	for i, of := range all {
		d := a.defined[of]
		before, begun := a.since[of.stream]
		if begun && before.Epoch >= of.epoch {
			continue // its first entry is older
		}
		var want *decimal.Decimal
		switch {
		case i > 0 && all[i-1].stream == of.stream:
			want = d.first.entry.carried(a.defined[all[i-1]].last.entry, d.own)
		case begun:
			want = d.first.entry.carried(before, d.own)
		}
		if have, want := carriedText(d.first.entry.Before), carriedText(want); have != want {
			a.fault(WrongSum, d.first.at, "%s: by its former definitions the stream had spent %s, but their entries add up to %s", d.first.entry.name(), have, want)
		}
	}
}

func carriedText(before *decimal.Decimal) string {
	if before == nil {
		return "0"
	}
	return before.String()
}
