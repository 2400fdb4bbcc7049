package parse

import (
	"errors"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/form"
)

// refuse reports an error of package mechanisms at the key that it is about.
func refuse(m form.Mapping, err error) {
	e := (*mechanisms.Error)(nil)
	if !errors.As(err, &e) {
		m.Refuse("%s", err)
		return
	}
	if v, given := m.Values[e.Parameter]; given {
		v.Refuse("%s; want %s", e.Value, e.Want)
		return
	}
	m.Refuse("%s", e)
}

// ceil rounds a figure up.
func ceil(d decimal.Decimal) string { return d.RoundUp(6).String() }
