package running

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// shortCentring is the law with a mean also for days of fewer than 12 leaves.
func shortCentring(leaves int64) *centring {
	l := &centring{leaves: leaves, tau: int64(math.Ceil(math.Sqrt(2 * float64(leaves)))), d: 1}
	for half := int64(3); half*half*half <= 32*l.tau; half += 2 {
		l.d++
	}
	l.bounds()
	return l
}

// worst follows all histories of one person, in exact fractions: a past of any leaves, and then so many that count. It
// returns the largest sums of squares and of absolute values, and the same if all means were forgotten after some of
// the leaves that count.
func (l *centring) worst(past, leaves, forget int) (squares, sum *big.Rat) {
	squares, sum = new(big.Rat), new(big.Rat)
	r, u := big.NewRat(l.d-1, l.d), big.NewRat(1, l.tau)
	var more func(at int, e, s2, s1 *big.Rat)
	more = func(at int, e, s2, s1 *big.Rat) {
		if at == past+leaves {
			squares, sum = largest(squares, s2), largest(sum, s1)
			return
		}
		if at == past+forget {
			e = new(big.Rat)
		}
		for p := range int64(2) {
			shift := minus(big.NewRat(p, 1), times(r, e))
			next := plus(e, times(u, minus(big.NewRat(p, 1), e)))
			if at < past {
				more(at+1, next, s2, s1)
			} else {
				more(at+1, next, plus(s2, times(shift, shift)), plus(s1, new(big.Rat).Abs(shift)))
			}
		}
	}
	more(0, new(big.Rat), squares, sum)
	return squares, sum
}

// TestWorstHistories enumerates what one person can do in 16 leaves. No history shifts the draws of a day by more than
// the bounds. The worst one comes near them. Three faults go beyond: bounds of half a day, means that are forgotten in
// the middle without a charge, and a draw that subtracts nothing.
func TestWorstHistories(t *testing.T) {
	for _, v := range dptest.Vectors[centredVectors](t, "centred.json").Worst {
		l := shortCentring(v.Leaves)
		squares, sum := l.worst(v.Past, int(v.Leaves), -1)
		w2, w1 := l.squares.bound(v.Leaves), l.absolute.bound(v.Leaves)
		for _, c := range []struct {
			got  *big.Rat
			want float64
		}{{squares, v.Squares}, {sum, v.Sum}, {w2, v.BoundSquares}, {w1, v.BoundSum}} {
			if x, _ := c.got.Float64(); math.Abs(x-c.want) > 1e-9 {
				t.Errorf("%d leaves: %v, want %v", v.Leaves, x, c.want)
			}
		}
		if squares.Cmp(w2) > 0 || sum.Cmp(w1) > 0 || times(squares, big.NewRat(20, 17)).Cmp(w2) < 0 ||
			times(sum, big.NewRat(20, 17)).Cmp(w1) < 0 {
			t.Errorf("%d leaves: the worst sums are %v and %v of bounds of %v and %v", v.Leaves, squares, sum, w2, w1)
		}
		half := shortCentring(max(2, v.Leaves/2-1))
		if squares.Cmp(half.squares.bound(half.leaves)) <= 0 || sum.Cmp(half.absolute.bound(half.leaves)) <= 0 {
			t.Errorf("%d leaves: the bounds of half a day are enough", v.Leaves)
		}
		if f2, f1 := l.worst(v.Past, int(v.Leaves), int(v.Leaves)/2); f2.Cmp(w2) <= 0 || f1.Cmp(w1) <= 0 {
			t.Errorf("%d leaves: means may be forgotten: the worst sums are %v and %v of %v and %v", v.Leaves, f2, f1,
				w2, w1)
		}
		if plain := new(big.Rat).SetInt64(v.Leaves); plain.Cmp(w2) <= 0 || plain.Cmp(w1) <= 0 {
			t.Errorf("%d leaves: a plain count of each is no worse", v.Leaves)
		}
	}
}

// programme is the largest sum of so many leaves from every mean e on, by a dynamic programme over e. Both terms and
// what is left are convex in e, and so are all largest sums. Lines between points lie above a convex curve, so the
// result is never below the truth. It is also the choice of p.
type programme struct {
	r, u   float64
	points int
	term   func(shift float64) float64
	sums   [][]float64 // by the number of leaves that are left
}

