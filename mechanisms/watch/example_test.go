package watch_test

import (
	"crypto/rand"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// An alarm on slow answers: more than 1 % of the users above 2 s, at most one false alarm in twenty months of minutes.
// Its figures are public and known before there are any data. It is armed once, and checks every minute until it fires.
func ExampleWatch() {
	grid, err := mechanisms.NewGrid(dec("0"), dec("60000"), dec("1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	limit, share := dec("2000"), dec("0.01")
	w, err := watch.New(watch.Query{
		Conditions:  []watch.Condition{{Above: &limit, MoreThan: &share}},
		Epsilon:     dec("1"),
		FalseAlarms: dec("0.05"), Windows: 30 * 24 * 60,
		Grid: grid,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("costs ε %s once; sees %.0f users too many at once, 19 times in 20\n", w.Promise().Epsilon,
		w.Excess95())

	armed, err := w.Arm(rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	for minute := range 60 {
		slow := int64(0) // of 10,000 users
		if minute >= 40 {
			slow = 1000
		}
		window := mechanisms.NewSample(grid,
			[]mechanisms.Point{{Index: 120, Count: 10_000 - slow}, {Index: 9000, Count: slow}})
		group, err := armed.Look([]*mechanisms.Sample{window}, rand.Reader)
		if err != nil {
			fmt.Println(err)
			return
		}
		if group >= 0 {
			fmt.Println("fires in minute", minute)
			return
		}
	}
	// Output:
	// costs ε 1 once; sees 27 users too many at once, 19 times in 20
	// fires in minute 40
}

// Draws a median again only after it has changed. A watch compares every window with the last value, and costs ε once
// until that value no longer holds.
func ExampleNewChange() {
	grid, err := mechanisms.NewGrid(dec("0"), dec("1000"), dec("1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := watch.NewChange(watch.ChangeQuery{P: dec("0.5"), Tolerance: dec("0.05"),
		Epsilon: dec("1"), FalseAlarms: dec("0.0001"), Windows: 1440})
	if err != nil {
		fmt.Println(err)
		return
	}
	armed, err := w.Arm(rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	const last = 120 // the published median
	for hour, now := range []int64{120, 120, 120, 180} {
		window := mechanisms.NewSample(grid,
			[]mechanisms.Point{{Index: now - 20, Count: 5000}, {Index: now, Count: 1}, {Index: now + 20, Count: 5000}})
		group, err := armed.LookFrom([]*mechanisms.Sample{window}, []int64{last}, rand.Reader)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("hour", hour, "changed:", group == 0)
	}
	// Output:
	// hour 0 changed: false
	// hour 1 changed: false
	// hour 2 changed: false
	// hour 3 changed: true
}
