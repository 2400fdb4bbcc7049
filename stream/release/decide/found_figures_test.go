package decide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/replay/replaytest"
	"github.com/louver/louver/windows"
)

// crowd is what the users of some days sent: for each day, and each user of it, the names.
type crowd []map[string][]string

// byDay is a discovery that ends each day.
type byDay struct {
	epsilon int64 // for one user, in a day; δ is 10⁻⁶
	k       int   // names of a day for which a user counts
	// anyOrder is a control in which names that were found do not come last.
	anyOrder bool
}

// ofDay is the window of a day.
func ofDay(i int) windows.Window {
	return windows.Window{Start: newYear.AddDate(0, 0, i).UnixNano(), End: newYear.AddDate(0, 0, i+1).UnixNano()}
}

// sealed are the parts of the days.
func (days crowd) sealed(seed byte) (parts [][]byte) {
	hasher := windows.NewHasher([16]byte{seed})
	for i, users := range days {
		bag := windows.NewBag(windows.BagSpec{Open: true, Policy: windows.Last, Window: ofDay(i), Hasher: hasher})
		for user, names := range users {
			for _, name := range names {
				bag.PutName(hasher.User([]byte(user)), []byte(name), ofDay(i).Start, 1)
			}
		}
		parts = append(parts, bag.Seal())
	}
	return parts
}

// on lists the names that are on the list after all days, whose parts were sealed with the same seed.
func (c byDay) on(t *testing.T, days [][]byte, seed byte) []string {
	t.Helper()
	k := decimal.NewFromInt(int64(c.k))
	m, err := mechanisms.NewTruncatedGeometric(decimal.NewFromInt(c.epsilon).Div(k), decimal.New(1, -6).Div(k), 1)
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	rules := ledger.Rules{Source: "in path", Keep: int64(7 * day / time.Second), Max: 1e6}
	hasher, random := windows.NewHasher([16]byte{seed}), rand.NewChaCha8([32]byte{seed})
	lists := ledger.NewLists()
	for i, part := range days {
		w := ofDay(i)
		end := time.Unix(0, w.End).UTC()
		last := lists.Last("b", "s", "daily", rules, end)
		tally := windows.NewTally(windows.TallySpec{MaxGroups: c.k, Period: w, Hasher: hasher,
			Last: func(name string) bool { return last[name] && !c.anyOrder },
			Draw: func(n int64) (int64, bool, error) { return m.Draw(n, random) }}, 1<<28, 1<<28)
		for tally.Pass() {
			if err := tally.Add(part, w); err != nil {
				t.Fatal(err)
			}
		}
		all, err := tally.Found()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int64{}
		for _, x := range all {
			found[x.Name] = x.Value
		}
		if err := lists.Add(discoveryOf(found, end, day, rules)); err != nil {
			t.Fatal(err)
		}
	}
	groups, _, err := lists.Of("b", "s", rules)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func discoveryOf(found map[string]int64, end time.Time, period time.Duration, rules ledger.Rules) ledger.Entry {
	return ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "1"}.Discovery("daily", end.Add(-period), end,
		rules, found)
}

