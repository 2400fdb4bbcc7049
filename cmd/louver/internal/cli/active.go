package cli

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// ActiveQuery returns what the flags ask for about users seen within so much time, with a value every update. delta is
// the δ at which its cost is told, or 0. With a δ the budget sums up ρ, so the usual mechanism is the Gaussian one,
// whose cost has no bound in ε alone. The error says which flag is wrong, and what would be right. The command adds the
// grid and ε.
func (f QueryFlags) ActiveQuery(within, window, update time.Duration) (q mechanisms.ActiveQuery, delta decimal.Decimal,
	err error) {
	fail := func(format string, args ...any) (mechanisms.ActiveQuery, decimal.Decimal, error) {
		return q, delta, fmt.Errorf(format, args...)
	}
	if f.Statistic != "" && f.Statistic != string(mechanisms.Count) {
		return fail("--active with --statistic %s; want count, or none", f.Statistic)
	}
	if err := f.only("active", "above", "below", "delta"); err != nil {
		return q, delta, err
	}
	switch {
	case window < time.Second || window%time.Second != 0 || within%window != 0 || within < window || within > config.Day:
		return fail("--active %s, --window %s; want whole seconds, and a multiple of --window up to 24h",
			config.Duration(within), config.Duration(window))
	case update < window || update%window != 0 || update > config.Day/2:
		return fail("--update %s; want a multiple of --window, %s, up to 12h", config.Duration(update),
			config.Duration(window))
	}
	asked, err := f.query(mechanisms.Count)
	if err != nil {
		return q, delta, err
	}
	delta = asked.Delta
	if pure := mechanisms.ActiveMechanisms()[0]; f.Mechanism == pure && delta.IsPositive() {
		return fail("--active with --mechanism %s and --delta; want one of the two", pure)
	}
	return mechanisms.ActiveQuery{Above: asked.Above, Below: asked.Below, ZCDP: delta.IsPositive(),
		Mechanism: f.Mechanism, Leaves: int64((config.Day + update - 1) / update)}, delta, nil
}

// Alone returns what items cost if nothing else is drawn, at a δ. If that is 0, it is [cost.Alone].
func Alone(delta decimal.Decimal, items ...budget.Item) cost.Loss {
	if delta.IsPositive() {
		return cost.Of(budget.Limit{Delta: delta}, items)
	}
	return cost.Alone(items...)
}
