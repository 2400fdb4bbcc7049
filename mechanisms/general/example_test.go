package general_test

import (
	"crypto/rand"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/general"
)

// In approval voting, everyone may approve of as many candidates as they like. One voter changes each tally by at most
// 1, and all in the same direction: the tallies are monotone with sensitivity 1.
func Example_approvalVoting() {
	names := []string{"Avery", "Blake", "Casey", "Drew"}
	ballots := [][]int{}
	for voter := range 500 {
		switch voter % 5 {
		case 0:
			ballots = append(ballots, []int{0, 2})
		case 1, 2:
			ballots = append(ballots, []int{2})
		default:
			ballots = append(ballots, []int{1, 2, 3})
		}
	}
	tally := make([]int64, len(names))
	for _, approved := range ballots {
		for _, candidate := range approved {
			tally[candidate]++
		}
	}
	vote := general.Selection{Epsilon: decimal.RequireFromString("0.5"), Sensitivity: 1, Monotone: true}
	winner, err := vote.Exponential(tally, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(names[winner])
	// Output: Casey
}

// A digital good can be sold any number of times, at one price. Each person has said what they would pay. The revenue
// at a price is that price times the number of people who would pay it. One more buyer raises it by at most the highest
// price and never lowers it: revenues are monotone.
func Example_pricingADigitalGood() {
	prices := []int64{100, 200, 300, 400, 500} // cents
	var revenue []int64
	for _, price := range prices {
		buyers := int64(0)
		for person := range int64(10000) {
			if would := 150 + person%200; would >= price { // 150 to 349 cents
				buyers++
			}
		}
		revenue = append(revenue, price*buyers)
	}
	choice := general.Selection{Epsilon: decimal.RequireFromString("0.1"), Sensitivity: 500, Monotone: true}
	best, err := choice.Exponential(revenue, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prices[best])
	// Output: 200
}

// A voter may be for one place and against another: votes for minus votes against are not monotone.
func ExampleSelection_PermuteAndFlip() {
	names := []string{"north", "south", "west"}
	forLessAgainst := []int64{120, -35, 20}
	place := general.Selection{Epsilon: decimal.RequireFromString("0.5"), Sensitivity: 1}
	chosen, err := place.PermuteAndFlip(forLessAgainst, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(names[chosen])
	// Output: north
}

// Each person changes a count by 1.
func ExampleDiscreteLaplace() {
	noisy, err := general.DiscreteLaplace(12345, 1, decimal.RequireFromString("0.1"), rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(noisy > 12000 && noisy < 12700)
	// Output: true
}

// The total of amounts of at most 20.00 each, rounded to the nearest tenth.
func ExampleLaplace() {
	d := decimal.RequireFromString
	noisy, err := general.Laplace(d("91234.56"), d("20.00"), d("0.5"), d("0.1"), rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(noisy.GreaterThan(d("89000")) && noisy.LessThan(d("93000")), noisy.Exponent() >= -1)
	// Output: true true
}