// TestZipfWeek: pages by Zipf's law with exponent 1.1, of which each of 10,000 users opens 8 a day (Poisson, with
// repetitions), drawn anew each day. That is a tenth of the scale of the figures in the documents. After a week of
// discoveries, as many names are on the list as in an independent program that shares no code with this one: it has
// maps for hashes, and noise of its own. 300 weeks of it, each:
//
//	                            mean     σ     farthest from the mean
//	one name, found names last  183.15  4.73   3.2 σ
//	two names                   168.56  4.25   2.7 σ
//	one name, in any order       95.46  3.15   3.0 σ
//
// The bound is 6 σ, and a tenth of σ more for the error of the means, which is σ/√300. The numbers of those weeks look
// normal, with a skewness of 0.07 to 0.24. A normal number is beyond the bound with 10⁻⁹, one by a gamma law of the
// skewness 0.24 with 2·10⁻⁷. What is drawn here is the same in each run, for the crowd and the draws have seeds.
//
// The first and the last row are 18 σ apart, so either is seen if it is taken for the other. Noise of twice the ε is
// seen as well. To count for two names and not for one changes too little at this scale: other tests are for that, such
// as TestOneUserChangesFewCounts of package windows.
func TestZipfWeek(t *testing.T) {
	days := zipfWeek(10_000, 100_000).sealed(25)
	for _, c := range []struct {
		what        string
		of          byDay
		mean, sigma float64
	}{
		{"one name, found names last", byDay{1, 1, false}, 183.15, 4.73},
		{"two names", byDay{1, 2, false}, 168.56, 4.25},
		{"one name, in any order", byDay{1, 1, true}, 95.46, 3.15},
		{"control: twice the ε", byDay{2, 1, true}, 95.46, 3.15},
	} {
		got := float64(len(c.of.on(t, days, 25)))
		t.Logf("%s: %v on the list", c.what, got)
		if off := math.Abs(got - c.mean); (off > 6.1*c.sigma) != (c.of.epsilon > 1) {
			t.Errorf("%s: %v on the list, the bound is %v ± %v", c.what, got, c.mean, 6.1*c.sigma)
		}
	}
}

// zipfWeek is a week of users who open pages.
func zipfWeek(users, pages int) crowd {
	upTo, sum := make([]float64, pages), 0.0
	for i := range upTo {
		sum += math.Pow(float64(i+1), -1.1)
		upTo[i] = sum
	}
	random := rand.New(rand.NewPCG(25, 1))
	days := make(crowd, 7)
	for day := range days {
		days[day] = map[string][]string{}
		for u := range users {
			var opened []string
			for p := random.Float64(); p > math.Exp(-8); p *= random.Float64() { // Poisson's law
				i, _ := slices.BinarySearch(upTo, sum*random.Float64())
				opened = append(opened, fmt.Sprint(i))
			}
			days[day][fmt.Sprint(u)] = opened
		}
	}
	return days
}

// TestWeekOfRequests: four days of real requests, of 341 to 627 clients. Names are section and size. The names with 40
// clients a day are always found, and in the mean of 60 draws as many are on the list as in an independent program (see
// TestZipfWeek), whose 4,000 draws have mean 16.124 and σ 0.753. The mean of 60 has σ/√60, and that of 4,000 adds
// little to it. 6.1 σ are 0.60: a normal mean is beyond them with less than 10⁻⁸. In any order there would be 12.65,
// and with two names for each client, which have half of ε, 12.16.
//
// Of all draws of that program, and these 7 names in it, none was without one of them: 28,000 without a miss, so less
// than one of 1,000 misses (95 %). Here that is 420 names; the seeds are fixed.
func TestWeekOfRequests(t *testing.T) {
	days, often := requestDays(t)
	sum := 0.0
	const draws = 60
	for draw := range byte(draws) {
		names := byDay{1, 1, false}.on(t, days.sealed(draw), draw)
		sum += float64(len(names))
		for _, name := range often {
			if !slices.Contains(names, name) {
				t.Errorf("draw %d: %s is not found", draw, name)
			}
		}
	}
	mean := sum / draws
	t.Logf("%.2f names on the list", mean)
	if len(often) != 7 || math.Abs(mean-16.124) > 6.1*0.753/math.Sqrt(draws) {
		t.Errorf("%.2f names are on the list, want 16.12 ± 0.60; %d have 40 clients a day, want 7", mean, len(often))
	}
}

// requestDays are the days of web_requests.csv, and the names with 40 clients a day.
func requestDays(t *testing.T) (days crowd, often []string) {
	t.Helper()
	clients, today := map[string]int{}, ""
	for _, row := range replaytest.Requests(t) {
		if day := row[0][:len("2015-05-17")]; day != today {
			days, today = append(days, map[string][]string{}), day
		}
		users, client, name := days[len(days)-1], row[1], row[2]+"/"+row[4]
		if !slices.Contains(users[client], name) {
			users[client] = append(users[client], name)
			clients[name]++
		}
	}
	for name, n := range clients {
		if n >= 40*len(days) {
			often = append(often, name)
		}
	}
	return days, often
}
