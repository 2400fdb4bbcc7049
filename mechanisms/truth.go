package mechanisms

import (
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/uint128"
)

// trueQuantiles are X(⌈pn⌉) and X(⌊pn⌋+1). They can differ only if pn is a whole number.
func trueQuantiles(q *Query, s *Sample) (all [][]decimal.Decimal) {
	for _, p := range q.Probabilities() {
		r := p.Rat()
		rank := r.Mul(r, new(big.Rat).SetInt64(s.n))
		below := new(big.Int).Quo(rank.Num(), rank.Denom()).Int64()
		upper := s.values[s.at(min(below+1, s.n))]
		right := []decimal.Decimal{q.Grid.Value(upper)}
		if rank.IsInt() && below > 0 {
			if lower := s.values[s.at(below)]; lower < upper {
				right = []decimal.Decimal{q.Grid.Value(lower), right[0]}
			}
		}
		all = append(all, right)
	}
	return all
}

// trueModes are the values that most users hold.
func trueModes(q *Query, s *Sample) [][]decimal.Decimal {
	var modes []decimal.Decimal
	for j, v := range s.values {
		if s.count(j) == s.most {
			modes = append(modes, q.Grid.Value(v))
		}
	}
	return [][]decimal.Decimal{modes}
}

// trueMean leaves out ⌊τn⌋ users at each end.
func trueMean(q *Query, s *Sample) [][]decimal.Decimal {
	cut := q.Trim.Mul(decimal.NewFromInt(s.n)).IntPart()
	var sum uint128.Int
	for j, v := range s.values {
		from, to := max(s.before(j), cut), min(s.upTo[j], s.n-cut) // the ranks that are left
		sum.Add(uint64(v), uint64(max(0, to-from)))
	}
	steps := decimal.NewFromBigInt(sum.Big(), 0).DivRound(decimal.NewFromInt(s.n-2*cut), 20)
	return [][]decimal.Decimal{{q.Grid.lower.Add(q.Grid.step.Mul(steps))}}
}

func trueSum(q *Query, s *Sample) [][]decimal.Decimal {
	fromLower, _ := s.distances(0, q.Grid.last)
	steps := q.Grid.step.Mul(decimal.NewFromBigInt(fromLower, 0))
	return [][]decimal.Decimal{{q.Grid.lower.Mul(decimal.NewFromInt(s.n)).Add(steps)}}
}

func trueCount(q *Query, s *Sample) [][]decimal.Decimal {
	count, err := newCounting(q)
	if err != nil {
		return nil
	}
	return [][]decimal.Decimal{{decimal.NewFromInt(count(s))}}
}

// trueShare has 20 decimals, and is 0 if there are no users.
func trueShare(q *Query, s *Sample) [][]decimal.Decimal {
	count, err := newCounting(q)
	if err != nil || s.n == 0 {
		return nil
	}
	return [][]decimal.Decimal{{decimal.NewFromInt(count(s)).DivRound(decimal.NewFromInt(s.n), 20)}}
}