func newProgramme(l *centring, leaves int64, term func(float64) float64, after func(e float64) float64) *programme {
	p := &programme{r: 1 - 1/float64(l.d), u: 1 / float64(l.tau), points: 4000, term: term}
	last := make([]float64, p.points+1)
	for i := range last {
		last[i] = after(float64(i) / float64(p.points))
	}
	p.sums = append(p.sums, last)
	for range leaves {
		next := make([]float64, p.points+1)
		for i := range next {
			_, next[i] = p.choose(float64(i)/float64(p.points), len(p.sums))
		}
		p.sums = append(p.sums, next)
	}
	return p
}

func (p *programme) at(left int, e float64) float64 {
	x := e * float64(p.points)
	i := min(int(x), p.points-1)
	f := x - float64(i)
	return (1-f)*p.sums[left][i] + f*p.sums[left][i+1]
}

// choose returns whether the person should be active with so many leaves left, and the sum.
func (p *programme) choose(e float64, left int) (active float64, sum float64) {
	for q := range 2 {
		here := float64(q)
		if s := p.term(here-p.r*e) + p.at(left-1, e+p.u*(here-e)); s > sum {
			active, sum = here, s
		}
	}
	return active, sum
}

func (p *programme) most() (e, sum float64) {
	all := p.sums[len(p.sums)-1]
	for i, s := range all {
		if s > sum {
			e, sum = float64(i)/float64(p.points), s
		}
	}
	return e, sum
}

func square(x float64) float64 { return x * x }

func nothing(float64) float64 { return 0 }

// TestBoundsByDynamicProgramme: from any mean on, no history of a day goes beyond the bounds. With bounds for half as
// many leaves, it would.
func TestBoundsByDynamicProgramme(t *testing.T) {
	for _, leaves := range []int64{12, 24, 96, 288, 1440} {
		l, err := newCentring(leaves, 0, decimal.NewFromInt(1))
		if err != nil {
			t.Fatal(err)
		}
		for name, of := range map[string]struct {
			term  func(float64) float64
			bound storage
			least float64
		}{"squares": {square, l.squares, 0.86}, "absolute values": {math.Abs, l.absolute, 0.86}} {
			_, worst := newProgramme(l, leaves, of.term, nothing).most()
			bound, _ := of.bound.bound(leaves).Float64()
			half, _ := of.bound.bound(leaves / 2).Float64()
			if worst > bound || worst < of.least*bound || worst <= half {
				t.Errorf("%d leaves, %s: the worst sum is %v of a bound of %v", leaves, name, worst, bound)
			}
			t.Logf("%d leaves, %s: %.4f of the bound", leaves, name, worst/bound)
		}
	}
}

// TestAdversaries has the worst persons that a dynamic programme finds move in a crowd, and follows the means in whole
// numbers with and without them. The draws of a day are shifted by no more than the scale of the noise allows, with all
// that is rounded, and by nine tenths of it.
func TestAdversaries(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 4))
	for _, leaves := range []int64{24, 96, 288} {
		for name, term := range map[string]func(float64) float64{"squares": square, "absolute values": math.Abs} {
			c := newCentred(t, leaves, "1", false)
			p := newProgramme(c.law, leaves, term, nothing)
			target, _ := p.most()
			var with, without Open
			e, squares, sum := 0.0, new(big.Int), new(big.Int)
			for at := -20 * c.law.tau; at < leaves; at++ {
				active := 0.0 // comes as near to the worst mean as possible
				if at >= 0 {
					active, _ = p.choose(e, int(leaves-at))
				} else if e < target {
					active = 1
				}
				e += p.u * (active - e)
				crowd := r.Int64N(2_000)
				with, without = c.Add(with, 1, crowd+int64(active)), c.Add(without, 1, crowd)
				shift := big.NewInt(int64(active) << unitBits)
				shift.Sub(shift, c.law.most(big.NewInt(with[0])))
				shift.Add(shift, c.law.most(big.NewInt(without[0])))
				if at >= 0 {
					squares.Add(squares, new(big.Int).Mul(shift, shift))
					sum.Add(sum, shift.Abs(shift))
				}
				c.Close(with, 1)
				c.Close(without, 1)
			}
			got, bound := new(big.Rat).SetInt(sum), new(big.Rat).SetInt(c.law.scale())
			if name == "squares" {
				got, bound = new(big.Rat).SetInt(squares), c.law.shifts(c.law.squares.bound(leaves))
			}
			share, _ := over(got, bound).Float64()
			t.Logf("%d leaves, %s: the draws are shifted by %.3f of the bound", leaves, name, share)
			if share > 1 || share < 0.88 {
				t.Error("that is more than the noise covers, or far less")
			}
		}
	}
}

