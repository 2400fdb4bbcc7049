package windows

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// These tests go through all records that two users may have under two names, in three periods of which a user counts
// in at most two. What is found in a period comes last in those after it.

const (
	capPeriods = 3
	capUsers   = 2
	capNames   = 2
	capValues  = 1 + capUsers // not found, or a count from K+1 to 2+K
	capLaws    = capValues * capValues
)

// capData says which names each user has in a period, as bits.
type capData [capUsers]int

// turns says for which users of a period their names count: in the period of this number, with these data.
type turns func(number int64, d capData) (counts [capUsers]bool)

// cappedLaw is the probability of each outcome of a discovery by the real tally, in which only these users count.
func cappedLaw(t *testing.T, number int64, d capData, last int, counts [capUsers]bool) (law [capLaws]float64) {
	w := Window{number * 3600e9, (number + 1) * 3600e9}
	h := NewHasher([16]byte{3})
	does := map[UserHash]bool{}
	bag := NewBag(BagSpec{Open: true, Policy: Last, Window: w, Hasher: h})
	for user, names := range d {
		u := h.User(fmt.Append(nil, user))
		does[u] = counts[user]
		for name := range capNames {
			if names>>name&1 == 1 {
				bag.PutName(u, []byte{byte('a' + name)}, w.Start, 1)
			}
		}
	}
	spec := TallySpec{MaxGroups: 1, Period: w, Hasher: h, Draw: exactly, Counts: func(u UserHash) bool {
		return does[u]
	},
		Last: func(name string) bool { return last>>(name[0]-'a')&1 == 1 }}
	found, err := tallied(t, spec, 1<<20, bag.Seal()).Found()
	if err != nil {
		t.Fatal(err)
	}
	of := [capNames][capValues]float64{{1}, {1}}
	for _, f := range found {
		of[f.Name[0]-'a'] = [capValues]float64{}
		for z := int64(-fewK); z <= fewK; z++ { // as in fewLaw
			of[f.Name[0]-'a'][max(0, f.Value+z-fewK)] += math.Exp2(-math.Abs(float64(z))) / 2.5
		}
	}
	for o := range law {
		law[o] = of[0][o%capValues] * of[1][o/capValues]
	}
	return law
}

func foundOf(outcome int) (names int) {
	for name := range capNames {
		if outcome%capValues > 0 {
			names |= 1 << name
		}
		outcome /= capValues
	}
	return names
}

// worstOfPeriods returns the greatest divergence of neighbours over three periods, at twice the ε of one: how much more
// probable than e^(2ε) times as probable an event is with a user than without, or the other way round. Each call of
// begin starts to count turns, before the first of the periods.
func worstOfPeriods(t *testing.T, begin func() turns) (most float64) {
	laws := map[string]*[capLaws]float64{}
	law := func(number int64, d capData, last int, counts [capUsers]bool) *[capLaws]float64 {
		key := fmt.Sprint(number, d, last, counts)
		if laws[key] == nil {
			laws[key] = new(cappedLaw(t, number, d, last, counts))
		}
		return laws[key]
	}
	// sequence returns the laws of each period by the names that come last.
	type sequence [capPeriods][1 << capNames]*[capLaws]float64
	of := func(first int64, data [capPeriods]capData) (all sequence) {
		take := begin()
		for i, d := range data {
			counts := take(first+int64(i), d)
			for last := range 1 << capNames {
				all[i][last] = law(first+int64(i), d, last, counts)
			}
		}
		return all
	}
	divergence := func(p, q *sequence) (sum float64) {
		for o1 := range capLaws {
			last1 := foundOf(o1)
			p1, q1 := p[0][0][o1], q[0][0][o1]
			for o2 := range capLaws {
				p2, q2 := p1*p[1][last1][o2], q1*q[1][last1][o2]
				if p2 == 0 {
					continue
				}
				last2 := last1 | foundOf(o2)
				for o3 := range capLaws {
					sum += max(0, p2*p[2][last2][o3]-4*q2*q[2][last2][o3])
				}
			}
		}
		return sum
	}
	for first := range int64(5) { // the blocks of a user are of five periods
		for i := range 1 << (capPeriods * capUsers * capNames) {
			var with, without [capPeriods]capData
			for period := range capPeriods {
				bits := i >> (period * capUsers * capNames)
				with[period] = capData{bits & 3, bits >> 2 & 3}
				without[period] = capData{0, bits >> 2 & 3}
			}
			p, q := of(first, with), of(first, without)
			most = max(most, divergence(&p, &q), divergence(&q, &p))
		}
	}
	return most
}

// TestPeriodsUnderACap: discoveries of three periods, of which a user counts in at most two, are (2ε, 2δ)-DP together,
// for one name a user. The list that each of them knows makes no difference, for it does not say who counts.
func TestPeriodsUnderACap(t *testing.T) {
	rule, err := CapSpec{Count: 2, Per: 3 * time.Hour, Parts: 1}.Rule(Schedule{Size: time.Hour, Every: time.Hour})
	if err != nil || rule.AtMost() != 2 || rule.Block != 5 {
		t.Fatalf("%+v (%v)", rule, err)
	}
	h := NewHasher([16]byte{3})
	// by takes turns as a discovery does, or only some of those who are there.
	by := func(there func(d capData, user int) bool) func() turns {
		return func() turns {
			c := NewCap(rule)
			return func(number int64, d capData) (counts [capUsers]bool) {
				if err := c.Begin(Window{number * 3600e9, (number + 1) * 3600e9}); err != nil {
					t.Fatal(err)
				}
				for user := range d {
					counts[user] = there(d, user) && c.Counts(h.User(fmt.Append(nil, user)))
				}
				return counts
			}
		}
	}
	records := func(d capData, user int) bool { return d[user] != 0 }
	got := worstOfPeriods(t, by(records))
	if got > 2*fewDelta {
		t.Errorf("the divergence is %g, want at most 2δ = %g", got, 2*fewDelta)
	}
	t.Logf("the divergence is %g, at most 2δ = %g", got, 2*fewDelta)

	everybody := func() turns { return func(int64, capData) [capUsers]bool { return [capUsers]bool{true, true} } }
	if got := worstOfPeriods(t, everybody); got <= 2*fewDelta {
		t.Errorf("the test does not notice that nobody minds the cap: the divergence is %g", got)
	}
	anew := func() turns { // each period knows nothing of those before it
		return func(number int64, d capData) [capUsers]bool { return by(records)()(number, d) }
	}
	if got := worstOfPeriods(t, anew); got <= 2*fewDelta {
		t.Errorf("the test does not notice a cap that forgets who has counted: the divergence is %g", got)
	}
	// One user decides whether others have a turn.
	others := by(func(d capData, user int) bool { return d[user] != 0 && (user == 0 || d[0] != d[user]) })
	if got := worstOfPeriods(t, others); got <= 2*fewDelta {
		t.Errorf("the test does not notice turns that depend on what others send: the divergence is %g", got)
	}
}
