package mechanisms

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sure reports whether a stream has enough users for bands.
func (s stream) sure() bool {
	p, _ := strconv.ParseFloat(s.p, 64)
	epsilon, _ := strconv.ParseFloat(s.epsilon, 64)
	least := 5.0
	if p > 0.75 {
		least = 8
	}
	return epsilon*float64(s.users)*min(p, 1-p) >= least
}

// settings draws streams of a shape with enough users. Those that follow each other differ in p and ε only, and so have
// the same users.
func settings(random *rand.Rand, shape string, want int) (all [][]stream) {
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	ways := slices.Sorted(maps.Keys(courses))
	for count := 0; count < want; {
		users := []int{30, 100, 300, 1000, 1000, 10000}[random.IntN(6)]
		of := stream{shape: shape, course: pick(ways...), users: users,
			level: []float64{150, 1200, 1200, 30000}[random.IntN(4)], turnover: []float64{0, 0.2, 1, 1}[random.IntN(4)]}
		var together []stream
		for range 6 {
			of.p, of.epsilon = pick("0.5", "0.5", "0.9", "0.99"), pick("0.02", "0.05", "0.1", "0.5", "1")
			if of.sure() && count < want {
				together = append(together, of)
				count++
			}
		}
		if len(together) > 0 {
			all = append(all, together)
		}
	}
	return all
}

// tally counts how many of some bands hold the exact figure.
type tally struct{ hold, of int }

func (s *tally) add(holds bool) {
	s.of++
	if holds {
		s.hold++
	}
}

func (s tally) value() float64 { return float64(s.hold) / float64(max(1, s.of)) }

// Bands hold the exact figure of the window in 95 %, whatever the shape of the data, and are not much wider than they
// must be: 400 streams of 200 windows, of ten shapes and six courses, with 30 to 10,000 users, ε from 0.02 to 1, p50,
// p90 and p99, and users that stay, change slowly or are new in each window.
//
// Streams of a shape cover with a standard deviation of at most 0.035 (log-normal 2.2: 0.05, 40 % zeros: 0.16), so 40
// have a mean within 0.0055 (0.008, 0.025). In three sets of other seeds the shapes held 0.970 to 0.999, log-normal 2.2
// 0.951 to 0.976, and 40 % zeros 0.912 to 0.932; all together 0.979 to 0.982, the first ten windows 0.978 to 0.981, the
// five from a shift on 0.934 to 0.966, and half widths were 1.5 to 1.6 times the real error in the middle, and 3.5
// times at the 90th percentile. The limits are three to four standard errors below. Bands of two thirds of their width
// do not keep them.
func TestBandsCover(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 4))
	var all, early, shifted tally
	bands, windows := 0, 0
	var ratios []float64
	for _, shape := range tested {
		var mean float64
		streams := 0
		for i, together := range settings(random, shape, 40) {
			for j, shown := range follow(t, together, 200, byte(i)) {
				var one tally
				for w, x := range shown {
					windows++
					if x.Basis == BasisRanks {
						continue
					}
					one.add(x.covers())
					all.add(x.covers())
					if w < 10 {
						early.add(x.covers())
					}
					if together[j].course == "shift" && 100 <= w && w < 105 {
						shifted.add(x.covers())
					}
				}
				if bands += one.of; one.of > 0 {
					mean += one.value()
					streams++
				}
				if ratio, ok := tooWide(shown); ok {
					ratios = append(ratios, ratio)
				}
			}
		}
		mean /= float64(streams)
		least, other := map[string]float64{"log-normal 2.2": 0.925, "40 % zeros": 0.85}[shape]
		if !other {
			least = 0.95
		}
		if t.Logf("%s: %.3f in the mean of %d streams", shape, mean, streams); mean < least {
			t.Errorf("%s: %.3f of the bands hold the figure, want %v", shape, mean, least)
		}
	}
	for name, c := range map[string]struct {
		tally
		least float64
	}{"all": {all, 0.97}, "the first ten windows": {early, 0.96}, "after a shift": {shifted, 0.92}} {
		if t.Logf("%s: %.4f of %d", name, c.value(), c.of); c.value() < c.least || c.of < 150 {
			t.Errorf("%s: %.3f of %d bands hold the figure, want %v", name, c.value(), c.of, c.least)
		}
	}
	slices.Sort(ratios)
	middle, wide := ratios[len(ratios)/2], ratios[len(ratios)*9/10]
	t.Logf("half widths are %.2f times the real error, at the 90th percentile %.2f times; %d of %d windows have a band",
		middle, wide, bands, windows)
	if middle > 2 || wide > 4.5 || float64(bands) < 0.8*float64(windows) {
		t.Errorf("half widths are %.2f and %.2f times the real error in %d of %d windows; want at most 2 and 4.5 in "+
			"80 %%", middle, wide, bands, windows)
	}
}

