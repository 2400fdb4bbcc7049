package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/stat"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/windows"
)

// A population whose users open pages that nobody listed: Zipf's law with exponent 1.1, drawn anew every day. The
// number that a user opens has a Poisson distribution, and about 7.4 of them differ. In a second population users
// differ more: the number has a geometric distribution of the same mean, and 7.2 differ.
const (
	groupDays   = 7
	groupOpened = 8 // on average, with repetitions
	groupCommon = 50
)

// groupCase says how a day's discovery is made, at ε 1 and δ 10⁻⁶ for one user.
type groupCase struct {
	name     string
	k        int64 // names for which a user counts
	atLeast  int64
	lateLast bool // names that were found within half of a week come last
	unequal  bool // the geometric law says how many pages a user opens
}

var groupCases = []groupCase{
	{"one name, found names last", 1, 1, true, false},
	{"two names", 2, 1, true, false},
	{"four names", 4, 1, true, false},
	{"one name, in any order", 1, 1, false, false},
	{"one name, at least 10 users", 1, 10, true, false},
	{"one name, users differ more", 1, 1, true, true},
	{"two names, users differ more", 2, 1, true, true},
	{"four names, users differ more", 4, 1, true, true},
}

// groups counts the names on the list after a week of discoveries, and finds out from how many users a day on a name is
// there. A name stays for a week after it was last found.
func groups(s *session) error {
	names, users := 1_000_000, 100_000
	if s.quick {
		names, users = 10_000, 2_000
	}
	all := map[bool]pages{false: newPages(names, false), true: newPages(names, true)}
	lists := make([]groupList, len(groupCases))
	for i := range lists {
		lists[i].found = map[string]int{}
	}
	for day := range groupDays {
		for _, unequal := range []bool{false, true} {
			parts, there := all[unequal].day(day, users)
			s.log("day %d: %d names", day+1, there)
			for i, c := range groupCases {
				if c.unequal != unequal {
					continue
				}
				if err := lists[i].discover(c, day, parts); err != nil {
					return err
				}
			}
		}
	}
	t := newTable("discovery", "on_the_list", "users_95", "recall_of_50", "below_20_users")
	var lines []line
	for i, c := range groupCases {
		p := all[c.unequal]
		curve := lists[i].curve(p, users)
		lines = append(lines, line{name: c.name, x: curve.x, y: curve.y})
		few := 0
		for name := range lists[i].found {
			if p.expected(name, users) < 20 {
				few++
			}
		}
		t.add(c.name, len(lists[i].found), curve.reaches(0.95), lists[i].recall(p, users),
			float64(few)/float64(len(lists[i].found)))
	}
	if err := s.chart("groups", "Names on the list after a week, ε 1 and δ 10⁻⁶ a day for one user", "users a day",
		"share on the list", true, false, lines...); err != nil {
		return err
	}
	return s.write("groups", t)
}

// groupList holds the day on which each name was last found.
type groupList struct{ found map[string]int }

// discover ends a day.
func (l *groupList) discover(c groupCase, day int, parts [][]byte) error {
	m, err := mechanisms.NewTruncatedGeometric(decimal.NewFromInt(1).Div(decimal.NewFromInt(c.k)),
		decimal.New(1, -6).Div(decimal.NewFromInt(c.k)), c.atLeast)
	if err != nil {
		return err
	}
	random := repeatable("groups", c.name, day)
	w := groupDay(day)
	tally := windows.NewTally(windows.TallySpec{MaxGroups: int(c.k), Period: w, Hasher: groupHasher(),
		Last: func(name string) bool {
			last, ok := l.found[name]
			return ok && c.lateLast && day-last <= groupDays/2
		},
		Draw: func(n int64) (int64, bool, error) { return m.Draw(n, random) }}, 1<<29, 1<<29)
	for tally.Pass() {
		for _, p := range parts {
			if err := tally.Add(p, w); err != nil {
				return err
			}
		}
	}
	found, err := tally.Found()
	for _, f := range found {
		l.found[f.Name] = day
	}
	return err
}

