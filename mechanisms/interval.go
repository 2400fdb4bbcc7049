package mechanisms

import (
	"io"
	"math"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// interval is a quantile with a paid interval of values around it. Half of ε goes to the quantile, and a quarter each
// to a value for the rank αn − s and one for αn + s. The shifts s are chosen from public figures so that for any data
// each end is on its side of the quantile with probability 1 − (1−level)/2. They are least if all points have equal
// weight, so the ends are drawn under the uniform measure.
//
// Privacy: ε-DP, the sum of three margins (basic composition); their ρ add up.
type interval struct {
	header
	estimate, side *ranks
	eta            float64 // chance that one end is on the wrong side
}

func newInterval(q *Query) (Mechanism, error) {
	if q.Interval.Sign() <= 0 || q.Interval.Cmp(decimal.NewFromInt(1)) >= 0 {
		return nil, parameter.Wrong("interval", parameter.Shown(*q.Interval), "a number greater than 0 and less than 1")
	}
	m := &interval{eta: (1 - q.Interval.InexactFloat64()) / 2}
	if !(m.eta > 0) {
		return nil, parameter.Wrong("interval", parameter.Shown(*q.Interval), "a number less close to 1")
	}
	var err error
	if m.estimate, err = q.margin(2); err != nil {
		return nil, err
	}
	if m.side, err = q.margin(4); err != nil {
		return nil, err
	}
	m.side.measure = Uniform(q.Grid)
	if u := m.side.utility.(margin); max(u.a, u.b)*u.q > 1e9 {
		return nil, parameter.Wrong("p", listed(q.P),
			"fewer digits with an interval: the denominator %d times the tilt [%d, %d] may be at most 10^9",
			u.q, u.a, u.b)
	}
	e := q.Epsilon.InexactFloat64()
	m.header = header{"margin", privacy.NewPieces(q.Epsilon, privacy.RhoOfRange(e/2)+2*privacy.RhoOfRange(e/4))}
	return m, nil
}

func (m *interval) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	measure, err := m.estimate.measureOf(s, public)
	if err != nil {
		return Draw{}, err
	}
	k := m.estimate.scratch.take(random)
	defer m.estimate.scratch.put(k)
	x := m.estimate.draw(s, measure, k)
	padded, sides := s.padded(m.side.grid), m.side.measure
	// The lower end must not overshoot to the right, nor the upper one to the left.
	low, high := m.side.shifted(-m.side.right*math.Log(sides.right/m.eta)),
		m.side.shifted(m.side.left*math.Log(sides.left/m.eta))
	d := Draw{Values: single(x, m.estimate.bound(measure, public.Users))}
	d.Low = min(x, low.draw(padded, sides, k))
	d.High = max(x, high.draw(padded, sides, k))
	d.Values[0].paid, d.Values[0].half = true, float64(d.High-d.Low)/2
	return d, k.source.Err()
}

// Errors returns the bounds of the quantile: the interval's ends have none.
func (m *interval) Errors(public Public) []Bound { return m.estimate.Errors(public) }

// padding is how many users padded puts at either end: more than any sample and shift together.
const padding = 1 << 29

// padded returns the sample with padding more users at each end of the grid. They are the same on all samples, so
// neighbours stay neighbours. They give a target beyond the smallest or largest value a place: the end of the grid.
func (s *Sample) padded(g *Grid) *Sample {
	p := &Sample{n: s.n + 2*padding, values: make([]int64, 0, len(s.values)+2), upTo: make([]int64, 0, len(s.values)+2)}
	if len(s.values) == 0 || s.values[0] > 0 {
		p.values, p.upTo = append(p.values, 0), append(p.upTo, padding)
	}
	for j, v := range s.values {
		p.values, p.upTo = append(p.values, v), append(p.upTo, s.upTo[j]+padding)
	}
	if last := len(p.values) - 1; p.values[last] == g.last {
		p.upTo[last] = p.n
	} else {
		p.values, p.upTo = append(p.values, g.last), append(p.upTo, p.n)
	}
	return p
}

// shifted returns the mechanism for a target by ranks further right, rounded outward, on padded samples. More than 2^28
// ranks are beyond every sample.
func (m *ranks) shifted(by float64) *ranks {
	by = min(max(by, -MaxUsers), MaxUsers)
	shift := int64(math.Ceil(math.Abs(by) * float64(m.q)))
	if by < 0 {
		shift = -shift
	}
	moved := *m
	// Of the padded n, p/q is not α of the sample: p(n + 2·padding) + shift = pn + q·padding + the shift wanted.
	moved.shift = shift + padding*(m.q-2*m.p)
	u := m.utility.(margin)
	u.shift = moved.shift
	moved.utility = u
	return &moved
}

func newMargin(q *Query) (Mechanism, error) {
	if q.Interval != nil {
		return newInterval(q)
	}
	m, err := q.margin(1)
	if err != nil {
		return nil, err
	}
	return m, nil
}
