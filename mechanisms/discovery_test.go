package mechanisms

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// finderCase is how vectors name a mechanism.
type finderCase struct {
	Epsilon, Delta decimal.Decimal
	AtLeast        int64 `json:"at_least"`
}

func (c finderCase) new(t testing.TB) *TruncatedGeometric {
	t.Helper()
	m, err := NewTruncatedGeometric(c.Epsilon, c.Delta, c.AtLeast)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const finderFile = "groups_vectors.json"

type finderVectors struct {
	Geometric []struct {
		finderCase
		K, Threshold int64
		Edge         float64 `json:",string"`
		Noise, Found map[int64]json.Number
		Users50      int64 `json:"users_50"`
		Users95      int64 `json:"users_95"`
		UsersCertain int64 `json:"users_certain"`
	}
	Neighbours []struct {
		finderCase
		Users        int64
		Law          map[string]json.Number
		DeltaRemoved float64 `json:"delta_removed,string"`
		DeltaAdded   float64 `json:"delta_added,string"`
	}
	Composition []struct {
		finderCase
		MaxGroups int     `json:"max_groups"`
		AtMost    float64 `json:"delta_at_k_epsilon_at_most,string"`
	}
}

// finderLaw is the mechanism as it is defined, for what is compared with the code and for wrong ones.
type finderLaw struct {
	rate               float64
	bound              int64
	threshold, atLeast int64
}

func lawOfFinder(m *TruncatedGeometric) finderLaw {
	return finderLaw{m.Promise().Epsilon.InexactFloat64(), m.Bound(), m.Threshold(), m.AtLeast()}
}

// noise returns P(Z = z) for z from −K.
func (l finderLaw) noise() []float64 {
	var weights []float64
	for z := -l.bound; z <= l.bound; z++ {
		weights = append(weights, math.Exp(-l.rate*math.Abs(float64(z))))
	}
	return dptest.Normalise(weights)
}

// nothing is the outcome of a name that is not published.
const nothing = "none"

// of returns the probability of each outcome for a name with n users.
func (l finderLaw) of(n int64) map[string]float64 {
	law := map[string]float64{}
	if n < 1 {
		return map[string]float64{nothing: 1}
	}
	for i, p := range l.noise() {
		outcome := nothing
		if y := n + int64(i) - l.bound; y >= l.threshold && n >= l.atLeast {
			outcome = strconv.FormatInt(y, 10)
		}
		law[outcome] += p
	}
	return law
}

// together returns the law of several names that are drawn independently.
func together(laws ...map[string]float64) map[string]float64 {
	all := map[string]float64{"": 1}
	for _, law := range laws {
		next := map[string]float64{}
		for x, p := range all {
			for y, q := range law {
				next[x+" "+y] += p * q
			}
		}
		all = next
	}
	return all
}

// beyond is the hockey-stick divergence of p from q: the largest P(event) − e^ε·Q(event).
func beyond(p, q map[string]float64, epsilon float64) (sum float64) {
	for x, a := range p {
		sum += max(0, a-math.Exp(epsilon)*q[x])
	}
	return sum
}

func near12(got, want float64) bool { return math.Abs(got-want) <= 1e-12*math.Abs(want)+1e-300 }

// K, T, the probabilities and the users needed are those of the vectors.
func TestFinderVectors(t *testing.T) {
	for _, v := range dptest.Vectors[finderVectors](t, finderFile).Geometric {
		m := v.new(t)
		name := fmt.Sprintf("ε %s, δ %s, at_least %d", v.Epsilon, v.Delta, v.AtLeast)
		if m.Bound() != v.K || m.Threshold() != v.Threshold || m.AtLeast() != v.AtLeast ||
			m.Certain() != v.UsersCertain {
			t.Errorf("%s: K %d, T %d, always found from %d; want %d, %d, %d", name, m.Bound(),
				m.Threshold(), m.Certain(), v.K, v.Threshold, v.UsersCertain)
		}
		if !near12(m.tail(m.Bound()), v.Edge) {
			t.Errorf("%s: P(Z = K) = %v, want %v", name, m.tail(m.Bound()), v.Edge)
		}
		for z, text := range v.Noise {
			want, _ := text.Float64()
			got := m.tail(max(1, z)) - m.tail(max(1, z)+1)
			if z == 0 {
				got = 1 - 2*m.tail(1)
			}
			if z >= 0 && math.Abs(got-want) > 1e-10*want { // a difference of tails
				t.Errorf("%s: P(Z = %d) = %v, want %v", name, z, got, want)
			}
		}
		for n, text := range v.Found {
			want, _ := text.Float64()
			if got := m.Found(n); !near12(got, want) && math.Abs(1-got-(1-want)) > 1e-15 {
				t.Errorf("%s: %d users are found with %v, want %v", name, n, got, want)
			}
		}
		if got := m.UsersFor(0.5); got != v.Users50 {
			t.Errorf("%s: %d users for 50 %%, want %d", name, got, v.Users50)
		}
		if got := m.UsersFor(0.95); got != v.Users95 {
			t.Errorf("%s: %d users for 95 %%, want %d", name, got, v.Users95)
		}
		if want := privacy.NewApproximate(v.Epsilon, v.Delta); m.Promise().Kind != want.Kind ||
			!m.Promise().Epsilon.Equal(want.Epsilon) || !m.Promise().Delta.Equal(want.Delta) ||
			m.Promise().Check() != nil {
			t.Errorf("%s: promises %+v, want %+v", name, m.Promise(), want)
		}
	}
}

// The probabilities of all outcomes of small laws, and what one user more or less changes, are those of the vectors:
// nothing beyond δ, and as much as P(Z = K), which is lost for some n.
func TestFinderNeighbours(t *testing.T) {
	lost := map[string]float64{}
	for _, v := range dptest.Vectors[finderVectors](t, finderFile).Neighbours {
		m := v.new(t)
		law, edge := lawOfFinder(m), m.tail(m.Bound())
		mine, next := law.of(v.Users), law.of(v.Users+1)
		for outcome, text := range v.Law {
			if want, _ := text.Float64(); !near12(mine[outcome], want) {
				t.Errorf("%+v, %d users: P(%s) = %v, want %v", v.finderCase, v.Users, outcome, mine[outcome], want)
			}
		}
		if len(mine) != len(v.Law) {
			t.Errorf("%+v, %d users: outcomes %v, want %v", v.finderCase, v.Users,
				slices.Sorted(maps.Keys(mine)), v.Law)
		}
		epsilon := v.Epsilon.InexactFloat64()
		removed, added := beyond(next, mine, epsilon), beyond(mine, next, epsilon)
		if math.Abs(removed-v.DeltaRemoved) > 1e-14 || math.Abs(added-v.DeltaAdded) > 1e-14 {
			t.Errorf("%+v, %d users: one user less loses %v, one more %v; want %v, %v", v.finderCase,
				v.Users, removed, added, v.DeltaRemoved, v.DeltaAdded)
		}
		key := v.Epsilon.String()
		if lost[key] = max(lost[key], removed, added); removed > edge+1e-14 || added > edge+1e-14 {
			t.Errorf("%+v, %d users: %v and %v are lost beyond ε, at most %v may be", v.finderCase,
				v.Users, removed, added, edge)
		}
	}
	for _, v := range dptest.Vectors[finderVectors](t, finderFile).Neighbours[:1] {
		if edge := v.new(t).tail(v.new(t).Bound()); math.Abs(lost[v.Epsilon.String()]-edge) > 1e-14 {
			t.Errorf("%+v: %v is lost, want %v", v.finderCase, lost[v.Epsilon.String()], edge)
		}
	}
}

// worstOfFinder is the largest δ at ε that one user more or less in one name can lose.
func worstOfFinder(l finderLaw, epsilon float64, view func(map[string]float64) map[string]float64) (worst float64) {
	for n := range 2*l.bound + l.atLeast + 3 {
		p, q := view(l.of(n)), view(l.of(n+1))
		worst = max(worst, beyond(p, q, epsilon), beyond(q, p, epsilon))
	}
	return worst
}

// For small K and every number of users, the loss beyond ε is P(Z = K), exactly, and that is at most δ. Wrong
// mechanisms are found: a threshold that is one lower, which publishes a count that a name without users cannot have;
// noise of 2ε; a second draw after an abort, which leaves both values in the log.
func TestFinderPrivacy(t *testing.T) {
	once := func(law map[string]float64) map[string]float64 { return law }
	for _, c := range []struct {
		epsilon, delta string
		atLeast        int64
	}{{"1", "0.05", 1}, {"1", "0.05", 4}, {"0.5", "0.02", 3}, {"2", "0.001", 2}, {"0.3", "0.09", 1}, {"3", "0.01", 1},
		{"0.01", "0.09", 2}, {"50", "0.001", 1}} {
		m := finderCase{dec(c.epsilon), dec(c.delta), c.atLeast}.new(t)
		law, epsilon, delta := lawOfFinder(m), dec(c.epsilon).InexactFloat64(), dec(c.delta).InexactFloat64()
		edge := law.noise()[0]
		if got := worstOfFinder(law, epsilon, once); math.Abs(got-edge) > 1e-14 || edge > delta {
			t.Errorf("%+v: δ %v is lost, want P(Z = K) = %v of %v", c, got, edge, delta)
		}
		if shorter := law.bound - 1; shorter >= 1 {
			short := finderLaw{law.rate, shorter, shorter + c.atLeast, c.atLeast}
			if got := worstOfFinder(short, epsilon, once); got <= delta {
				t.Errorf("%+v: a smaller K would do: δ %v", c, got)
			}
		}
		if c.atLeast == 1 {
			lower := law
			lower.threshold--
			if got := worstOfFinder(lower, epsilon, once); got <= delta {
				t.Errorf("%+v: a threshold that is one lower goes unnoticed: δ %v", c, got)
			}
		}
		doubled := law
		doubled.rate *= 2
		if got := worstOfFinder(doubled, epsilon, once); law.bound > 1 && got <= delta {
			t.Errorf("%+v: noise of 2ε goes unnoticed: δ %v", c, got)
		}
		twice := func(law map[string]float64) map[string]float64 { return together(law, law) }
		if got := worstOfFinder(law, epsilon, twice); got <= edge*1.1 {
			t.Errorf("%+v: a second draw goes unnoticed: δ %v", c, got)
		}
	}
}

// A user who counts for k names loses at most 1 − (1 − P(Z = K))^k beyond kε, which is less than kδ, and the bound of
// the vectors. To publish only those m with the largest counts loses no more.
func TestFinderOfSeveralNames(t *testing.T) {
	top := func(m int) func(map[string]float64) map[string]float64 {
		return func(law map[string]float64) map[string]float64 {
			some := map[string]float64{}
			for outcome, p := range law {
				counts := strings.Fields(outcome)
				order := make([]int, len(counts))
				for i := range order {
					order[i] = i
				}
				size := func(i int) int { n, _ := strconv.Atoi(counts[i]); return n } // 0: nothing
				slices.SortStableFunc(order, func(i, j int) int { return size(j) - size(i) })
				for _, i := range order[min(m, len(order)):] {
					counts[i] = nothing
				}
				some[strings.Join(counts, " ")] += p
			}
			return some
		}
	}
	for _, v := range dptest.Vectors[finderVectors](t, finderFile).Composition {
		v.AtLeast = 1
		m := v.new(t)
		law, k := lawOfFinder(m), v.MaxGroups
		epsilon := float64(k) * v.Epsilon.InexactFloat64()
		most := 1 - math.Pow(1-law.noise()[0], float64(k))
		if math.Abs(most-v.AtMost) > 1e-14 || most > float64(k)*v.Delta.InexactFloat64() {
			t.Errorf("%d names: the bound is %v, want %v, and at most kδ", k, most, v.AtMost)
		}
		worst := map[int]float64{}
		numbers := []int64{0, 1, 2, law.bound, law.threshold, law.threshold + law.bound}
		var each func(ns []int64)
		each = func(ns []int64) {
			if len(ns) < k {
				for _, n := range numbers {
					each(append(ns, n))
				}
				return
			}
			before, after := []map[string]float64{}, []map[string]float64{}
			for _, n := range ns {
				before, after = append(before, law.of(n)), append(after, law.of(n+1))
			}
			p, q := together(before...), together(after...)
			for m := 1; m <= k; m++ {
				view := top(m)
				a, b := view(p), view(q)
				worst[m] = max(worst[m], beyond(a, b, epsilon), beyond(b, a, epsilon))
			}
		}
		each(nil)
		for m, got := range worst {
			if got > most+1e-12 || m == k && got < most*0.999 {
				t.Errorf("%d names, of which %d are published: δ %v is lost, want %v", k, m, got, most)
			}
		}
	}
}

// K is the least whole number for which P(Z = K) ≤ δ, by numbers of several hundred digits.
func TestFinderBoundIsExact(t *testing.T) {
	epsilons := []string{"0.0001", "0.00031", "0.001", "0.0123", "0.05", "0.1", "0.25", "0.5",
		"0.693147180559945", "1", "1.7", "3", "7.5", "20", "50"}
	deltas := []string{"1e-30", "3.3e-25", "1e-18", "1e-12", "0.0000000001", "0.000001", "0.0007",
		"0.01", "0.05", "0.09"}
	for _, epsilon := range epsilons {
		for _, delta := range deltas {
			m := finderCase{dec(epsilon), dec(delta), 1}.new(t)
			const prec = 512
			edge := func(k int64) exact.Interval { // from the sum of the weights: a^K / (1 + 2·(a + … + a^K))
				a := exact.FromRat(dec(epsilon).Rat(), prec).Neg().Exp()
				power := exact.FromRat(new(big.Rat).Mul(dec(epsilon).Rat(), new(big.Rat).SetInt64(k)), prec).Neg().Exp()
				one := exact.FromInt(1, prec)
				sum := a.Sub(power.Mul(a)).Quo(one.Sub(a))
				return power.Quo(one.Add(sum.Add(sum)))
			}
			limit := exact.FromRat(dec(delta).Rat(), prec)
			if !edge(m.Bound()).Before(limit) || m.Bound() > 1 && !limit.Before(edge(m.Bound()-1)) {
				t.Errorf("ε %s, δ %s: K = %d is not the least", epsilon, delta, m.Bound())
			}
		}
	}
	// An ε so small that the noise is uniform: P(Z = K) = 1/(2K+1).
	for delta, want := range map[string]int64{"0.09": 6, "0.01": 50, "0.0001": 5000, "0.00000001": 50_000_000} {
		if m := (finderCase{dec("0.000000000000000001"), dec(delta), 1}).new(t); m.Bound() != want {
			t.Errorf("δ %s without ε: K = %d, want %d", delta, m.Bound(), want)
		}
	}
	if m := (finderCase{dec("1000000000000000000"), dec("1e-50"), 1}).new(t); m.Bound() != 1 || m.Found(1) != 0 ||
		m.Found(2) != 1 {
		t.Errorf("a huge ε: K = %d", m.Bound())
	}
}

func TestFinderRefuses(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta string
		atLeast        int64
		want           string
	}{
		{"0", "0.1", 1, "epsilon 0; want a number greater than 0"},
		{"1", "0", 1, "delta 0; want more than 0, such as 0.00000001, because no mechanism finds unknown names"},
		{"1", "-0.1", 1, "delta -0.1; want more than 0"},
		{"1", "0.1", 1, "delta 0.1; want less than 0.1"},
		{"1", "1e-51", 1, "delta 0.000000000000000000000000000000000000000000000000001; want at most 50 digits"},
		{"1", "1e-9000", 1, "delta 1e-9000; want at most 50 digits"},
		{"1", "0.01", 0, "at_least 0; want a whole number from 1"},
		{"1", "0.01", MaxUsers + 1, "want a whole number from 1 to 268435456"},
		{"0.0000001", "1e-30", 1, "epsilon 0.0000001; want more: with this one a name needs more than 268435456 users"},
	} {
		if m, err := NewTruncatedGeometric(dec(c.epsilon), dec(c.delta), c.atLeast); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %+v, %v", c, m, err)
		}
	}
	if _, err := New(Query{Statistic: Groups, Grid: smallGrid(t, 3), Epsilon: dec("1")}); err == nil {
		t.Error("a window has groups as a value")
	}
	if Groups.Family() != OfUsers || Groups.Unit("ms") != "users" ||
		!slices.Equal(Available(Groups), []string{truncatedGeometric}) {
		t.Errorf("groups are %v in %s by %v", Groups.Family(), Groups.Unit("ms"), Available(Groups))
	}
}

// The error is the least that holds 95 % of the noise.
func TestFinderError(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta string
		want           int64
	}{{"0.5", "0.00000001", 6}, {"1", "0.000001", 3}, {"0.1", "0.000000001", 30},
		{"0.02", "1e-10", 150}, {"1", "0.05", 2}, {"0.3", "0.09", 4}, {"50", "0.000001", 0}} {
		m := finderCase{dec(c.epsilon), dec(c.delta), 1}.new(t)
		inside := func(reach int64) (sum float64) {
			for i, p := range lawOfFinder(m).noise() {
				if z := int64(i) - m.Bound(); z >= -reach && z <= reach {
					sum += p
				}
			}
			return sum
		}
		if got := m.Error95(); got != c.want || inside(got) < 0.95 || got > 0 && inside(got-1) >= 0.95 {
			t.Errorf("ε %s, δ %s: ± %d with %v, want ± %d", c.epsilon, c.delta, got, inside(got), c.want)
		}
	}
}
