// Package watch looks at one window after another until a condition holds, and costs its ε once, however many windows
// that takes.
//
// A [Watch] waits for a [Condition] on the users of a group ([New]), or until a published quantile no longer holds
// ([NewChange]). Its public figures say beforehand how far beyond the condition it fires ([Watch.Margin]) and what it
// sees ([Watch.Excess95]). [Watch.Arm] makes an instance with its secret.
package watch

import (
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// Query asks for a watch that raises an alarm.
type Query struct {
	// Conditions are what the watch waits for, in every group of every window. At least one is required, and mostly
	// there is only one.
	Conditions []Condition
	// Epsilon > 0 is what a user loses from arming to firing, over all windows and groups together. Required.
	Epsilon decimal.Decimal
	// FalseAlarms in (0, 1) bounds the probability of any alarm in Windows windows of Groups groups, if no condition is
	// true in any of them. Required.
	FalseAlarms decimal.Decimal
	// Windows ≥ 1 is how many windows there are in the time that FalseAlarms is for: 43,200 for 30 days of windows of
	// one minute. Required.
	Windows int64
	// Groups ≥ 1 is how many groups a window has. 0 means 1.
	Groups int64
	// Grid is the grid of the users' values. Required.
	Grid *mechanisms.Grid
}

// Watch is a checked query with its public figures. It is immutable and safe for concurrent use.
//
// A condition sums up q = Σ_users φ(v), where φ lies in [−a, b] and is 0 for users who are absent. With a secret ρ ≥ 0,
// drawn once with the rate r_ρ at arming, it fires in a window and group with probability
//
//	exp(−r_ν · max(0, target + c + ρ − q)),
//
// which is the comparison of q + ν with target + c + ρ for a fresh ν ≥ 0 of the rate r_ν. All q are whole multiples of
// a public unit 1/den. So ρ is geometric on these multiples and the comparison is a coin. Both are drawn exactly (see
// package exact).
//
// Privacy: ε-DP for everything that one user ever sent, in all windows and groups that an instance looks at until it
// has fired, with a* = max a and b* = max b over the conditions and
//
//	ε = max( b*·r_ρ + max_j (b* + a_j)·r_ν ,  a*·r_ρ + max_j (a* + b_j)·r_ν ).
//
// Proof. Let D' be D with all that one user sent added, or removed, and δ = q' − q in some window, group and condition.
// Then lo ≤ δ ≤ hi: with −a_j and b* if the user is added, with −b_j and a* if the user is removed. Compare D under ρ
// with D' under ρ + hi, which is a multiple of the unit. (1) The density of ρ falls by e^{−r_ρ·hi}. (2) What was silent
// is silent with no less probability: target + c + ρ + hi − q' ≥ target + c + ρ − q. (3) What fired now lacks hi − δ ≤
// hi − lo more, which costs a factor of e^{−r_ν·(hi − lo)} at most. Only one comparison fires: the instance ends with
// it. Summed over ρ, every outcome has under D' at least e^{−r_ρ·hi − r_ν·(hi − lo)} of its probability under D. ∎
//
// One ρ serves one instance: with a fresh ρ in every window, step (1) would be paid in each.
//
// Source: AboveThreshold of Dwork & Roth 2014, section 3.6, and Lyu, Su & Li 2017 on which of its variants are sound.
// The noise is one-sided here, as in the mechanism above_threshold.
type Watch struct {
	tests       []test
	epsilon     *big.Rat
	promise     privacy.Promise
	den         int64 // units in a user
	plan        plan
	comparisons float64 // among which the false alarms are shared
	falseAlarms float64
	follows     bool // its conditions look at the last values
}

// plan holds the choices of a watch that do not change its ε: how ε is divided, and how far beyond the target to
// fire.
type plan struct {
	share  int64      // so many of the shares are on r_ρ
	margin int64      // c, in units
	rho    exact.Rate // r_ρ a unit
	nu     exact.Rate // r_ν a unit
}

// shares is the number of parts that ε is divided into between ρ and ν.
const shares = 100

// New checks a query and chooses the margin and the split of ε. The error is a [mechanisms.Error].
func New(q Query) (*Watch, error) {
	if len(q.Conditions) == 0 {
		return nil, parameter.Wrong("conditions", "(none)", "what to watch for, such as above: 2000, more_than: 0.01")
	}
	w, err := prepare("epsilon", q, len(q.Conditions))
	if err != nil {
		return nil, err
	}
	for _, c := range q.Conditions {
		t, err := c.test(q.Grid)
		if err != nil {
			return nil, err
		}
		w.tests = append(w.tests, t)
		if w.den = leastCommonMultiple(w.den, t.den); w.den > 1e9 {
			return nil, parameter.Wrong("more_than", "(several)",
				"shares that have a common denominator of at most 10^9")
		}
	}
	for i := range w.tests {
		w.tests[i].refine(w.den)
	}
	return w, w.choose()
}

// prepare checks what all watches have in common. It has no tests yet.
func prepare(epsilon string, q Query, tests int) (*Watch, error) {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return nil, renamed(err, epsilon)
	}
	if q.FalseAlarms.Sign() <= 0 || q.FalseAlarms.Cmp(decimal.NewFromInt(1)) >= 0 {
		return nil, parameter.Wrong("false_alarms", parameter.Shown(q.FalseAlarms),
			"a probability greater than 0 and less than 1")
	}
	if q.Windows < 1 {
		return nil, parameter.Wrong("windows", q.Windows, "at least 1 window in the time that false_alarms is for")
	}
	if q.Groups < 0 {
		return nil, parameter.Wrong("groups", q.Groups, "at least 1 group")
	}
	return &Watch{epsilon: q.Epsilon.Rat(), promise: privacy.NewPure(q.Epsilon), den: 1,
		falseAlarms: q.FalseAlarms.InexactFloat64(),
		comparisons: float64(q.Windows) * float64(max(q.Groups, 1)) * float64(tests)}, nil
}