// Beside the edge of a heap of equal values the exact median may be far from a draw that has almost its rank. Nothing
// public bounds that. Bands of medians hold it in 88 to 90 % of the windows all the same, over zeros and prices whose
// edge is anywhere between 31 and 67 % of the users: those of few users take in the last values of the series.
//
// The seeds are fixed, so the test has no false alarm. In three sets of seeds zeros had 0.878 to 0.899 and prices 0.892
// to 0.901. Bands that do not take in the last values have 0.852 and 0.864 with this one.
func TestBandsBesideHeaps(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 26))
	means, streams, poor := map[string]float64{}, map[string]int{}, map[string]int{}
	for i, shape := range besideHeaps {
		_, kind, _ := strings.Cut(shape, " ")
		for j, together := range settings(random, shape, 36) {
			together = slices.DeleteFunc(together, func(s stream) bool { return s.p != "0.5" })
			if len(together) == 0 {
				continue
			}
			for _, windows := range follow(t, together, 200, byte(7*i+j)) {
				var one tally
				for _, x := range windows {
					if x.Basis != BasisRanks {
						one.add(x.covers())
					}
				}
				if one.of > 0 {
					means[kind] += one.value()
					streams[kind]++
				}
				if one.value() < 0.8 {
					poor[kind]++
				}
			}
		}
	}
	for kind, n := range streams {
		mean := means[kind] / float64(n)
		t.Logf("%s: %.3f in the mean of %d streams; %d hold less than 80 %%", kind, mean, n, poor[kind])
		if mean < 0.88 {
			t.Errorf("%s: %.3f of the bands hold the median, want 0.88", kind, mean)
		}
	}
}

// tooWide returns the median half width of a stream's bands as a multiple of the real 95 % error of its values. It is
// not ok if there are no bands, or if 95 % of the values are exactly right.
func tooWide(windows []shown) (ratio float64, ok bool) {
	var halves []float64
	var off []int64
	for _, x := range windows {
		off = append(off, x.off())
		if x.Basis != BasisRanks {
			halves = append(halves, x.half())
		}
	}
	slices.Sort(halves)
	slices.Sort(off)
	real := off[len(off)*95/100]
	if len(halves) == 0 || real == 0 {
		return 0, false
	}
	return halves[len(halves)/2] / float64(real), true
}

