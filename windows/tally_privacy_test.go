package windows

import (
	"fmt"
	"math"
	"testing"
)

// These tests go through all records that three users may have under three names, in two periods, and through all names
// that may have come last.

const (
	fewUsers = 3
	fewNames = 3
)

// fewData says which names each user has in a period, as bits.
type fewData [fewUsers]int

func (d fewData) without(user int) fewData {
	d[user] = 0
	return d
}

// everyData calls f with all data of a period.
func everyData(f func(d fewData)) {
	for i := range 1 << (fewUsers * fewNames) {
		f(fewData{i & 7, i >> 3 & 7, i >> 6})
	}
}

// fewCounts are the users of each name.
type fewCounts [fewNames]int64

// counting says who counts where: in a period, with these data and these names coming last.
type counting func(t *testing.T, period int, d fewData, last, k int) fewCounts

// byTally counts as the service does.
func byTally(t *testing.T, period int, d fewData, last, k int) (counts fewCounts) {
	w := Window{int64(period) * 3600e9, int64(period+1) * 3600e9}
	spec := TallySpec{MaxGroups: k, Period: w, Hasher: NewHasher([16]byte{3}), Draw: exactly,
		Last: func(name string) bool { return last>>(name[0]-'a')&1 == 1 }}
	bag := NewBag(BagSpec{Open: true, Policy: Last, Window: w, Hasher: spec.Hasher})
	for user, names := range d {
		for name := range fewNames {
			if names>>name&1 == 1 {
				bag.PutName(spec.Hasher.User(fmt.Append(nil, user)), []byte{byte('a' + name)}, w.Start, 1)
			}
		}
	}
	found, err := tallied(t, spec, 1<<20, bag.Seal()).Found()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		counts[f.Name[0]-'a'] = f.Value
	}
	return counts
}

// byTrueCounts lets each user count for the names that most users have. It must not be done.
func byTrueCounts(_ *testing.T, _ int, d fewData, last, k int) (counts fewCounts) {
	all := byTrueNumbers(d)
	for _, names := range d {
		for range k {
			best := -1
			for name := range fewNames {
				if names>>name&1 == 1 && (best < 0 || last>>name&1 < last>>best&1 ||
					last>>name&1 == last>>best&1 && all[name] > all[best]) {
					best = name
				}
			}
			if best >= 0 {
				counts[best]++
				names &^= 1 << best
			}
		}
	}
	return counts
}

// remember makes each count once.
func (c counting) remember() counting {
	type key struct {
		period int
		d      fewData
		last   int
		k      int
	}
	known := map[key]fewCounts{}
	return func(t *testing.T, period int, d fewData, last, k int) fewCounts {
		of := key{period, d, last, k}
		counts, ok := known[of]
		if !ok {
			counts = c(t, period, d, last, k)
			known[of] = counts
		}
		return counts
	}
}

// wrongNeighbours counts how often one user more changes more than k counts, or one of them by more than one.
func wrongNeighbours(t *testing.T, c counting) (wrong int) {
	c = c.remember()
	for period := range 2 {
		for last := range 1 << fewNames {
			for k := 1; k <= 2; k++ {
				everyData(func(d fewData) {
					with := c(t, period, d, last, k)
					for user := range d {
						without := c(t, period, d.without(user), last, k)
						changed, far := 0, false
						for name := range with {
							switch with[name] - without[name] {
							case 0:
							case 1, -1:
								changed++
							default:
								far = true
							}
						}
						if changed > k || far {
							wrong++
						}
					}
				})
			}
		}
	}
	return wrong
}

// The privacy of a discovery rests on this: given which names come last, one user changes the counts of at most k
// names, each by one.
func TestOneUserChangesFewCounts(t *testing.T) {
	if wrong := wrongNeighbours(t, byTally); wrong > 0 {
		t.Errorf("%d pairs of neighbours differ by too much", wrong)
	}
	if wrong := wrongNeighbours(t, byTrueCounts); wrong == 0 {
		t.Error("the test does not notice a choice that looks at how many users a name has")
	}
}

// The law of the two periods together: what is found in the first comes last in the second. Names are drawn with noise
// on −K…K with P(z) ∝ 2^−|z|, and found from K+1 on: ε is ln 2 and δ is P(K), a tenth for K = 2.
const (
	fewK     = 2
	fewDelta = 0.1
	// values are the outcomes of a name: not found, or a count from K+1 to 3+K.
	fewValues   = 1 + fewUsers
	fewOutcomes = fewValues * fewValues * fewValues
)

