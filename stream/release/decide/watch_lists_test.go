package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/windows"
)

// These tests go through all that three users may send under two names in two windows, while one instance of a watch
// looks at them. The first window has the list a. At its end a discovery looks for names, which publishes what it
// finds. That is the list of the second window: b may have joined, and a may have left. Samples and counts are those of
// the service, and the laws are computed here.

const (
	gameUsers   = 3
	gameEpsilon = 1.5 // of the watch
	// A discovery has noise on −2…2 with P(z) ∝ 2^−|z|, and finds a name from a count of 3 on: ε is ln 2, and δ a
	// tenth.
	gameK, gameDelta = 2, 0.1
)

// gameData says what each user sends in a window: a digit for each name, 0 for nothing, 1 or 2 for a value.
type gameData [gameUsers][2]int

func (d gameData) without() gameData {
	d[0] = [2]int{}
	return d
}

// everyGame calls f with all data of a window, of which values of 2 are only there if both are wanted.
func everyGame(values int, f func(gameData)) {
	n := values + 1
	for i := range int(math.Pow(float64(n), 2*gameUsers)) {
		var d gameData
		for u := range d {
			d[u] = [2]int{i % n, i / n % n}
			i /= n * n
		}
		f(d)
	}
}

// game is a watch that looks at both windows.
type game struct {
	t                       *testing.T
	maxGroups               int
	hit, miss, target, unit float64 // of the condition, whether a value is 2
	share, margin           float64
	laws                    map[lookedAt][]float64
	seen                    map[seenIn][]float64
	counted                 map[gameData][2]int64
}

// seenIn says which levels there are: those of a period.
type seenIn struct {
	period int
	data   gameData
	list   string
}

// lookedAt are the levels of both windows: a list has two names at most, and that of the first window has one.
type lookedAt struct {
	n      int
	levels [3]float64
}

