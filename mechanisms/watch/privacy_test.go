package watch

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// laws computes laws of the instances of a watch, and keeps what they have in common.
type laws struct {
	watch *Watch
	rho   []float64           // the probability of each ρ
	fires map[int64][]float64 // by level: the probability to fire for each ρ
}

func (w *Watch) laws() *laws { return &laws{watch: w, fires: map[int64][]float64{}} }

// upTo returns the probabilities of so many ρ, and those to fire at a level.
func (x *laws) upTo(most int64, level int64) (rho, fires []float64) {
	rate := x.watch.plan.rho.Float()
	for k := int64(len(x.rho)); k < most; k++ {
		x.rho = append(x.rho, -math.Expm1(-rate)*math.Exp(-rate*float64(k)))
	}
	fires = x.fires[level]
	for k := int64(len(fires)); k < most; k++ {
		a := &Armed{watch: x.watch, plan: x.watch.plan, rho: big.NewInt(k)}
		fires = append(fires, x.watch.plan.nu.Weight(a.shortfall(level).Int64()))
	}
	x.fires[level] = fires
	return x.rho[:most], fires[:most]
}

// of returns the law of an instance that compares several levels in turn, each for the condition beside it: the
// probability that it fires at each of them, and last the probability that it never fires. It sums over ρ; what is left
// out is less than e^−45 of any outcome's probability.
func (x *laws) of(beyond []int64) []float64 {
	law := make([]float64, len(beyond)+1)
	most := x.watch.plan.margin
	for _, b := range beyond {
		most = max(most, b)
	}
	most += int64(45/x.watch.plan.rho.Float()) + 1
	var silent []float64 // with each ρ, so far
	for i, b := range beyond {
		rho, fires := x.upTo(most, b)
		if silent == nil {
			silent = slices.Clone(rho)
		}
		for k, p := range silent {
			law[i] += p * fires[k]
			silent[k] = p * (1 - fires[k])
		}
	}
	for _, p := range silent {
		law[len(beyond)] += p
	}
	return law
}

// law is [laws.of] once.
func (w *Watch) law(beyond []int64) []float64 { return w.laws().of(beyond) }

// lookedAt returns what an instance compares in several windows of several groups, until it fires.
func (w *Watch) lookedAt(windows [][]*mechanisms.Sample) []int64 { return w.lookedFrom(0, windows) }

// lookedFrom is lookedAt with a last value.
func (w *Watch) lookedFrom(last int64, windows [][]*mechanisms.Sample) (beyond []int64) {
	for _, groups := range windows {
		for _, s := range groups {
			for _, t := range w.tests {
				beyond = append(beyond, t.level(s, last)-t.target)
			}
		}
	}
	return beyond
}

// worstLoss is worstLossFrom without last values.
func (w *Watch) worstLoss(g *mechanisms.Grid, cells, users int) float64 {
	return w.worstLossFrom(make([]int64, cells), g, cells, users)
}

// worstLossFrom goes through all values that up to a number of users can send to each group of one or more windows, and
// all that one more user can send. It returns the largest |ln(P(outcome)/P'(outcome))|.
func (w *Watch) worstLossFrom(last []int64, g *mechanisms.Grid, cells, users int) float64 {
	points := int(g.Last()) + 1
	var samples []*mechanisms.Sample // all samples of one group
	more := make([][]int, points+1)  // the sample that results if one more user is absent, or holds each point
	at := map[string]int{}
	dptest.Samples(points, users+1, func(h []int64) {
		at[fmt.Sprint(h)] = len(samples)
		samples = append(samples, sampleOf(g, h))
	})
	for i := range more {
		more[i] = make([]int, len(samples))
	}
	var small []int
	dptest.Samples(points, users, func(h []int64) {
		i := at[fmt.Sprint(h)]
		small, more[0][i] = append(small, i), i
		for p := range h {
			h[p]++
			more[p+1][i] = at[fmt.Sprint(h)]
			h[p]--
		}
	})
	compared := make([][][]int64, cells)
	for c := range compared {
		compared[c] = make([][]int64, len(samples))
		for i, s := range samples {
			compared[c][i] = w.lookedFrom(last[c], [][]*mechanisms.Sample{{s}})
		}
	}
	all, known := w.laws(), map[[8]int64][]float64{} // by what the instance compares
	law := func(choice []int) []float64 {
		var key [8]int64
		beyond := key[:0]
		for c, s := range choice {
			beyond = append(beyond, compared[c][s]...)
		}
		p, ok := known[key]
		if !ok {
			p = all.of(beyond)
			known[key] = p
		}
		return p
	}
	worst := 0.
	with, without := make([]int, cells), make([]int, cells)
	each(make([]int, cells), len(small), func(c []int) {
		for i := range c {
			without[i] = small[c[i]]
		}
		p := law(without)
		each(make([]int, cells), points+1, func(user []int) {
			for i := range user {
				with[i] = more[user[i]][without[i]]
			}
			for i, q := range law(with) {
				if p[i] > 0 || q > 0 {
					worst = max(worst, math.Abs(math.Log(p[i]/q)))
				}
			}
		})
	})
	return worst
}

