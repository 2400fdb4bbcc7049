package ledger

import "cmp"

// row is a row of a stream under one definition.
type row struct {
	epoch uint32
	name  string
}

func (r row) compare(o row) int {
	return cmp.Or(cmp.Compare(r.epoch, o.epoch), cmp.Compare(r.name, o.name))
}

func (e Entry) row() row { return row{e.Epoch, e.Row} }
