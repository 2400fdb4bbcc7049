package decide

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// alarmed is a stream whose watch has so large an ε that it follows its condition exactly, and holds for an hour. Its
// watch `gone` fires by noise alone in one of 10⁹ months.
const alarmed = oneStream + `
    groups: [a, b, c]
    max_groups: 3
    window: {size: 1h, every: 1h, grace: 10s, start: 2026-01-01T00:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    watches:
      - {name: slow, above: 500, users: 5, epsilon: EPSILON, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h, at_most: ATMOST}
      - {name: gone, users_below: 2, epsilon: 0.001, false_alarms: {at_most: 0.000000001, per: 30d}, hold: 1h, at_most: 1}
    budget: {epsilon: LIMIT, per: 24h}
    on_exhausted: withhold
`

// alarmedStream has windows of an hour. Its watch costs ε 1000.
func alarmedStream(t testing.TB) config.Edition {
	t.Helper()
	return editionsOf(t, strings.NewReplacer("EPSILON", "1000", "LIMIT", "1000000", "ATMOST", "9").Replace(alarmed))[0]
}

// traced is an alarm whose instances are known by their secrets. It notes which of them look.
type traced struct {
	armed  *int
	looked *[]string
	secret string
}

func (a traced) Arm(io.Reader) (armed, error) {
	*a.armed++
	a.secret = fmt.Sprint("secret ", *a.armed)
	return a, nil
}

func (a traced) Resume(secret []byte) (armed, error) {
	a.secret = string(secret)
	return a, nil
}

func (a traced) MarshalText() ([]byte, error) { return []byte(a.secret), nil }

func (a traced) Look([]*mechanisms.Sample, io.Reader) (int, error) {
	if *a.looked = append(*a.looked, a.secret); len(*a.looked) == 3 {
		return 0, nil
	}
	return -1, nil
}

func (a traced) LookFrom(groups []*mechanisms.Sample, _ []int64, random io.Reader) (int, error) {
	return a.Look(groups, random)
}

// TestOneSecretFromArmingToFiring: the instance that looks is always the one that was armed, by its secret in the
// ledger, and a new one follows only after it has fired. The proof needs that: a fresh secret in each window would cost
// ε in each.
func TestOneSecretFromArmingToFiring(t *testing.T) {
	looked := []string{}
	d := playing(t, []config.Edition{alarmedStream(t)}, func(c *Core) {
		c.programs[0].continual[0].tester = traced{new(int), &looked, ""}
	})
	for range 7 {
		d.next(nil)
	}
	// after the third window it holds for one
	if want := []string{"secret 1", "secret 1", "secret 1", "secret 2", "secret 2", "secret 2"}; !slices.Equal(looked,
		want) {
		t.Errorf("%q look, want %q", looked, want)
	}
}

// TestEveryStreamHasItsOwnSecret: two streams of a budget have the same watch. Each looks with the secret that was
// armed for it.
func TestEveryStreamHasItsOwnSecret(t *testing.T) {
	both := []config.Edition{alarmedStream(t), alarmedStream(t)}
	both[1].Stream.Name, both[1].Stream.Budget = "t", both[0].Stream.Budget
	count, looked := new(int), map[string]*[]string{"s": {}, "t": {}}
	d := playing(t, both, func(c *Core) {
		for _, p := range c.programs {
			p.continual[0].tester = traced{count, looked[p.Stream.Name], ""}
		}
	})
	for range 2 {
		slices.Reverse(both)
		d.session(d.settings)
		for _, of := range both {
			d.give(of, nil, trouble{})
		}
		d.decided()
	}
	if ofS, ofT := *looked["s"], *looked["t"]; !slices.Equal(ofT, []string{"secret 1", "secret 1"}) ||
		!slices.Equal(ofS, []string{"secret 2", "secret 2"}) {
		t.Errorf("one stream looks with %q, the other with %q; want each with its own", ofS, ofT)
	}
}