func newGame(t *testing.T, maxGroups int, c watch.Condition, hit, miss, target, unit float64) *game {
	t.Helper()
	grid, err := mechanisms.NewGrid(decimal.NewFromInt(1), decimal.NewFromInt(2), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	w, err := watch.New(watch.Query{Conditions: []watch.Condition{c}, Epsilon: decimal.NewFromFloat(gameEpsilon),
		FalseAlarms: decimal.RequireFromString("0.5"), Windows: 1, Groups: 1, Grid: grid})
	if err != nil {
		t.Fatal(err)
	}
	armed, err := w.Arm(noise)
	if err != nil {
		t.Fatal(err)
	}
	text, err := armed.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	g := &game{t: t, maxGroups: maxGroups, hit: hit, miss: miss, target: target, unit: unit,
		laws: map[lookedAt][]float64{}, seen: map[seenIn][]float64{}, counted: map[gameData][2]int64{}}
	var version, den, rho float64
	var epsilon string
	if _, err := fmt.Sscan(string(text), &version, &den, &g.share, &g.margin, &epsilon, &rho); err != nil ||
		den != unit {
		t.Fatalf("%s: %v", text, err)
	}
	return g
}

func (g *game) bag(period int, d gameData) []byte {
	w := windows.Window{Start: int64(period) * 3600e9, End: int64(period+1) * 3600e9}
	bag := windows.NewBag(windows.BagSpec{Open: true, Policy: windows.Last, Window: w, Hasher: gameHasher})
	for u, names := range d {
		for name, value := range names {
			if value > 0 {
				bag.PutName(gameHasher.User(fmt.Append(nil, u)), []byte{byte('a' + name)}, w.Start, int64(value-1))
			}
		}
	}
	return bag.Seal()
}

var gameHasher = windows.NewHasher([16]byte{7})

// levels returns by how much each group of a list is beyond the target, in the samples of the service.
func (g *game) levels(period int, d gameData, list string) []float64 {
	key := seenIn{period, d, list}
	if known, ok := g.seen[key]; ok {
		return known
	}
	w := windows.Window{Start: int64(period) * 3600e9, End: int64(period+1) * 3600e9}
	m := windows.NewMerger(windows.BagSpec{Open: true, Policy: windows.Last, Window: w, Hasher: gameHasher,
		Groups: strings.Split(list, "")[:len(list)], MaxGroups: g.maxGroups}, 1<<20)
	for m.Pass() {
		if err := m.Add(g.bag(period, d), w); err != nil {
			g.t.Fatal(err)
		}
	}
	levels := []float64{}
	for i := range list {
		q := -g.target
		for _, p := range m.All(i) {
			q += float64(p.Count) * []float64{g.miss, g.hit}[p.Index]
		}
		levels = append(levels, q)
	}
	g.seen[key] = levels
	return levels
}

// counts are those of the names in the discovery at the end of the first window, where a comes last.
func (g *game) counts(d gameData) (counts [2]int64) {
	if known, ok := g.counted[d]; ok {
		return known
	}
	w := windows.Window{Start: 0, End: 3600e9}
	tally := windows.NewTally(windows.TallySpec{MaxGroups: 1, Period: w, Hasher: gameHasher,
		Last: func(name string) bool { return name == "a" },
		Draw: func(users int64) (int64, bool, error) { return users, true, nil }}, 1<<20, 1<<20)
	for tally.Pass() {
		if err := tally.Add(g.bag(0, d), w); err != nil {
			g.t.Fatal(err)
		}
	}
	found, err := tally.Found()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range found {
		counts[f.Name[0]-'a'] = f.Value
	}
	g.counted[d] = counts
	return counts
}

// finds is the law of a discovery: by what is published, "a:4 " for example.
func finds(counts [2]int64) map[string]float64 {
	law := map[string]float64{"": 1}
	for name, n := range counts {
		if n == 0 {
			continue // is never found
		}
		next := map[string]float64{}
		for z := int64(-gameK); z <= gameK; z++ {
			said := ""
			if n+z > gameK {
				said = fmt.Sprintf("%c:%d ", 'a'+name, n+z)
			}
			for before, p := range law {
				next[before+said] += p * math.Exp2(-math.Abs(float64(z))) / 2.5 // ¼ + ½ + 1 + ½ + ¼
			}
		}
		law = next
	}
	return law
}

// listOf is the list that follows from what was published.
func listOf(published string) (list string) {
	for _, name := range []string{"a", "b"} {
		if strings.Contains(published, name+":") {
			list += name
		}
	}
	return list
}

// looks is the law of an instance: the probability to fire at each of several levels, which it looks at in turn, and
// last that of silence. Its ε is b·r_ρ + (a + b)·r_ν, or the same with a·r_ρ if that is more; b is the most by which a
// user raises a sum, a that by which one lowers it.
func (g *game) looks(levels []float64) []float64 {
	key := lookedAt{n: len(levels)}
	copy(key.levels[:], levels)
	if known, ok := g.laws[key]; ok {
		return known
	}
	a, b := max(0, -g.hit, -g.miss), max(0, g.hit, g.miss)
	part := gameEpsilon / (max(a, b)*g.share + (a+b)*(100-g.share))
	rho, nu := part*g.share, part*(100-g.share)
	law := make([]float64, len(levels)+1)
	for r := 0.; r < 60/rho; r++ {
		p := -math.Expm1(-rho) * math.Exp(-rho*r)
		for i, level := range levels {
			fires := math.Exp(-nu * max(0, g.margin+r-level))
			law[i] += p * fires
			p *= 1 - fires
		}
		law[len(levels)] += p
	}
	g.laws[key] = law
	return law
}

// outcome is what is published of both windows and the discovery.
type outcome struct {
	found, list string
	fired       string // in which group of which window; "" for silence
}

// law is the law of all outcomes. fresh arms another instance for the second window.
func (g *game) law(first, second gameData, list func(published string, second gameData) string,
	fresh bool) map[outcome]float64 {
	law := map[outcome]float64{}
	before := g.levels(0, first, "a")
	for said, p := range finds(g.counts(first)) {
		of := list(said, second)
		after := g.levels(1, second, of)
		add := func(fired string, q float64) { law[outcome{said, of, fired}] += p * q }
		var looks []float64
		if fresh {
			looks = slices.Clone(g.looks(before))
			silent := looks[1]
			looks = looks[:1]
			for _, q := range g.looks(after) {
				looks = append(looks, silent*q)
			}
		} else {
			looks = g.looks(append(slices.Clone(before), after...))
		}
		for i, q := range looks {
			switch {
			case i == 0:
				add("a in the first", q)
			case i == len(looks)-1:
				add("", q)
			default:
				add(of[i-1:i]+" in the second", q)
			}
		}
	}
	return law
}

// worst goes through all data, with one user and without. loss is the greatest |ln(P/P')| of what the watch says, given
// what the discovery published; beyond is how much more probable any event is than e^(ε + ln 2) times as probable.
func (g *game) worst(values int, list func(published string, second gameData) string, fresh bool) (loss,
	beyond float64) {
	var firsts, seconds []gameData
	distinct := func(all *[]gameData, of func(gameData) string) {
		known := map[string]bool{}
		everyGame(values, func(d gameData) {
			if key := of(d) + of(d.without()); !known[key] {
				known[key] = true
				*all = append(*all, d)
			}
		})
	}
	// Data that have the same counts and levels, with the user and without, have the same law.
	distinct(&firsts, func(d gameData) string { return fmt.Sprint(g.counts(d), g.levels(0, d, "a")) })
	distinct(&seconds, func(d gameData) string {
		return fmt.Sprint(g.levels(1, d, "a"), g.levels(1, d, "b"), g.levels(1, d, "ab"), list("", d))
	})
	for _, first := range firsts {
		p, q := finds(g.counts(first)), finds(g.counts(first.without()))
		for _, second := range seconds {
			with, without := g.law(first, second, list, fresh), g.law(first.without(), second.without(), list, fresh)
			for _, pair := range [][2]map[outcome]float64{{with, without}, {without, with}} {
				more := 0.
				for o, x := range pair[0] {
					more += max(0, x-2*math.Exp(gameEpsilon)*pair[1][o])
				}
				beyond = max(beyond, more)
			}
			for o, x := range with {
				if y := without[o]; y > 0 && x > 0 {
					loss = max(loss, math.Abs(math.Log(x/p[o.found]/(y/q[o.found]))))
				}
			}
		}
	}
	return loss, beyond
}

// TestAWatchWithAListThatMoves: what it says of two windows with different lists is ε-DP given the lists, and all of ε
// is used. With the discovery that makes the list it is (ε + ln 2, δ)-DP.
func TestAWatchWithAListThatMoves(t *testing.T) {
	published := func(said string, _ gameData) string { return listOf(said) }
	one, two, quarter, none := decimal.NewFromInt(1), decimal.NewFromInt(2), decimal.RequireFromString("0.25"), int64(0)
	for _, c := range []struct {
		maxGroups, values       int
		condition               watch.Condition
		hit, miss, target, unit float64
	}{
		{1, 1, watch.Condition{Below: &two, Users: &none}, 0, 1, 0, 1},
		{2, 1, watch.Condition{Below: &two, Users: &none}, 0, 1, 0, 1},
		{1, 2, watch.Condition{Above: &one, MoreThan: &quarter}, 3, -1, 0, 4},
	} {
		g := newGame(t, c.maxGroups, c.condition, c.hit, c.miss, c.target, c.unit)
		loss, beyond := g.worst(c.values, published, false)
		t.Logf("%s, %d groups: largest loss %.4f ε, divergence %.4f", c.condition, c.maxGroups,
			loss/gameEpsilon, beyond)
		if loss > gameEpsilon*(1+1e-9) || beyond > gameDelta*(1+1e-9) {
			t.Errorf("%s, %d groups: a loss of %g and a divergence of %g; want at most %g and %g", c.condition,
				c.maxGroups, loss, beyond, gameEpsilon, gameDelta)
		}
		if loss < 0.99*gameEpsilon {
			t.Errorf("%s: only %g of ε is used", c.condition, loss/gameEpsilon)
		}
		if c.values > 1 {
			continue
		}
		if loss, _ := g.worst(c.values, published, true); loss <= gameEpsilon*(1+1e-9) {
			t.Errorf("%s: the test does not notice a fresh secret for each list: a loss of %g", c.condition, loss)
		}
	}
	// A list of the names that have three users in the window itself was not published before.
	g := newGame(t, 2, watch.Condition{Below: &two, Users: &none}, 0, 1, 0, 1)
	raw := func(_ string, second gameData) (list string) {
		for name := range 2 {
			n := 0
			for u := range second {
				n += min(1, second[u][name])
			}
			if n == gameUsers {
				list += string(rune('a' + name))
			}
		}
		return list
	}
	if _, beyond := g.worst(1, raw, false); beyond <= gameDelta {
		t.Errorf("the test does not notice a list by true counts: a divergence of %g", beyond)
	}
}