// each goes through all lists of digits below n.
func each(digits []int, n int, f func([]int)) {
	for {
		f(digits)
		i := 0
		for ; i < len(digits); i++ {
			if digits[i]++; digits[i] < n {
				break
			}
			digits[i] = 0
		}
		if i == len(digits) {
			return
		}
	}
}

// kinds returns every kind of condition on a grid with the points 0 and 1.
func kinds() map[string]Condition {
	zero, one, few, many, two := dec("0"), dec("1"), dec("0.25"), dec("0.6"), int64(2)
	return map[string]Condition{
		"above, more_than":     {Above: &zero, MoreThan: &few},
		"above, more_than 0.6": {Above: &zero, MoreThan: &many},
		"above, less_than":     {Above: &zero, LessThan: &few},
		"above, less_than 0.6": {Above: &zero, LessThan: &many},
		"below, more_than":     {Below: &one, MoreThan: &few},
		"below, less_than":     {Below: &one, LessThan: &few},
		"above, users":         {Above: &zero, Users: &two},
		"below, users":         {Below: &one, Users: &two},
		"users_below":          {UsersBelow: &two},
	}
}

func watchOf(t testing.TB, g *mechanisms.Grid, epsilon string, conditions ...Condition) *Watch {
	t.Helper()
	w, err := New(Query{Conditions: conditions, Epsilon: dec(epsilon), FalseAlarms: dec("0.5"), Windows: 1,
		Grid: g})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Goes through all neighbours over three windows, for every kind of condition and several divisions of ε. ε is kept and
// fully used. With twice the ε the same check finds more than ε.
func TestWatchPrivacy(t *testing.T) {
	g := smallGrid(t, 2)
	for name, c := range kinds() {
		for _, share := range []int64{0, 20, 80} {
			const epsilon = 1.5
			w, doubled := watchOf(t, g, "1.5", c), watchOf(t, g, "3", c)
			if share > 0 { // otherwise the watch's own choice
				margin := w.plan.margin
				w.plan, doubled.plan = w.divide(share), doubled.divide(share)
				w.plan.margin, doubled.plan.margin = margin, margin
			}
			// The worst case is a user whom the condition counts in a silent window with enough users, and who counts
			// against the condition in a window that fires.
			users := 3
			if w.plan.margin > 2*w.den {
				users = 5
			}
			got := w.worstLoss(g, 3, users)
			t.Logf("%s, %d %% of the weight for ρ: largest loss %.9f ε", name, w.plan.share, got/epsilon)
			if got > epsilon*(1+1e-9) {
				t.Errorf("%s: ε = %v is promised, %v is lost", name, epsilon, got)
			}
			if got < 0.9*epsilon {
				t.Errorf("%s: ε = %v is spent, only %v is used", name, epsilon, got)
			}
			if twice := doubled.worstLoss(g, 2, users); twice <= epsilon*(1+1e-9) {
				t.Errorf("%s: the check does not notice a doubled ε: %v", name, twice)
			}
		}
	}
}

// A user may be in several groups of a window, and a watch may have several conditions. ε stays the same. Part of it is
// unused if no user moves both conditions as far as the bound allows.
func TestWatchPrivacyOfGroupsAndConditions(t *testing.T) {
	g := smallGrid(t, 2)
	k := kinds()
	for _, c := range []struct {
		groups, users int // of all windows together, and in each window
		tight         float64
		conditions    []Condition
	}{
		{4, 2, 0.9, []Condition{k["above, more_than"]}},
		{4, 2, 0.9, []Condition{k["users_below"]}},
		{3, 3, 0.8, []Condition{k["users_below"], k["above, more_than"]}},
		{3, 3, 0.9, []Condition{k["above, users"], k["users_below"]}},
		{3, 3, 0.9, []Condition{k["above, more_than"], k["above, less_than"]}},
		{3, 3, 0.7, []Condition{k["below, less_than"], k["above, users"]}},
	} {
		for _, share := range []int64{0, 80} { // 0: the watch's own choice
			w := watchOf(t, g, "1.5", c.conditions...)
			if share > 0 {
				margin := w.plan.margin
				w.plan = w.divide(share)
				w.plan.margin = margin
			}
			const epsilon = 1.5
			got := w.worstLoss(g, c.groups, c.users)
			t.Logf("%v, %d %% of the weight for ρ: largest loss %.9f ε", c.conditions, w.plan.share, got/epsilon)
			if got > epsilon*(1+1e-9) || got < c.tight*epsilon {
				t.Errorf("%v: ε = %v is promised, %v is lost", c.conditions, epsilon, got)
			}
		}
	}
}

// The negative control: with a fresh ρ in every window, silent windows add up.
func TestWatchWithFreshRhoLosesMore(t *testing.T) {
	g := smallGrid(t, 2)
	w := watchOf(t, g, "1.5", kinds()["above, more_than"])
	const epsilon = 1.5
	before := w.lookedAt([][]*mechanisms.Sample{{sampleOf(g, []int64{0, 3})}})[0]
	after := w.lookedAt([][]*mechanisms.Sample{{sampleOf(g, []int64{0, 4})}})[0]
	silent := func(beyond int64, windows int) float64 {
		all := make([]int64, windows)
		for i := range all {
			all[i] = beyond
		}
		law := w.law(all)
		return math.Log(law[windows])
	}
	last := 0.
	for _, windows := range []int{1, 6, 24} {
		kept := silent(before, windows) - silent(after, windows)
		fresh := float64(windows) * (silent(before, 1) - silent(after, 1))
		t.Logf("%d windows: one ρ loses %.3f, a fresh one %.3f", windows, kept, fresh)
		if kept > epsilon*(1+1e-9) {
			t.Errorf("%d windows: %v is lost, ε = %v is promised", windows, kept, epsilon)
		}
		if windows > 1 && fresh < max(epsilon, 3.9*last) {
			t.Errorf("%d windows: a fresh ρ loses %v, which the check should find to grow", windows, fresh)
		}
		last = fresh
	}
}

// Draws follow the law: 60,000 instances check three windows of two groups until they fire.
func TestWatchSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{40})
	g := smallGrid(t, 2)
	for name, c := range kinds() {
		w := watchOf(t, g, "1.5", c)
		var windows [][]*mechanisms.Sample
		for _, h := range [][2][]int64{{{3, 0}, {2, 1}}, {{0, 1}, {2, 2}}, {{1, 3}, {4, 0}}} {
			windows = append(windows, []*mechanisms.Sample{sampleOf(g, h[0]), sampleOf(g, h[1])})
		}
		counts := dptest.Counts(20_000, 7, func() int {
			a, err := w.Arm(random)
			if err != nil {
				t.Fatal(err)
			}
			for i, groups := range windows {
				fired, err := a.Look(groups, random)
				if err != nil {
					t.Fatal(err)
				}
				if fired >= 0 {
					return 2*i + fired
				}
			}
			return 6
		})
		dptest.CheckSampler(t, name, counts, func(factor float64) []float64 {
			other := *w
			other.epsilon = new(big.Rat).Mul(w.epsilon, decimal.NewFromFloat(factor).Rat())
			other.plan = other.divide(w.plan.share)
			other.plan.margin = w.plan.margin
			return other.law(w.lookedAt(windows))
		})
	}
}