// recall is the share of names with at least 50 users a day that are on the list.
func (l *groupList) recall(p pages, users int) float64 {
	common, listed := 0, 0
	for i := range p.upTo {
		if p.users(i, users) < groupCommon {
			break
		}
		common++
		if _, ok := l.found[pageName(i)]; ok {
			listed++
		}
	}
	return float64(listed) / float64(max(common, 1))
}

// curve is the share of names on the list by their users a day.
type curve struct{ x, y []float64 }

func (l *groupList) curve(p pages, users int) (c curve) {
	var at, listed []float64
	for i := range p.upTo {
		n := p.users(i, users)
		if n < 5 {
			break
		}
		_, ok := l.found[pageName(i)]
		at, listed = append(at, n), append(listed, map[bool]float64{true: 1}[ok])
	}
	// names one after another, so that each point has an error of about 3 %
	for size := min(200, max(1, len(at)/10)); len(at) >= size; at, listed = at[size:], listed[size:] {
		c.x, c.y = append(c.x, stat.Mean(at[:size], nil)), append(c.y, stat.Mean(listed[:size], nil))
	}
	slices.Reverse(c.x)
	slices.Reverse(c.y)
	return c
}

// reaches is the number of users from which on the share is never below p again.
func (c curve) reaches(p float64) float64 {
	from := math.NaN()
	for i := len(c.x) - 1; i >= 0 && c.y[i] >= p; i-- {
		from = c.x[i]
	}
	return from
}

// pages are names by Zipf's law: the probability that one of the first i+1 is opened.
type pages struct {
	upTo    []float64
	unequal bool
}

func newPages(n int, unequal bool) pages {
	p, sum := pages{make([]float64, n), unequal}, 0.0
	for i := range p.upTo {
		sum += math.Pow(float64(i+1), -1.1)
		p.upTo[i] = sum
	}
	for i := range p.upTo {
		p.upTo[i] /= sum
	}
	return p
}

func pageName(i int) string { return fmt.Sprintf("/products/%d", i) }

// users is how many users a day a page has on average.
func (p pages) users(i, users int) float64 {
	probability := p.upTo[i]
	if i > 0 {
		probability -= p.upTo[i-1]
	}
	if p.unequal {
		return float64(users) * groupOpened * probability / (1 + (groupOpened-1)*probability)
	}
	return float64(users) * -math.Expm1(-groupOpened*probability)
}

func (p pages) expected(name string, users int) float64 {
	var i int
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, "/products/"), "%d", &i); err != nil {
		panic(err) // all names are ours
	}
	return p.users(i, users)
}

// day returns the parts of a day, and how many names there are in it.
func (p pages) day(day, users int) (parts [][]byte, there int) {
	random := repeatable("pages", day)
	w := groupDay(day)
	spec := windows.BagSpec{Open: true, Policy: windows.Last, Window: w, Hasher: groupHasher()}
	bag, seen := windows.NewBag(spec), map[int]bool{}
	for u := range users {
		user := spec.Hasher.User(fmt.Append(nil, u))
		for range p.opened(random) {
			i, _ := slices.BinarySearch(p.upTo, random.uniform())
			seen[i] = true
			bag.PutName(user, []byte(pageName(i)), w.Start, 1)
		}
		if bag.Bytes() > 32<<20 {
			parts, bag = append(parts, bag.Seal()), windows.NewBag(spec)
		}
	}
	return append(parts, bag.Seal()), len(seen)
}

// opened is how many pages a user opens on a day.
func (p pages) opened(random *stream) int {
	if p.unequal {
		return 1 + int(math.Log(random.uniform())/math.Log1p(-1./groupOpened))
	}
	return random.poisson(groupOpened)
}

// poisson returns a number from Poisson's law.
func (s *stream) poisson(mean float64) (n int) {
	for p := s.uniform(); p > math.Exp(-mean); n++ {
		p *= s.uniform()
	}
	return n
}

func groupHasher() *windows.Hasher { return windows.NewHasher([16]byte{7}) }

func groupDay(day int) windows.Window {
	const length = 24 * 3600e9
	return windows.Window{Start: int64(day) * length, End: int64(day+1) * length}
}