// Where a stream is as usual as that of `louver demo`, its p50 has a band of at most 2.5 times the real error. Bands
// that were taken from the filter's belief had 4.75 times. With heavy tails, where those held 69 to 97 %, bands hold at
// least 90 %.
func TestBandsOfKnownStreams(t *testing.T) {
	t.Parallel()
	shapes := []string{"log-normal 0.3", "log-normal 0.6"}
	for i, shape := range shapes {
		usual := stream{shape, "constant", "0.5", 1200, 1000, 1, "0.1"}
		windows := follow(t, []stream{usual}, 300, byte(100+i))[0]
		if ratio, ok := tooWide(windows); !ok || ratio > 2.5 {
			t.Errorf("%s: half widths are %.2f times the real error, want 2.5", shape, ratio)
		} else {
			t.Logf("%s: half widths are %.2f times the real error", shape, ratio)
		}
	}
	for i, of := range []stream{
		{"log-normal 2.2", "constant", "0.5", 1200, 300, 1, "0.5"},
		{"log-normal 2.2", "constant", "0.9", 1200, 300, 1, "0.5"},
		{"log-normal 2", "constant", "0.9", 1200, 1000, 1, "0.1"},
		{"log-normal 2.5", "constant", "0.9", 1200, 1000, 1, "0.1"},
	} {
		var s tally
		for _, x := range follow(t, []stream{of}, 1000, byte(110+i))[0] {
			if x.Basis != BasisRanks {
				s.add(x.covers())
			}
		}
		if t.Logf("%+v: %.3f of %d", of, s.value(), s.of); s.value() < 0.9 || s.of < 800 {
			t.Errorf("%+v: %.3f of %d bands hold the figure, want 0.9", of, s.value(), s.of)
		}
	}
}

// Two windows of a stream that does not change are told apart at 5 % in at most 2.5 % of the pairs, and at 0.1 % in at
// most 0.2 %. In studies it was 1.1 % and 0.08 %, and at most 2.7 % for one shape. The pairs of a stream depend on each
// other, so the shares of 100 streams have standard errors of about 0.3 and 0.03 percentage points.
func TestNothingChangesInConstantStreams(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 5))
	var five, tenth tally // of a percent
	for _, shape := range tested {
		for i, together := range settings(random, shape, 10) {
			for j := range together {
				together[j].course = "constant"
			}
			for _, windows := range follow(t, together, 150, byte(i+50)) {
				for w, x := range windows {
					for _, back := range []int{1, 60} {
						if w < back || x.Basis != BasisScatter || windows[w-back].Basis != BasisScatter {
							continue // nobody can tell
						}
						before := windows[w-back]
						distance := float64(max(x.value-before.value, before.value-x.value))
						p := Apart(distance, max(x.Usual, before.Usual))
						five.add(p < 0.05)
						tenth.add(p < 0.001)
					}
				}
			}
		}
	}
	t.Logf("%.4f and %.5f of %d pairs", five.value(), tenth.value(), five.of)
	if five.value() > 0.025 || tenth.value() > 0.002 || five.of < 10_000 {
		t.Errorf("%.4f of %d pairs differ at 5 %% and %.5f at 0.1 %%, want at most 0.025 and 0.002", five.value(),
			five.of, tenth.value())
	}
}

// A gap right at the quantile cannot be seen: all of its points have the same rank, so draws follow the measure and
// stay where they were. The medians of half 0 and half 300 tell so themselves: at most 10 % of the pairs of windows
// have two bands from the scatter and can be compared. In larger studies it was 9 %.
func TestHalfAndHalfIsNotCompared(t *testing.T) {
	t.Parallel()
	g := smallGrid(t, 60_001)
	var compared tally
	for i := range 10 {
		half := []int64{150, 500}[i%2]
		s := &Sample{n: 2 * half, values: []int64{0, 300}, upTo: []int64{half, 2 * half}}
		of := []stream{{p: "0.5", epsilon: "0.5"}}
		windows := publish(t, g, of, 200, byte(120+i), func(int) *Sample { return s })[0]
		for w := 1; w < len(windows); w++ {
			compared.add(windows[w].Basis == BasisScatter && windows[w-1].Basis == BasisScatter)
		}
	}
	if t.Logf("%.3f of %d pairs are compared", compared.value(), compared.of); compared.value() > 0.1 {
		t.Errorf("%.3f of %d pairs of half 0 and half 300 are compared, want at most 0.1", compared.value(), compared.of)
	}
}