// fewLaw is the probability of each outcome of a discovery.
func fewLaw(counts fewCounts) (law [fewOutcomes]float64) {
	var of [fewNames][fewValues]float64
	for name, n := range counts {
		if n == 0 {
			of[name][0] = 1
			continue
		}
		for z := int64(-fewK); z <= fewK; z++ {
			p := math.Exp2(-math.Abs(float64(z))) / 2.5 // ¼ + ½ + 1 + ½ + ¼
			of[name][max(0, n+z-fewK)] += p
		}
	}
	for o := range law {
		law[o] = of[0][o%fewValues] * of[1][o/fewValues%fewValues] * of[2][o/fewValues/fewValues]
	}
	return law
}

// foundIn says which names an outcome finds, as bits.
func foundIn(outcome int) (names int) {
	for name := range fewNames {
		if outcome%fewValues > 0 {
			names |= 1 << name
		}
		outcome /= fewValues
	}
	return names
}

// worst returns the greatest divergence of neighbours over two periods: how much more probable than e^(2kε) times as
// probable an event is with a user than without, or the other way round. lastIs says which names come last in the
// second period, given what happened in the first.
func worst(t *testing.T, k, stride int, lastIs func(d fewData, outcome int) int) (most float64) {
	factor := math.Exp2(float64(2 * k))
	c := counting(byTally).remember()
	laws := map[string][fewOutcomes]float64{}
	law := func(period int, d fewData, last int) [fewOutcomes]float64 {
		key := fmt.Sprint(period, d, last)
		l, ok := laws[key]
		if !ok {
			l = fewLaw(c(t, period, d, last, k))
			laws[key] = l
		}
		return l
	}
	var second [1 << fewNames][1 << (fewUsers * fewNames)][fewOutcomes]float64
	var all []fewData
	everyData(func(d fewData) {
		for last := range 1 << fewNames {
			second[last][len(all)] = law(1, d, last)
		}
		all = append(all, d)
	})
	divergence := func(p1, q1 [fewOutcomes]float64, dp, dq fewData, p2, q2 int) (sum float64) {
		for o, p := range p1 {
			if p == 0 {
				continue
			}
			p2, q2 := &second[lastIs(dp, o)][p2], &second[lastIs(dq, o)][q2]
			for o2, x := range p2 {
				if x > 0 {
					sum += max(0, p*x-factor*q1[o]*q2[o2])
				}
			}
		}
		return sum
	}
	for i := 0; i < len(all); i += stride {
		with, without := all[i], all[i].without(0)
		p1, q1 := law(0, with, 0), law(0, without, 0)
		for j := range all {
			k := j &^ 7 // the same without user 0
			most = max(most, divergence(p1, q1, with, without, j, k), divergence(q1, p1, without, with, k, j))
		}
	}
	return most
}

// Two discoveries, of which the second knows the list of the first, are (2kε, 2kδ)-DP together.
func TestTwoDiscoveries(t *testing.T) {
	for k := 1; k <= 2; k++ {
		published := func(_ fewData, outcome int) int { return foundIn(outcome) }
		if got := worst(t, k, 3, published); got > float64(2*k)*fewDelta {
			t.Errorf("k = %d: the divergence is %g, want at most 2kδ = %g", k, got, float64(2*k)*fewDelta)
		} else {
			t.Logf("k = %d: the divergence is %g, at most 2kδ = %g", k, got, float64(2*k)*fewDelta)
		}
	}
	// A list of the names that have many users, whatever was published, is no list.
	raw := func(d fewData, _ int) (names int) {
		for name, n := range byTrueNumbers(d) {
			if n > fewK {
				names |= 1 << name
			}
		}
		return names
	}
	if got := worst(t, 1, 3, raw); got <= 2*fewDelta {
		t.Errorf("the test does not notice a list by true counts: the divergence is %g", got)
	}
}

// byTrueNumbers counts all names of all users.
func byTrueNumbers(d fewData) (all fewCounts) {
	for _, names := range d {
		for name := range fewNames {
			all[name] += int64(names >> name & 1)
		}
	}
	return all
}
