package config

import (
	"errors"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows/period"
	"github.com/shopspring/decimal"
)

// Schema is the JSON Schema (draft 2020-12) of streams files. It covers keys, types and ranges. Only [Parse] checks how
// keys fit together.
func Schema() map[string]any { return fileForm.JSONSchema("Louver streams file") }

// Reference returns the reference of streams files, in Markdown.
func Reference() string { return fileForm.Reference() }

// refuse places an error of package mechanisms at the key that it is about.
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

// Number reads a decimal number exactly.
func Number(text string) (decimal.Decimal, error) { return form.ParseNumber(text) }

// Duration writes a duration as streams files do: 15m instead of 15m0s, 7d instead of 168h0m0s.
func Duration(d time.Duration) string { return period.Text(d) }
