package decide

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
)

// What the whole way from the bag to the output record loses is at most what the entry charges. Two windows differ by
// one user. Whatever set S of outcomes one picks, P(S) in one of them is at most e^ε·P(S) in the other, ε being the
// charge; an outcome is everything that a window writes: its entry and all its records.
//
// S is picked from draws of its own, as those outcomes that came more than e^ε times as often in one window as in the
// other. With n fresh draws of each window, let X be the share of them in S, less e^ε times the share in the other. X
// is a sum of 2n independent numbers, n of them within a range of 1/n and n within one of e^ε/n, and its expectation is
// at most 0. By Hoeffding's inequality it exceeds √((1 + e^2ε)·ln(2·10⁶)/2n) with a probability of at most 1/(2·10⁶).
// There are two directions, so that the probability of a false alarm is at most 10⁻⁶.
//
// One window has a user at 1; its median is 0 with probability e^(−½)/2. A second user, at 0, makes that ½, which is
// e^½ more, and a count of 2 or more likelier by e^0.3: both together use all of ε = 0.8. So X is near 0 for the right
// ε and about 0.18 for a doubled one; the limit is 0.104, and X has a standard deviation of 0.02 at most.
func TestNeighboursCostWhatIsCharged(t *testing.T) {
	pair := [2][]userVisit{users(1, "a", 1), append(users(1, "a", 1), userVisit{user: 1, group: "a"})}
	x, limit := lossBeyondCharge(t, 1, nil, pair)
	t.Logf("X = %.3f, limit %.3f", x, limit)
	if x > limit {
		t.Errorf("more is lost than charged: X = %.3f > %.3f", x, limit)
	}
	if x, limit := lossBeyondCharge(t, 2, nil, pair); x <= limit {
		t.Errorf("the test does not notice a doubled ε: X = %.3f ≤ %.3f", x, limit)
	}
	exact := func(m mechanisms.Mechanism) mechanisms.Mechanism { return counter{m} }
	if x, limit := lossBeyondCharge(t, 1, exact, pair); x <= limit {
		t.Errorf("the test does not notice an exact count: X = %.3f ≤ %.3f", x, limit)
	}
}

// counter leaks: it releases the exact number of users, and a histogram has it in the first bucket.
type counter struct{ mechanisms.Mechanism }

func (m counter) Draw(s *mechanisms.Sample, given mechanisms.Public, random io.Reader) (mechanisms.Draw, error) {
	d, err := m.Mechanism.Draw(s, given, random)
	if m.Counts() {
		d.Values[0].Number = s.Users()
	}
	if len(d.Raw) > 0 {
		d.Raw[0] = s.Users()
	}
	return d, err
}

// lossBeyondCharge returns the larger X of both directions, and its limit. What is drawn has factor times the ε that is
// charged; counts are replaced.
func lossBeyondCharge(t *testing.T, factor float64, replace func(mechanisms.Mechanism) mechanisms.Mechanism,
	pair [2][]userVisit) (x, limit float64) {
	t.Helper()
	const n = 4000
	charged := 0.8
	var picking, fresh [2]map[string]float64
	for i, records := range pair {
		picking[i] = outcomes(t, factor, replace, records, n)
		fresh[i] = outcomes(t, factor, replace, records, n)
	}
	growth := math.Exp(charged)
	for i := range pair {
		sum := 0.0
		for outcome, times := range picking[i] {
			if times > growth*picking[1-i][outcome] {
				sum += fresh[i][outcome] - growth*fresh[1-i][outcome]
			}
		}
		x = max(x, sum/n)
	}
	return x, math.Sqrt((1 + growth*growth) * math.Log(2e6) / (2 * n))
}

// outcomes counts everything that is written of a window, drawn anew n times. Medians and counts have factor times the
// ε of 0.5 and 0.3.
func outcomes(t *testing.T, factor float64, replace func(mechanisms.Mechanism) mechanisms.Mechanism,
	visits []userVisit, n int) map[string]float64 {
	t.Helper()
	seen := map[string]float64{}
	text := fmt.Sprintf(`
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a]
    bounds: {lower: 0, upper: 1, step: 1, prior: uniform}
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: %v}
      - {name: users, statistic: count, epsilon: %v}
    min_users: {count: 2, release: users}
    output: {topic: out}
    budget: {epsilon: 2, per: 24h} # enough for the window, which is never recorded
    on_exhausted: withhold
`, 0.5*factor, 0.3*factor)
	d := playing(t, editionsOf(t, text), func(c *Core) {
		p := c.programs[0]
		p.random = noise
		if replace != nil {
			for i := range p.draws {
				p.draws[i].mechanism = replace(p.draws[i].mechanism)
			}
		}
	})
	d.give(d.editions[0], visits, trouble{})
	for at, m := range d.messages {
		if err := d.Message(m.Data, int64(at), time.Unix(m.At, 0)); err != nil {
			t.Fatal(err)
		}
	}
	records := map[string]string{} // of each entry: they follow from what the ledger holds
	for range n {
		value, err := unrecorded(t, d.Core).Encode()
		if err != nil {
			t.Fatal(err)
		}
		text, known := records[string(value)]
		if !known {
			text = recordsOf(t, value)
			records[string(value)] = text
		}
		seen[string(value)+text]++
	}
	return seen
}

// unrecorded makes the entry of the next window, which nobody commits or learns. So the window can be drawn again.
func unrecorded(t *testing.T, c *Core) ledger.Entry {
	t.Helper()
	next, ready, _ := c.turn("s")
	if !ready {
		t.Fatal("the window is not ready")
	}
	err := c.begin(next)
	if err == nil {
		_, err = c.feedOn()
	}
	of := c.decision
	c.decision, c.notices = nil, nil
	if err == nil {
		err = c.own.Finish(&of.entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	return of.entry
}

// recordsOf are all records of an entry.
func recordsOf(t *testing.T, value []byte) string {
	t.Helper()
	e, err := ledger.Decode(value)
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.Records()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, r := range all {
		text.Write(r.Value)
	}
	return text.String()
}

// noise has a seed, so that the test says the same each time.
var noise = rand.NewChaCha8([32]byte{'n', 'o', 'i', 's', 'e'})