// renamed gives a [parameter.Error] the name that the parameter has here.
func renamed(err error, name string) error {
	if e := (*parameter.Error)(nil); errors.As(err, &e) {
		return &parameter.Error{Parameter: name, Value: e.Value, Want: e.Want}
	}
	return err
}

// span is ε over the rate of one share, if share of them are ρ's and the others ν's, by the formula of [Watch].
func (w *Watch) span(share int64) int64 {
	var a, b int64 // a* and b*
	for _, t := range w.tests {
		a, b = max(a, t.falls()), max(b, t.rises())
	}
	var added, removed int64
	for _, t := range w.tests {
		added = max(added, b*share+(b+t.falls())*(shares-share))
		removed = max(removed, a*share+(a+t.rises())*(shares-share))
	}
	return max(added, removed)
}

// divide returns the plan in which share of the shares are ρ's. Its margin is 0.
func (w *Watch) divide(share int64) plan {
	part := new(big.Rat).Quo(w.epsilon, new(big.Rat).SetInt64(w.span(share)))
	rate := func(parts int64) exact.Rate {
		return exact.NewRate(new(big.Rat).Mul(part, new(big.Rat).SetInt64(parts)))
	}
	return plan{share: share, rho: rate(share), nu: rate(shares - share)}
}

// Promise returns the cost of an instance, from arming to firing.
func (w *Watch) Promise() privacy.Promise { return w.promise }

// Arm draws ρ. From then on the watch has cost its ε, whether or not it ever fires. random must be a cryptographic
// source.
func (w *Watch) Arm(random io.Reader) (*Armed, error) {
	source := exact.NewSource(random)
	rho := source.Geometric(w.plan.rho)
	return &Armed{watch: w, plan: w.plan, rho: rho}, source.Err()
}

