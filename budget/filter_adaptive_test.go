package budget

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// drawn is a mechanism of few outcomes: their probabilities for two neighbouring inputs, and what it costs.
type drawn struct {
	item Item
	p, q []float64
}

// response is randomised response, the worst ε-DP mechanism.
func response(epsilon string) drawn {
	e := dec(epsilon).InexactFloat64()
	yes, no := 1/(1+math.Exp(-e)), 1/(1+math.Exp(e))
	return drawn{pure(epsilon, 1), []float64{yes, no}, []float64{no, yes}}
}

// reveals says with probability δ which input it has, and otherwise nothing.
func reveals(delta string) drawn {
	d := dec(delta).InexactFloat64()
	return drawn{approximate("0.000001", delta, 1), []float64{d, 0, 1 - d}, []float64{0, d, 1 - d}}
}

// told is the worst (ε, δ)-DP mechanism: it says with probability δ which input it has, and otherwise answers as
// randomised response does.
func told(epsilon, delta string) drawn {
	d, r := dec(delta).InexactFloat64(), response(epsilon)
	yes, no := (1-d)*r.p[0], (1-d)*r.p[1]
	return drawn{approximate(epsilon, delta, 1), []float64{d, yes, no, 0}, []float64{0, no, yes, d}}
}

// rare has an outcome of probability p that is as much likelier under one input as a ρ of at most the given one allows.
func rare(p, rho float64) drawn {
	low, high := 0.0, 20.0
	for range 40 {
		if middle := (low + high) / 2; rareOf(p, middle).item.Rho.InexactFloat64() <= rho {
			low = middle
		} else {
			high = middle
		}
	}
	return rareOf(p, low)
}

// rareOf has an outcome of probability p that is e^loss times as likely under one input as under the other. Its ρ is
// the greatest D(α)/α. D never falls as α grows, so between orders that are 1 % apart D(α)/α is at most 1 % more than
// at the upper one. Below the first order it is at most 0.01 % more, and above the last one it is less than loss·10⁻⁴.
func rareOf(p, loss float64) drawn {
	q := p * math.Exp(-loss)
	d := drawn{p: []float64{p, 1 - p}, q: []float64{q, 1 - q}}
	rho := loss * 1e-4
	for i := range 1951 {
		a1 := math.Exp(-10 + float64(i)/100)
		for _, side := range [][2][]float64{{d.p, d.q}, {d.q, d.p}} {
			yes := math.Log(side[0][0]) + a1*math.Log(side[0][0]/side[1][0])
			no := math.Log(side[0][1]) + a1*math.Log(side[0][1]/side[1][1])
			most := max(yes, no)
			rho = max(rho, (most+math.Log(math.Exp(yes-most)+math.Exp(no-most)))/a1/(1+a1))
		}
	}
	d.item = Item{privacy.Promise{Kind: privacy.ZCDP, Epsilon: dec("1"),
		Rho: decimal.NewFromFloat(rho * 1.0101).RoundCeil(15)}, 1}
	return d
}

// worst is the greatest Σ (P − e^ε·Q)⁺ that somebody reaches who sees all draws and chooses each next one by them, as
// often as admits allows. It tries all ways of choosing.
//
// It counts by P: an outcome where P/Q is e^z adds its P times (1 − e^(ε−z))⁺. What can still be reached depends on how
// often each outcome of each mechanism came, in any order.
func worst(epsilon float64, menu []drawn, admits func([]Item) bool) float64 {
	type state [16]int8
	admitted := map[state]bool{}
	known := map[state]float64{}
	var from func(came, paid state, z float64) float64
	from = func(came, paid state, z float64) float64 {
		if v, ok := known[came]; ok {
			return v
		}
		best := -math.Expm1(min(0, epsilon-z)) // stops here
		slot := 0
		for m, d := range menu {
			next := paid
			next[m]++
			fits, ok := admitted[next]
			if !ok {
				var items []Item
				for k, n := range next[:len(menu)] {
					if n > 0 {
						one := menu[k].item
						one.Times = int64(n)
						items = append(items, one)
					}
				}
				fits = admits(items)
				admitted[next] = fits
			}
			if fits {
				v := 0.0
				for o := range d.p {
					if d.p[o] == 0 {
						continue
					}
					if d.q[o] == 0 {
						v += d.p[o]
						continue
					}
					seen := came
					seen[slot+o]++
					v += d.p[o] * from(seen, next, z+math.Log(d.p[o]/d.q[o]))
				}
				best = max(best, v)
			}
			slot += len(d.p)
		}
		known[came] = best
		return best
	}
	return from(state{}, state{}, 0)
}

