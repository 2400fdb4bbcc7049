package config_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// A stretch of time is taken out of the random life of one person: hours with names, or with none. Whatever else the
// person does, no more draws change than what is said pays for, and with some lives as many do. All ε are 1, and there
// is no δ, so that what is said is a number of draws. A value that is replaced counts as two draws.

// hours is what a person does in each hour: names, in the order in which they are preferred; nil is nothing.
type hours [][]string

// without returns the life without the hours from one to before another.
func (h hours) without(from, to int) hours {
	out := slices.Clone(h)
	clear(out[from:to])
	return out
}

// names returns the first most names of a stretch, in the order of preference.
func (h hours) names(from, to, most int) []string {
	var all []string
	for i := max(0, from); i < min(len(h), to); i++ {
		all = append(all, h[i]...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(most, len(all))]
}

// drawHours draws a life in which the hours of a stretch have something else than most of those before and after it.
func drawHours(random *rand.Rand, n, from, to int, names string) hours {
	some := func() []string {
		all := []string{"", names[:1], names[:2], names[1:3], names[2:]}
		return strings.Split(all[random.IntN(len(all))], "")
	}
	before, inside, after := some(), some(), some()
	all, since := make(hours, n), random.IntN(from+1)
	for i := range all {
		switch {
		case i < since:
		case random.IntN(20) == 0:
			all[i] = some()
		case i >= to:
			all[i] = after
		case i >= from:
			all[i] = inside
		default:
			all[i] = before
		}
	}
	return all
}

func stretchOf(t *testing.T, text string) int {
	s := read(t, text)
	lost := (&config.File{Streams: []*config.Stream{s}}).Payer(s.Budget, time.Now()).InAnyStretch().Lost
	if lost.Unbounded || !lost.Epsilon.IsInteger() {
		t.Fatalf("%s; want a whole ε\n%s", lost, text)
	}
	return int(lost.Epsilon.IntPart())
}

// neverMore compares what changes with a stretch of 12 hours, of random lives, with what is said. If lack is not 0, so
// many fewer are reached.
func neverMore(t *testing.T, said, lack int, names string, changed func(r *rand.Rand, life hours, from, to int) int) {
	random, worst := rand.New(rand.NewPCG(1, 2)), 0
	for range 20_000 {
		const n, length = 60, 12
		from := random.IntN(n - length)
		life := drawHours(random, n, from, from+length, names)
		d := changed(random, life, from, from+length)
		if d > said {
			t.Fatalf("%d draws change with hours %d to %d of %q; %d are said", d, from, from+length, life, said)
		}
		worst = max(worst, d)
	}
	if worst != said-lack {
		t.Errorf("at most %d draws change; %d are said", worst, said)
	}
}

// differ is how many elements are in one of two lists only.
func differ(a, b []string) (n int) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			n++
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			n++
		}
	}
	return n
}

const stretchFile = `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: v, group: g}
    GROUPS
    max_groups: 2
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: SIZE, every: EVERY, grace: 0s}
    releases: [{name: p50, statistic: STATISTIC, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 999, per: 12h}
`

// Windows of a median, where a value may be replaced, and of a count, where names may be. Windows that hold a moment of
// the stretch and another moment cost twice, but those of a count in a single group.
func TestAStretchOfWindows(t *testing.T) {
	for _, c := range []struct {
		statistic, size, every string
		groups                 int
		most                   int
	}{{"median", "5h", "5h", 3, 2}, {"median", "4h", "2h", 3, 2}, {"count", "6h", "3h", 3, 2},
		{"count", "5h", "5h", 1, 1}, {"median", "5h", "5h", 1, 1}} {
		t.Run(fmt.Sprint(c.statistic, c.size, c.every, c.groups), func(t *testing.T) {
			groups := "groups: [a, b, c, d]"
			text := stretchFile
			if c.groups == 1 {
				groups = ""
				text = strings.NewReplacer(", group: g", "", "    max_groups: 2\n", "").Replace(text)
			}
			said := stretchOf(t, strings.NewReplacer("GROUPS", groups, "SIZE", c.size, "EVERY", c.every, "STATISTIC",
				c.statistic).Replace(text))
			size, every := hoursOf(t, c.size), hoursOf(t, c.every)
			names := "abcd"
			if c.groups == 1 {
				names = "aaaa"
			}
			neverMore(t, said, 0, names, func(_ *rand.Rand, life hours, from, to int) (n int) {
				after := life.without(from, to)
				for at := -size; at < len(life); at += every {
					was, is := life.names(at, at+size, c.most), after.names(at, at+size, c.most)
					n += differ(was, is)
					gone := life.names(max(at, from), min(at+size, to), 99)
					for _, g := range is { // if the values of the stretch are larger, and the largest one is kept
						if c.statistic == "median" && slices.Contains(was, g) && slices.Contains(gone, g) {
							n += 2
						}
					}
				}
				return n
			})
		})
	}
}