// TestTouched: what a person does in n leaves costs no more than is said, with all that is left of it afterwards.
func TestTouched(t *testing.T) {
	for _, leaves := range []int64{6, 24, 288} {
		n := leaves + 2
		for _, gaussian := range []bool{false, true} {
			c := newCentred(t, leaves, "1", gaussian)
			u, r := 1/float64(c.law.tau), 1-1/float64(c.law.d)
			p := newProgramme(c.law, n, math.Abs, func(e float64) float64 { return r * e / u })
			bound, _ := c.law.absolute.bound(leaves).Float64()
			if gaussian {
				p = newProgramme(c.law, n, square, func(e float64) float64 {
					return r * r * e * e / (1 - square(1-u))
				})
				bound, _ = c.law.squares.bound(leaves).Float64()
			}
			ratio := p.sums[n][0] / bound // of a person who was never there before
			if gaussian {
				ratio = math.Sqrt(ratio)
			}
			said := c.Touched(n).Epsilon.InexactFloat64()
			t.Logf("%s, %d leaves of %d: ε %.4f is said, and there is %.4f", c.Name(), n, leaves, said, ratio)
			if said < ratio || said > 1.15*ratio+0.01 {
				t.Error("that is too little, or far too much")
			}
		}
	}
}

// TestGroups has a person move on from group to group once they have not been active in one for a day. No day shifts
// the draws of all groups together by more than one group's noise covers. A person who moves on at once goes beyond it.
func TestGroups(t *testing.T) {
	for _, leaves := range []int64{12, 24, 96} {
		l, err := newCentring(leaves, 3, decimal.NewFromInt(1))
		if err != nil {
			t.Fatal(err)
		}
		squares, _ := l.squares.bound(leaves).Float64()
		sums, _ := l.absolute.bound(leaves).Float64()
		for _, stay := range []int64{1, leaves / 4, leaves / 2, leaves, 3 * leaves} {
			s2, s1 := l.moving(stay, leaves)
			if s2 > squares || s1 > sums {
				t.Errorf("%d leaves, %d in each group: %v and %v are beyond the bounds %v and %v", leaves, stay, s2, s1,
					squares, sums)
			}
		}
		if s2, s1 := l.moving(1, 0); s2 <= squares || s1 <= sums {
			t.Errorf("%d leaves: a person in all groups stays within the bounds: %v and %v", leaves, s2, s1)
		}
		rest, _ := l.rest().Float64()
		if want := math.Pow(1-1/float64(l.tau), float64(leaves)); math.Abs(rest/want-1) > 1e-9 {
			t.Errorf("%d leaves: %v is left of a mean after a day; want %v", leaves, rest, want)
		}
	}
}

// moving returns the largest sums over a day of a person who goes from one of three groups to the next, with a pause of
// so many leaves.
func (l *centring) moving(stay, pause int64) (squares, sums float64) {
	u, r := 1/float64(l.tau), 1-1/float64(l.d)
	var means [3]float64
	var all2, all1 []float64
	for at := range 12 * (stay + pause + l.leaves) {
		s2, s1 := 0.0, 0.0
		for g := range means {
			p := 0.0
			if at%(stay+pause) < stay && at/(stay+pause)%3 == int64(g) {
				p = 1
			}
			shift := p - r*means[g]
			s2, s1 = s2+shift*shift, s1+math.Abs(shift)
			means[g] += u * (p - means[g])
		}
		all2, all1 = append(all2, s2), append(all1, s1)
		if n := len(all2) - int(l.leaves); n >= 0 {
			t2, t1 := 0.0, 0.0
			for i := range l.leaves {
				t2, t1 = t2+all2[n+int(i)], t1+all1[n+int(i)]
			}
			squares, sums = max(squares, t2), max(sums, t1)
		}
	}
	return squares, sums
}