// Nobody gets beyond the ε and δ of a limit, however they choose: what is drawn next may depend on all that was drawn
// before. The proof leaves little room: 0.93 of δ is reached. Wrong filters of the same order are beaten by mechanisms
// of the same kind.
func TestNobodyBeatsTheFilter(t *testing.T) {
	for _, l := range []Limit{
		{Epsilon: dec("1"), Delta: dec("0.01")}, {Epsilon: dec("2"), Delta: dec("0.01")},
		{Epsilon: dec("3"), Delta: dec("0.001")}, {Epsilon: dec("2"), Delta: dec("0.01"), Order: dec("3.1")},
		{Epsilon: dec("3"), Delta: dec("0.001"), Order: dec("8")},
	} {
		f, epsilon, delta := newFilter(l), l.Epsilon.InexactFloat64(), l.Delta.InexactFloat64()
		alpha := 1 + f.a1
		// room is the ρ that a filter has for zCDP, beside what reveals costs in ε.
		room := func(converts float64) float64 {
			c, _ := conversion(f.a1, -math.Log(converts))
			return (epsilon-c)/alpha - 1e-5
		}
		under := func(converts func(approximate float64) float64) func([]Item) bool {
			return func(items []Item) bool {
				s := f.sumOf(items)
				approximate := s.delta.InexactFloat64()
				return approximate < delta && s.order.InexactFloat64()/alpha <= room(converts(approximate))+1e-5
			}
		}
		part := func(of string) string { return l.Delta.Mul(dec(of)).String() }
		tenth, fifth, half := l.Epsilon.Mul(dec("0.1")).String(), l.Epsilon.Mul(dec("0.2")).String(),
			l.Epsilon.Mul(dec("0.45")).String()
		// For one draw, the proof is tight where the outcome of the probability αδ has all of the divergence.
		p := 0.9 * alpha * delta
		for _, c := range []struct {
			name  string
			menu  []drawn
			wrong func([]Item) bool
			least float64
		}{
			{"one draw", []drawn{rare(p, room(0.9*delta)), reveals(part("0.1"))}, nil, 0.93},
			{"in parts", []drawn{rare(p, room(0.9*delta)/3), reveals(part("0.05")), response(fifth)}, nil, 0},
			{"two stages", []drawn{rare(3*p, room(0.9*delta)/2), rare(p, room(0.9*delta)/4),
				reveals(part("0.05"))}, nil, 0},
			{"pure costs alone", []drawn{response(tenth), response(half)}, nil, 0},
			{"a large pure cost, or zCDP", []drawn{response(l.Epsilon.Mul(dec("0.9")).String()), response(tenth),
				rare(4*p, room(0.9*delta)/50), rare(p, room(0.9*delta)*0.98)}, nil, 0},
			{"pure costs beside", []drawn{response(tenth), response(half), rare(p, room(0.9*delta)/2),
				reveals(part("0.05"))}, nil, 0},
			{"approximate costs alone", []drawn{told(tenth, part("0.02")), told(half, part("0.04"))}, nil, 0},
			{"approximate costs beside", []drawn{told(fifth, part("0.03")), response(tenth),
				rare(p, room(0.9*delta)/2)}, nil, 0},
			{"wrong: approximate costs have no price but their δ",
				[]drawn{told(half, part("0.02")), rare(p, room(0.9*delta)/2)}, func(items []Item) bool {
					free := slices.DeleteFunc(slices.Clone(items), func(i Item) bool {
						return i.Kind == privacy.Approximate
					})
					return NewAccount(l).Fits(Charge{Items: free}) && f.sumOf(items).delta.InexactFloat64() <= delta/10
				}, 1.5},
			{"wrong: all of δ converts", []drawn{rare(p, room(delta)), reveals(part("0.1"))},
				under(func(approximate float64) float64 {
					if approximate > delta/10*(1+1e-9) {
						return 1e-300
					}
					return delta
				}), 1.02},
			{"wrong: approximate costs have all that they want",
				[]drawn{rare(p, room(0.9*delta)), reveals(part("0.5"))},
				under(func(float64) float64 { return 0.9 * delta }), 1.3},
			{"wrong: what approximate costs leave of δ converts",
				[]drawn{rare(3*alpha*delta, room(0.9*delta)/2), reveals(part("0.3")), reveals(part("0.1"))},
				under(func(approximate float64) float64 { return delta - approximate }), 1.01},
		} {
			// At another order than that of ε and δ, the mechanisms are not the worst ones.
			if !l.Order.IsZero() {
				if c.least = 0; c.wrong != nil {
					continue
				}
			}
			t.Run(fmt.Sprintf("ε %s, δ %s, order %s/%s", l.Epsilon, l.Delta, l.Order, c.name), func(t *testing.T) {
				admits := c.wrong
				if admits == nil {
					admits = func(items []Item) bool { return NewAccount(l).Fits(Charge{Items: items}) }
				}
				got := worst(epsilon, c.menu, admits) / delta
				if c.wrong == nil && got > 1+1e-9 {
					t.Errorf("somebody reaches %v of δ", got)
				}
				if got < c.least {
					t.Errorf("only %v of δ is reached, want %v: the mechanisms are not bad enough", got, c.least)
				}
			})
		}
	}
}