// Armed is an instance of a watch: its secret ρ, and whether it has fired. It is not safe for concurrent use. Printing
// it shows nothing of ρ.
type Armed struct {
	watch *Watch
	plan  plan
	rho   *big.Int // in units
	fired bool
}

// errFired says that an instance is done.
var errFired = errors.New("the watch has fired: arm it again, which costs ε again")

// Look looks at one window: the samples of its groups in public order. It returns the group that fires, or −1. The
// groups after it have not been looked at, and the instance is done: every later Look is an error. If random fails, the
// outcome is void and the same window may be looked at again.
//
// A window is looked at once. A caller that repeats it, for example after a crash, must be sure that nobody saw the
// first outcome.
func (a *Armed) Look(groups []*mechanisms.Sample, random io.Reader) (group int, err error) {
	if a.watch.follows {
		return -1, errors.New("a watch for a change needs the last values: ask LookFrom")
	}
	return a.look(groups, make([]int64, len(groups)), random)
}

// look looks at the groups. last holds their last values, for conditions that look at them.
func (a *Armed) look(groups []*mechanisms.Sample, last []int64, random io.Reader) (group int, err error) {
	if a.fired {
		return -1, errFired
	}
	for _, s := range groups {
		if err := s.Check(); err != nil {
			return -1, err
		}
	}
	source := exact.NewSource(random)
	group = a.first(groups, last, source)
	if err := source.Err(); err != nil {
		return -1, err
	}
	a.fired = group >= 0
	return group, nil
}

// first returns the first group in which a condition fires, or −1.
func (a *Armed) first(groups []*mechanisms.Sample, last []int64, source *exact.Source) int {
	for g, s := range groups {
		for _, t := range a.watch.tests {
			if source.ExpCoinOf(a.plan.nu, a.shortfall(t.level(s, last[g])-t.target)) {
				return g
			}
		}
	}
	return -1
}

// shortfall is what a condition that lies so far beyond its target lacks to fire for certain, at least 0.
func (a *Armed) shortfall(beyond int64) *big.Int {
	short := new(big.Int).Add(a.rho, big.NewInt(a.plan.margin-beyond))
	if short.Sign() < 0 {
		short.SetInt64(0)
	}
	return short
}

// Fired reports whether the instance has fired, and so is done.
func (a *Armed) Fired() bool { return a.fired }

// String shows nothing of the instance.
func (a *Armed) String() string { return "armed watch" }

// GoString shows nothing of the instance.
func (a *Armed) GoString() string { return a.String() }

// MarshalText writes down an instance that has not fired, with its ρ. The text is as secret as the data: with it,
// firing tells the sum that it fired at. Encrypt it.
func (a *Armed) MarshalText() ([]byte, error) {
	if a.fired {
		return nil, errFired
	}
	return fmt.Appendf(nil, "1 %d %d %d %s %s", a.watch.den, a.plan.share, a.plan.margin, a.watch.epsilon.RatString(),
		a.rho), nil
}

// Resume reads an instance that MarshalText wrote. It goes on with the margin and the split that it was armed with,
// even if today's would be different. The error says nothing of ρ.
func (w *Watch) Resume(text []byte) (*Armed, error) {
	var (
		version, den, share, margin int64
		epsilon                     string
		rho                         big.Int
	)
	n, err := fmt.Sscanf(string(text), "%d %d %d %d %s %s", &version, &den, &share, &margin, &epsilon, &rho)
	if n != 6 || err != nil {
		return nil, errors.New("state of a watch: it is damaged; want the text that an armed watch wrote")
	}
	if version != 1 || den != w.den || epsilon != w.epsilon.RatString() || share < 1 || share >= shares || margin < 0 ||
		rho.Sign() < 0 {
		return nil, errors.New(
			"state of a watch: it belongs to another watch; want the state of one with the same ε and shares")
	}
	a := &Armed{watch: w, plan: w.divide(share), rho: &rho}
	a.plan.margin = margin
	return a, nil
}

func leastCommonMultiple(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