// TestGroupsGivenUp: the bounds with groups cover all that is left in groups which a person has given up, beside a day
// in the next group. A person who was in a group for ever leaves the most behind. What is added is little more than
// that, and would not cover a person who moves on after half a day.
func TestGroupsGivenUp(t *testing.T) {
	for _, leaves := range []int64{12, 13, 24, 96, 288} {
		l, err := newCentring(leaves, 3, decimal.NewFromInt(1))
		if err != nil {
			t.Fatal(err)
		}
		u, r := 1/float64(l.tau), 1-1/float64(l.d)
		// left are the sums over a day, of a group that was given up so many leaves ago.
		left := func(ago int64) (squares, sum float64) {
			e := math.Pow(1-u, float64(ago))
			for range leaves {
				squares, sum, e = squares+square(r*e), sum+r*e, e*(1-u)
			}
			return squares, sum
		}
		squares, sum := left(leaves)
		early, earlier := left(leaves / 2)
		for name, row := range map[string]struct {
			left, early float64
			behind      *big.Rat
		}{"squares": {squares, early, l.squares.behind}, "absolute values": {sum, earlier, l.absolute.behind}} {
			behind, _ := row.behind.Float64()
			t.Logf("%d leaves, %s: %.3g is left, %.4f of what is added", leaves, name, row.left, row.left/behind)
			if row.left > behind || row.early <= behind || row.left < 0.8*behind {
				t.Errorf("%d leaves, %s: %v is left, and %v is added", leaves, name, row.left, behind)
			}
		}
		alone, err := newCentring(leaves, 0, decimal.NewFromInt(1))
		if err != nil {
			t.Fatal(err)
		}
		if w2, w1 := l.squares.bound(leaves), l.absolute.bound(leaves); !same(minus(w2, alone.squares.bound(leaves)),
			l.squares.behind) || !same(minus(w1, alone.absolute.bound(leaves)), l.absolute.behind) {
			t.Errorf("%d leaves: the bounds with groups are %v and %v", leaves, w2, w1)
		}
	}
}

func same(x, y *big.Rat) bool { return x.Cmp(y) == 0 }

// TestRoundingOfGroupsGivenUp follows means in whole numbers, in a crowd that stays as it is. A mean that comes from
// below stops below the crowd, and one that comes from above stops above it. So long after a person has left, the draws
// are still shifted, and that in each group that they were ever in. The scale has room for all of them.
func TestRoundingOfGroupsGivenUp(t *testing.T) {
	const groups = MostActiveGroups
	for _, leaves := range []int64{12, 96, 288} {
		l, err := newCentring(leaves, groups, decimal.NewFromInt(1))
		if err != nil {
			t.Fatal(err)
		}
		alone, err := newCentring(leaves, 1, decimal.NewFromInt(1))
		if err != nil {
			t.Fatal(err)
		}
		crowd, with, without := big.NewInt(1000<<unitBits), new(big.Int), new(big.Int)
		for at := range 200 * l.tau {
			now := crowd
			if at < 100*l.tau {
				now = big.NewInt(1001 << unitBits)
			}
			with, without = l.mean(with, now), l.mean(without, crowd)
		}
		shift := new(big.Int).Sub(l.most(with), l.most(without)).Int64()
		// In all groups but the first one that was given up, whose rest the bound has already, and the next one.
		sum, room := (groups-1)*leaves*shift, new(big.Int).Sub(l.scale(), alone.scale()).Int64()
		t.Logf("%d leaves: a group that was given up shifts draws by %d units for ever; there is room for %d", leaves, shift,
			room/((groups-1)*leaves))
		if shift < 1 || sum > room || 2*sum < room {
			t.Errorf("%d leaves: %d units are left of all groups, and there is room for %d", leaves, sum, room)
		}
	}
}
