package mechanisms

import (
	"io"
	"strings"

	"github.com/louver/louver/mechanisms/smooth"
)

// smoothed adds noise in proportion to the smooth sensitivity of a mean or an order statistic; package smooth holds the
// statement, the proofs and the eight noises.
//
// Means are drawn and rounded in parts of the grid's step: see [Grid.parts].
type smoothed struct {
	header
	inner *smooth.Mechanism
	grid  *Grid
	parts int64
}

// smoothOffers are the noises with the parameters that they take. The default is first.
func smoothOffers() []offer {
	var all []offer
	for _, noise := range []string{"power", "student_t", "cauchy", "laplace", "gaussian", "lln", "uln", "arsinh"} {
		takes := []string{"beta", "calibration", "replace_one"}
		switch noise {
		case "laplace", "gaussian":
			takes = append(takes, "delta")
		case "cauchy":
			takes = append(takes, "gamma")
		}
		all = append(all, offer{name: "smooth_" + noise, build: newSmoothed("smooth_" + noise), takes: takes})
	}
	return all
}

func newSmoothed(name string) func(*Query) (Mechanism, error) {
	return func(q *Query) (Mechanism, error) {
		parts := int64(1)
		if q.Statistic == Mean || q.Statistic == TrimmedMean {
			parts = q.Grid.parts()
		}
		spec := smooth.Spec{Statistic: string(q.Statistic), Trim: q.Trim, Noise: strings.TrimPrefix(name, "smooth_"),
			Published: q.Calibration == "published", Epsilon: q.Epsilon, Delta: q.Delta, Beta: q.Beta, Gamma: q.Gamma,
			ReplaceOne: q.ReplaceOne, Last: q.Grid.Last() * parts}
		if len(q.P) == 1 {
			spec.P = q.P[0]
		}
		inner, err := smooth.New(spec)
		if err != nil {
			return nil, err
		}
		return &smoothed{header{name, inner.Promise()}, inner, q.Grid, parts}, nil
	}
}

func (m *smoothed) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	if err := s.Check(); err != nil {
		return Draw{}, err
	}
	x, err := m.inner.DrawWithin(s.added(), 0, m.grid.last, m.parts, random)
	return Draw{Values: single(x, unbounded())}, err
}

func (m *smoothed) scale() Scale { return m.grid.scale(m.parts) }