// Windows of a sum of one person's amounts, cut to the bounds. A window that is touched in part moves by what the bounds
// are apart, and any other by what one person adds at most. In two groups, of which the person counts in both, both
// move. In one of two groups, the person may leave one for the other. All of this is told in ε, as a draw of ε 1 loses.
func TestAStretchOfSums(t *testing.T) {
	for _, c := range []struct {
		size, every, lower string
		of, groups         int // how many of the groups the person counts in
		names              string
		lack               int
	}{{"5h", "5h", "0", 1, 1, "aAbB", 0}, {"4h", "2h", "0", 1, 1, "aAbB", 0}, {"5h", "5h", "-2", 1, 1, "aAbB", 0},
		// Edges move by 3 if the stretch has −1 there, and windows within it by 2 if it has 2: these lives have not both.
		{"5h", "5h", "-1", 1, 1, "aAbB", 1},
		{"5h", "5h", "0", 2, 2, "abAB", 0}, {"5h", "5h", "0", 1, 2, "aAbB", 0}} {
		t.Run(fmt.Sprint(c.size, c.every, c.lower, c.of, c.groups), func(t *testing.T) {
			text := strings.NewReplacer("GROUPS", "groups: [a, b]", "max_groups: 2", fmt.Sprint("max_groups: ", c.of),
				"SIZE", c.size, "EVERY", c.every, "statistic: STATISTIC", "statistic: sum, clip: none", "lower: 0",
				"lower: "+c.lower, "upper: 100", "upper: 2").Replace(stretchFile)
			if c.groups == 1 {
				text = strings.NewReplacer(", group: g", "", "    groups: [a, b]\n", "", "    max_groups: 1\n",
					"").Replace(text)
			}
			size, every := hoursOf(t, c.size), hoursOf(t, c.every)
			lower := int(decimal.RequireFromString(c.lower).IntPart())
			// An hour has amounts of 2, or of far below the lower bound if that is negative, or else of 0, in the groups a
			// and b: A and B are the latter. Who can't count in both groups counts in a, if they are there.
			in := func(h hours, from, to int) (amounts [2]int) {
				var there [2]bool
				for i := max(0, from); i < min(len(h), to); i++ {
					for _, name := range h[i] {
						if g := strings.Index("aAbB", name) / 2; g < c.groups {
							there[g] = true
							amounts[g] += map[bool]int{true: 2, false: 99 * lower}[strings.ToLower(name) == name]
						}
					}
				}
				for g := range amounts {
					amounts[g] = min(max(amounts[g], lower), 2)
				}
				if c.of < c.groups && there[0] {
					amounts[1] = 0
				}
				return amounts
			}
			neverMore(t, stretchOf(t, text), c.lack, c.names, func(_ *rand.Rand, life hours, from, to int) (n int) {
				after := life.without(from, to)
				for at := -size; at < len(life); at += every {
					was, is := in(life, at, at+size), in(after, at, at+size)
					for g := range was {
						n += max(was[g]-is[g], is[g]-was[g])
					}
				}
				return n / 2 // a draw of ε 1 has noise for 2
			})
		})
	}
}

func hoursOf(t *testing.T, text string) int {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return int(d / time.Hour)
}

