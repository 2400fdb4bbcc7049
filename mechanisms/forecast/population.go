package forecast

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// population is the users of a forecast, with the random samples of their shape that were made so far. No sample
// depends on the ε of a query, so all those that differ in ε alone share them. It is not safe for concurrent use.
type population struct {
	Public
	sampler  *sampler
	counting mechanisms.Mechanism // nil if no count is released
	samples  []drawn
}

// drawn is one sample of users, with the correct answers and the count that was released.
type drawn struct {
	sample *mechanisms.Sample
	truth  [][]float64
	users  *mechanisms.NoisyCount
}

// answered returns a sample with the correct answers to a query.
func answered(q mechanisms.Query, x *sorted) drawn {
	s := mechanisms.NewSample(q.Grid, x.points)
	return drawn{sample: s, truth: truths(q, s)}
}

// prepare makes the sampler.
func (p *population) prepare(q mechanisms.Query) error {
	if p.sampler != nil {
		return nil
	}
	if p.Users > MostUsers {
		return fmt.Errorf("shape %q with %d users; want at most %d: beyond them, only ranks are forecast",
			p.Shape.text, p.Users, MostUsers)
	}
	if p.CountEpsilon > 0 {
		var err error
		p.counting, err = mechanisms.New(mechanisms.Query{Statistic: mechanisms.Count, Mechanism: p.CountMechanism,
			Epsilon: decimal.NewFromFloat(p.CountEpsilon), Grid: q.Grid})
		if err != nil {
			return err
		}
	}
	p.sampler = p.Shape.sampler(q, p.Users)
	return nil
}

// sample returns the i-th sample, the first of which is 0.
func (p *population) sample(q mechanisms.Query, i int) (drawn, error) {
	for len(p.samples) <= i {
		x := answered(q, p.sampler.next())
		if p.counting != nil {
			draw, err := p.counting.Draw(x.sample, mechanisms.Public{}, p.sampler.random)
			if err != nil {
				return drawn{}, err
			}
			x.users = &mechanisms.NoisyCount{Value: draw.Values[0].Number, Epsilon: p.CountEpsilon,
				Mechanism: p.counting.Name()}
		}
		p.samples = append(p.samples, x)
	}
	return p.samples[i], nil
}
