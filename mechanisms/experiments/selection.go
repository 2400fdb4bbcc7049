package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// choice is a selection problem: scores of candidates. One person changes each by at most sensitivity, all in the same
// direction.
type choice struct {
	name        string
	sensitivity float64
	scores      []float64
}

// choices returns the two classic problems of McSherry & Talwar (2007), in several sizes.
func choices() []choice {
	var all []choice
	for _, voters := range []int{100, 1000} {
		random := repeatable("voting", voters)
		votes := make([]float64, 20)
		for range voters {
			for c := range votes {
				if random.uniform() < 0.3+0.02*float64(c%10) { // two candidates of each popularity
					votes[c]++
				}
			}
		}
		all = append(all, choice{fmt.Sprintf("approval voting, 20 options, %d voters", voters), 1, votes})
	}
	tie := make([]float64, 50)
	for i := range 5 {
		tie[i] = 40
	}
	all = append(all, choice{"approval voting, 5 of 50 options with all 40 votes", 1, tie})
	for _, buyers := range []int{100, 1000} {
		random := repeatable("pricing", buyers)
		revenue := make([]float64, 200) // prices of 0.05, 0.10 … 10
		for range buyers {
			value := 3 * math.Exp(0.5*distuv.UnitNormal.Quantile(random.uniform()))
			for i := range revenue {
				if price := 0.05 * float64(i+1); price <= value {
					revenue[i] += price
				}
			}
		}
		name := fmt.Sprintf("pricing a digital good, 200 prices up to 10, %d buyers", buyers)
		all = append(all, choice{name, 10, revenue})
	}
	return all
}

// selection compares the utility bound of the exponential mechanism,
//
//	P(score ≤ best − (2Δ/ε)·(ln(|R|/|R_OPT|) + t)) ≤ e^−t,
//
// with exact probabilities. For monotone scores the factor 2 disappears.
func selection(s *session) error {
	table := newTable("problem", "epsilon", "scores", "t", "best", "loss_bound", "exact_probability", "bound",
		"exact_by_bound", "expected_loss", "loss_exceeded_with_probability_e_minus_t")
	var lines []line
	for _, c := range choices() {
		best := slices.Max(c.scores)
		optimal := 0
		for _, u := range c.scores {
			if u > best-1e-9 {
				optimal++
			}
		}
		for _, epsilon := range []float64{0.1, 1} {
			for kind, factor := range map[string]float64{"general": 2, "monotone": 1} {
				law, expected := c.law(best, epsilon/(factor*c.sensitivity))
				exacts := line{name: c.name}
				for _, t := range []float64{0, 1, 2, 3, 4, 5, 6} {
					loss := factor * c.sensitivity / epsilon * (math.Log(float64(len(law))/float64(optimal)) + t)
					exact := c.atMost(best-loss, law)
					exacts.x, exacts.y = append(exacts.x, t), append(exacts.y, max(exact, 1e-6))
					table.add(c.name, epsilon, kind, t, best, loss, exact, math.Exp(-t), exact/math.Exp(-t), expected,
						quantileLoss(c.scores, law, best, math.Exp(-t)))
					if exact > math.Exp(-t) {
						return fmt.Errorf("%s: the bound is broken at t = %v: %v", c.name, t, exact)
					}
				}
				if kind == "general" && epsilon == 0.1 {
					lines = append(lines, exacts)
				}
			}
		}
	}
	bound := line{name: "bound, e^-t"}
	for t := range 7 {
		bound.x, bound.y = append(bound.x, float64(t)), append(bound.y, math.Exp(-float64(t)))
	}
	if err := s.chart("selection", "P(loss >= (2D/e)(ln(|R|/|Ropt|) + t)), epsilon = 0.1", "t",
		"probability", false, true, append([]line{bound}, lines...)...); err != nil {
		return err
	}
	slices.SortStableFunc(table.rows[1:], func(a, b []string) int { return slices.Compare(a[:3], b[:3]) })
	return s.write("selection", table)
}

// law returns the probabilities of the exponential mechanism, P ∝ e^{rate·score}, and the loss that it expects.
func (c choice) law(best, rate float64) (law []float64, expected float64) {
	law = make([]float64, len(c.scores))
	sum := 0.0
	for i, u := range c.scores {
		law[i] = math.Exp(rate * (u - best))
		sum += law[i]
	}
	for i, u := range c.scores {
		law[i] /= sum
		expected += law[i] * (best - u)
	}
	return law, expected
}

// atMost is the probability of a score of at most so much.
func (c choice) atMost(score float64, law []float64) (p float64) {
	for i, u := range c.scores {
		if u <= score {
			p += law[i]
		}
	}
	return p
}

// quantileLoss is the largest loss that is reached or exceeded with at least the given probability.
func quantileLoss(scores, law []float64, best, probability float64) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if scores[a] < scores[b] {
			return -1
		}
		return 1
	})
	sum := 0.0
	for _, i := range order {
		if sum += law[i]; sum >= probability*(1-1e-12) {
			return best - scores[i]
		}
	}
	return 0
}