// Discoveries: who sends other names in the rest of a period changes the counts of these too. Under max_windows a turn
// that is not used is used later.
func TestAStretchOfDiscoveries(t *testing.T) {
	const file = `version: 1
budgets: [{name: b, epsilon: 999, delta: 0.01, per: 12h}]
streams:
  - name: s
    input: {topic: in, user: user, value: v, group: g}
    groups: {discover: [{name: found, every: EVERY, epsilon: 1, delta: 0.000000000001, max_groups: 2TURNS}]}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 0s}
    releases: [{name: hist, statistic: count, epsilon: 0.000001}]
    output: {topic: out}
    budget: b
`
	for _, c := range []struct {
		every, turns string
		lack         int
	}{{"12h", "", 0}, {"5h", "", 0},
		// Who still counts in the last period has used a turn there, and gains one period less. What is said counts
		// both, with the two names of a period.
		{"4h", ", max_windows: {count: 4, per: 12h, parts: 1}", 2}} {
		t.Run(c.every, func(t *testing.T) {
			s := read(t, strings.NewReplacer("EVERY", c.every, "TURNS", c.turns).Replace(file))
			in := (&config.File{Streams: []*config.Stream{s}}).Payer(s.Budget, time.Now()).InAnyStretch()
			if in.Lost.Sum != nil {
				t.Fatalf("%s has a plain sum; want a δ", in.Lost)
			}
			said := 0
			for _, item := range s.Cost(time.Now()).Touched {
				said += int(item.Times)
			}
			every, d := hoursOf(t, c.every), config.All[*config.Discovery](s)[0]
			neverMore(t, said, c.lack, "abcd", func(random *rand.Rand, life hours, from, to int) (n int) {
				u := windows.UserHash{1, random.Uint64N(99)}
				was := counted(t, d.MaxWindows, u, life, every)
				is := counted(t, d.MaxWindows, u, life.without(from, to), every)
				for i := range was {
					n += differ(was[i], is[i])
				}
				return n
			})
		})
	}
}

// counted says for which names a person counts in each period.
func counted(t *testing.T, m *config.MaxWindows, u windows.UserHash, h hours, every int) (all [][]string) {
	var c *windows.Cap
	if m != nil {
		c = windows.NewCap(m.By)
	}
	for from := 0; from < len(h); from += every {
		names := h.names(from, from+every, 2)
		if c != nil {
			if err := c.Begin(windows.Window{Start: int64(from) * int64(time.Hour),
				End: int64(from+every) * int64(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			if len(names) == 0 || !c.Counts(u) {
				names = nil
			}
		}
		all = append(all, names)
	}
	return all
}

// Watches: the windows that overlap a stretch end in two periods of the budget, each with at_most instances. Those that
// look at the window around the start of the stretch, or around its end, may see a person who is removed and added
// again, and cost twice.
func TestAStretchOfWatches(t *testing.T) {
	s := read(t, `version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: v, group: g}
    groups: [a, b]
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 0s}
    releases: [{name: users, statistic: count, epsilon: 0.001}]
    watches: [{name: slow, above: 50, more_than: 0.1, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h, at_most: 3}]
    output: {topic: out}
    budget: {epsilon: 999, per: 12h}
`)
	sum := decimal.Zero
	for _, item := range s.Cost(time.Now()).Touched {
		sum = sum.Add(item.Epsilon.Mul(decimal.NewFromInt(item.Times)))
	}
	if want := decimal.NewFromInt(4 + 2*2); !sum.Equal(want) { // 6 instances, of which 2 are touched in part
		t.Errorf("the watches cost ε %s in a stretch; want %s", sum, want)
	}
}

// Under max_windows a person may count in periods of a discovery that come after the stretch instead. The limits of
// these count too, where the budget pays for less than the discovery costs.
func TestAStretchOfDiscoveriesCostsLaterLimits(t *testing.T) {
	s := read(t, `version: 1
budgets: [{name: b, epsilon: 999, delta: 0.000000001, per: 12h}]
streams:
  - name: s
    input: {topic: in, user: user, value: v, group: g}
    groups: {discover: [{name: found, every: 4h, epsilon: 9, delta: 0.000000000000000001, max_groups: 2, max_windows: {count: 4, per: 48h, parts: 1}}]}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 0s}
    releases: [{name: hist, statistic: count, epsilon: 0.000001}]
    output: {topic: out}
    budget: b
`)
	s.Budget.Epsilon = decimal.RequireFromString("0.5")
	lost := (&config.File{Streams: []*config.Stream{s}}).Payer(s.Budget, time.Now()).InAnyStretch().Lost
	block := time.Duration(config.All[*config.Discovery](s)[0].MaxWindows.By.Block+1) * 4 * time.Hour
	periods := s.Budget.Periods(16*time.Hour) + s.Budget.Periods(block)
	again := 2 * s.Budget.Periods(4*time.Hour)
	if want := s.Budget.Epsilon.Mul(decimal.NewFromInt(periods + again)); !lost.Epsilon.Equal(want) {
		t.Errorf("a stretch costs ε %s; want %s: %d periods, and %d again", lost.Epsilon, want, periods, again)
	}
}
