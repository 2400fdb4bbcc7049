package budget_test

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
)

// One-minute windows at ε = 0.25, in which a person counts at most eight times a day, cost that person ε = 2 in any 24
// hours, however many windows there are. An alarm at ε = 1 costs that once, until a day after it has fired.
func ExampleAccount_cap() {
	account := budget.NewAccount(budget.Limit{Epsilon: decimal.NewFromInt(3), Per: 24 * time.Hour})
	price := []budget.Item{{Promise: privacy.NewPure(decimal.RequireFromString("0.25")), Times: 1}}
	for minute := range int64(5000) {
		end := (minute + 1) * int64(time.Minute)
		window, err := budget.NewCharge("latency", end-int64(time.Minute), end, price)
		if err != nil {
			fmt.Println(err)
			return
		}
		window.Cap = budget.Cap{Count: 8, Per: 24 * time.Hour}
		if !account.Fits(window) {
			fmt.Println("minute", minute, "does not fit")
			return
		}
		account.Add(window)
	}
	now := 5000 * int64(time.Minute)
	fmt.Println("minutes:", account.Spent(now).Epsilon)

	alarm := budget.Held{ID: "latency/slow/1", Stream: "latency", From: now, To: budget.Open,
		Items: []budget.Item{{Promise: privacy.NewPure(decimal.NewFromInt(1)), Times: 1}}}
	if !account.FitsHeld(alarm) {
		fmt.Println("the alarm does not fit")
		return
	}
	if err := account.Hold(alarm); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("with an alarm:", account.Spent(now).Epsilon)
	// Output:
	// minutes: 2
	// with an alarm: 3
}
