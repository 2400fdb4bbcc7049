package check

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// tooMuch is the ε of a single release, watch or window above which check warns. At odds of e^10 an attacker is almost
// certain. A day is held to more: see [warner.day].
var tooMuch = decimal.NewFromInt(10)

// largeDelta is the δ above which check warns.
var largeDelta = decimal.New(1, -5)

// warner collects warnings about settings that are allowed but seldom intended.
type warner []*form.Mistake

func (w *warner) at(where, key, format string, args ...any) {
	*w = append(*w, form.MistakeAt(where, key, format, args...))
}

// keyOf is the path of a key of a stream.
func keyOf(s *config.Stream, format string, args ...any) string {
	return fmt.Sprintf("streams[%s].%s", s.Name, fmt.Sprintf(format, args...))
}

// hardlyAnyone warns of an ε that protects hardly anyone.
func (w *warner) hardlyAnyone(where, key string, epsilon decimal.Decimal) {
	if epsilon.Cmp(tooMuch) > 0 {
		w.at(where, key, "ε %s hardly protects anyone; want 1 or less", epsilon)
	}
}
