package budget

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

func anyCap() *rapid.Generator[Cap] {
	return rapid.Custom(func(t *rapid.T) Cap {
		if rapid.Bool().Draw(t, "uncapped") {
			return Cap{}
		}
		return Cap{Count: rapid.Int64Range(1, 3).Draw(t, "count"),
			Per: time.Duration(rapid.Int64Range(1, 25).Draw(t, "cap per")), Era: rapid.Int64Range(0, 1).Draw(t, "era"),
			Lane: rapid.SampledFrom([]string{"", "", "row"}).Draw(t, "row")}
	})
}

func anyHeld(id string) *rapid.Generator[Held] {
	return rapid.Custom(func(t *rapid.T) Held {
		h := Held{ID: id, Stream: rapid.SampledFrom([]string{"s", "t"}).Draw(t, "stream"),
			From: rapid.Int64Range(0, 60).Draw(t, "from"), To: Open,
			Items: []Item{anyItem().Draw(t, "item")}}
		if rapid.Bool().Draw(t, "ended") {
			h.To = h.From + rapid.Int64Range(0, 30).Draw(t, "held for")
		}
		return h
	})
}

// capped adds up, by definition, what counts in (from, to]. For the windows of one stream and cap it takes, in each
// figure, the largest prices, Count for every period begun since the first of them. It adds every held charge that
// touches (from, to].
func capped(f filter, charges []Charge, helds []Held, from, to int64) (s sum) {
	type group struct {
		stream string
		cap    Cap
	}
	groups := map[group][]Charge{}
	for _, c := range charges {
		if from < c.End && c.End <= to {
			groups[group{c.Stream, c.Cap}] = append(groups[group{c.Stream, c.Cap}], c)
		}
	}
	for g, all := range groups {
		slices.SortFunc(all, func(x, y Charge) int { return cmp.Compare(x.End, y.End) })
		most := len(all)
		if g.cap != (Cap{}) {
			periods := int64(0)
			for begun := all[0].End; begun <= all[len(all)-1].End; begun += int64(g.cap.Per) {
				periods++
			}
			most = min(most, int(g.cap.Count*periods))
		}
		for _, figure := range sumFigures {
			var prices []decimal.Decimal
			for _, c := range all {
				unit := f.sumOf(c.Items)
				prices = append(prices, *figure(&unit))
			}
			slices.SortFunc(prices, func(x, y decimal.Decimal) int { return y.Cmp(x) })
			for _, p := range prices[:most] {
				*figure(&s) = figure(&s).Add(p)
			}
		}
	}
	for _, h := range helds {
		if h.From <= to && h.To > from {
			s.add(f.sumOf(h.Items), 1)
		}
	}
	return s
}

func cappedIn(charges []Charge, helds []Held, limit Limit, at int64) Spending {
	f := newFilter(limit)
	if limit.Per == 0 {
		return f.bound(capped(f, charges, helds, -1000, 1000))
	}
	return f.bound(capped(f, charges, helds, at-int64(limit.Per), at))
}

func cappedHolds(charges []Charge, helds []Held, limit Limit) bool {
	for at := int64(-5); at < 200; at++ {
		if !limit.within(cappedIn(charges, helds, limit, at)) {
			return false
		}
	}
	return true
}

// Uses windows with and without caps, and held charges, in any order, of several streams. The account agrees with the
// definition, and a charge that it accepts keeps the limit in every period.
func TestCapsAndHeldChargesAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := anyLimit().Draw(t, "limit")
		a, old := NewAccount(limit), NewAccount(Limit{})
		a.Continue(old)
		caps := []Cap{anyCap().Draw(t, "cap"), anyCap().Draw(t, "cap")}
		var paid []Charge
		var helds []Held
		for i := range rapid.IntRange(1, 25).Draw(t, "charges") {
			into := rapid.SampledFrom([]*Account{a, a, old}).Draw(t, "account")
			if rapid.IntRange(0, 5).Draw(t, "held") == 0 {
				h := anyHeld(string(rune('a'+i))).Draw(t, "held")
				want := cappedHolds(paid, append(slices.Clone(helds), h), limit)
				if got := a.FitsHeld(h); got != want {
					t.Fatalf("%+v fits: %t, want %t after %v and %v", h, got, want, paid, helds)
				}
				if want {
					if err := into.Hold(h); err != nil {
						t.Fatal(err)
					}
					helds = append(helds, h)
				}
				continue
			}
			c := charge(rapid.SampledFrom([]string{"s", "t"}).Draw(t, "stream"), rapid.Int64Range(0, 60).Draw(t, "end"),
				rapid.SliceOfN(anyItem(), 1, 2).Draw(t, "items")...)
			c.Cap = rapid.SampledFrom(caps).Draw(t, "cap")
			want := cappedHolds(append(slices.Clone(paid), c), helds, limit)
			if got := a.Fits(c); got != want {
				t.Fatalf("%+v fits: %t, want %t after %v and %v", c, got, want, paid, helds)
			}
			if want {
				into.Add(c)
				paid = append(paid, c)
			}
		}
		at := rapid.Int64Range(0, 90).Draw(t, "at")
		same(t, "spent", a.Spent(at), cappedIn(paid, helds, limit, at))
		same(t, "clone", a.clone().Spent(at), a.Spent(at))
		f := newFilter(limit)
		same(t, "total", a.Total(), f.bound(capped(f, paid, helds, -1000, 1000)))
		again := NewAccount(limit)
		again.Continue(old)
		for _, c := range a.Charges() {
			if err := again.AddAll(c); err != nil {
				t.Fatal(err)
			}
			if err := again.AddAll(c); err == nil {
				t.Fatal("the same charges are taken in a second time")
			}
		}
		for _, h := range heldBy(a) {
			if err := again.Hold(h); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "from the lists of its charges", again.Spent(at), a.Spent(at))
		plus := charge("s", 30, pure("0.7", 1))
		plus.Cap = caps[0]
		same(t, "with one more", a.Spent(at, plus), cappedIn(append(slices.Clone(paid), plus), helds, limit, at))
		paidOfS := slices.DeleteFunc(slices.Clone(paid), func(c Charge) bool { return c.Stream != "s" })
		heldOfS := slices.DeleteFunc(slices.Clone(helds), func(h Held) bool { return h.Stream != "s" })
		same(t, "stream", a.StreamSpent("s", at), cappedIn(paidOfS, heldOfS, limit, at))
		same(t, "stream's total", a.StreamTotal("s"), f.bound(capped(f, paidOfS, heldOfS, -1000, 1000)))

		// Windows beyond the number that the caps together allow cost nothing.
		items, n := []Item{anyItem().Draw(t, "item")}, int64(0)
		more := charge("s", at, items...)
		more.Cap = caps[0]
		for all := slices.Clone(paid); n < 200; n++ {
			if all = append(all, more); !limit.within(cappedIn(all, helds, limit, at)) {
				break
			}
		}
		if n == 200 {
			n = MostWindows
		}
		if got := a.WindowsLeft("s", caps[0], items, at); got != n {
			t.Fatalf("%d windows left, want %d", got, n)
		}
	})
}

// The returned budget is what later periods do not count, if nothing else is charged.
func TestReturnsOfCapsAndHeldCharges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := anyLimit().Draw(t, "limit")
		limit.Per = max(limit.Per, 1)
		a := NewAccount(limit)
		const at = 60
		caps := []Cap{anyCap().Draw(t, "cap"), anyCap().Draw(t, "cap")}
		for range rapid.IntRange(1, 12).Draw(t, "windows") {
			c := charge("s", rapid.Int64Range(20, at).Draw(t, "end"), anyItem().Draw(t, "item"))
			c.Cap = rapid.SampledFrom(caps).Draw(t, "cap")
			a.Add(c)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "held") {
			h := anyHeld(string(rune('a'+i))).Draw(t, "held")
			if h.To != Open {
				h.From, h.To = min(h.From, at), min(h.To, at)
			}
			if err := a.Hold(h); err != nil {
				t.Fatal(err)
			}
		}
		later, left := a.Returns(at, ""), a.Spent(at).Epsilon
		for moment := int64(at); moment < 200; moment++ {
			for len(later) > 0 && later[0].At <= moment {
				left, later = left.Sub(later[0].Epsilon), later[1:]
			}
			// A charge held from a later moment on begins to count, which is not a return.
			if slices.ContainsFunc(heldBy(a), func(h Held) bool { return at < h.From }) {
				return
			}
			if got := a.Spent(moment).Epsilon; !got.Equal(left) {
				t.Fatalf("at %d %s counts, and by what has returned %s", moment, got, left)
			}
		}
	})
}

// The account states the most that a person can lose: a person chooses any windows of every stream and cap, as long as
// no period of a cap holds more than its count.
func TestNobodyLosesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{Epsilon: dec("1000"), Per: time.Duration(rapid.Int64Range(0, 20).Draw(t, "per"))}
		a := NewAccount(limit)
		caps := []Cap{anyCap().Draw(t, "cap"), anyCap().Draw(t, "cap")}
		var all []Charge
		for range rapid.IntRange(1, 30).Draw(t, "windows") {
			c := charge("s", rapid.Int64Range(0, 60).Draw(t, "end"),
				pure(rapid.SampledFrom([]string{"0.1", "0.5", "2"}).Draw(t, "ε"), 1))
			c.Cap = rapid.SampledFrom(caps).Draw(t, "cap")
			a.Add(c)
			all = append(all, c)
		}
		var there []Charge // the windows in which the person counts
		for _, c := range rapid.Permutation(all).Draw(t, "order") {
			if c.Cap == (Cap{}) || mayCount(append(slices.Clone(there), c), c.Cap) {
				there = append(there, c)
			}
		}
		for at := int64(0); at < 90; at++ {
			lost := spentIn(there, limit, at).Epsilon
			if got := a.Spent(at).Epsilon; lost.Cmp(got) > 0 {
				t.Fatalf("somebody loses %s in the period that ends at %d, the account says %s", lost, at, got)
			}
		}
	})
}

// mayCount reports whether no half-open period of a cap holds more windows than its count.
func mayCount(windows []Charge, c Cap) bool {
	for at := int64(0); at <= 100; at++ {
		n := int64(0)
		for _, w := range windows {
			if w.Cap == c && at-int64(c.Per) < w.End && w.End <= at {
				n++
			}
		}
		if n > c.Count {
			return false
		}
	}
	return true
}

// One-minute windows at ε = 0.25, in which a person counts at most eight times a day, cost 2 a day forever. No window
// is withheld, and the number of remaining windows is not limited.
func TestMinutesUnderACapArePaidForEver(t *testing.T) {
	a := NewAccount(Limit{Epsilon: dec("2"), Per: 24 * time.Hour})
	minutes := Cap{Count: 8, Per: 24 * time.Hour}
	price := []Item{boundedRange("0.25", 1)}
	minute := Schedule{Stream: "s", Size: time.Minute, Every: time.Minute, Cap: minutes, Items: price}
	if r := a.Runway([]Schedule{minute}); !r.Pays || !r.Worst.Epsilon.Equal(dec("2")) {
		t.Errorf("%+v, want a schedule that is paid, at ε 2 in any 24 hours", r)
	}
	for i := range int64(3000) {
		c := minute.charge((i + 1) * int64(time.Minute))
		if !a.Fits(c) {
			t.Fatalf("minute %d does not fit", i)
		}
		a.Add(c)
	}
	now := 3000 * int64(time.Minute)
	if got := a.Spent(now).Epsilon; !got.Equal(dec("2")) {
		t.Errorf("spent %s, want 2", got)
	}
	if got := a.WindowsLeft("s", minutes, price, now); got != MostWindows {
		t.Errorf("%d windows left, want no end", got)
	}
	if got := a.WindowsLeft("s", Cap{}, price, now); got != 0 {
		t.Errorf("%d windows left without the cap, want 0", got)
	}
	next := minutes
	next.Era = 1 // another definition, which chooses its users anew
	if c := (Charge{Stream: "s", Cap: next, End: now, Items: price}); a.Fits(c) {
		t.Error("another era does not add up")
	}
}

// A watch is charged from arming until one period after it has fired.
func TestHeldCharge(t *testing.T) {
	a := NewAccount(Limit{Epsilon: dec("3"), Per: 10})
	slow := Held{ID: "s/slow/1", Stream: "s", From: 100, To: Open, Items: []Item{pure("1", 1)}}
	if !a.FitsHeld(slow) {
		t.Fatal("it does not fit")
	}
	for epsilon, want := range map[string]bool{"2": true, "2.1": false} { // of the window that arms it
		if a.FitsHeld(slow, Charge{Stream: "s", End: 100, Items: []Item{pure(epsilon, 1)}}) != want {
			t.Errorf("beside a window of %s it fits: %v, want %v", epsilon, !want, want)
		}
	}
	if err := a.Hold(slow); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]string{99: "0", 100: "1", 150: "1", 1_000_000: "1"} {
		if got := a.Spent(at).Epsilon; !got.Equal(dec(want)) {
			t.Errorf("while it is armed, spent at %d: %s, want %s", at, got, want)
		}
	}
	if err := a.EndHeld(slow.ID, 200); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]string{99: "0", 100: "1", 209: "1", 210: "0"} {
		if got := a.Spent(at).Epsilon; !got.Equal(dec(want)) {
			t.Errorf("after it has fired, spent at %d: %s, want %s", at, got, want)
		}
	}
	// One that is over at 20 still counts beside a window that ends at 29, and no longer beside one that ends at 30.
	for end, want := range map[int64]bool{29: false, 30: true} {
		later := NewAccount(a.Limit())
		later.Add(Charge{Stream: "s", End: end, Items: []Item{pure("2.5", 1)}})
		if later.FitsHeld(Held{ID: "y", Stream: "s", From: 5, To: 20, Items: slow.Items}) != want {
			t.Errorf("it fits beside a window that ends at %d: %v, want %v", end, !want, want)
		}
	}
	for what, err := range map[string]error{
		"an end that is given twice":  a.EndHeld(slow.ID, 201),
		"an end of what is not held":  a.EndHeld("other", 201),
		"the same charge again":       a.Hold(slow),
		"an end before the beginning": a.Hold(Held{ID: "x", From: 5, To: 4, Items: slow.Items}),
		"a cost that is none":         a.Hold(Held{ID: "x", To: Open, Items: []Item{pure("-1", 1)}}),
		"a cap of no windows":         Cap{Per: 1}.Check(),
		"a cap of no period":          Cap{Count: 1}.Check(),
		"charges listed under a wrong cap": a.AddAll(Charges{Stream: "s",
			Cap: Cap{Count: -1, Per: 1}, Items: slow.Items, Ends: []int64{1}}),
	} {
		if err == nil {
			t.Errorf("no error for %s", what)
		}
	}
}

func BenchmarkCappedAccount(b *testing.B) {
	a := NewAccount(Limit{Epsilon: dec("1000"), Per: 24 * time.Hour})
	end := int64(0)
	next := func() Charge {
		end += int64(time.Minute)
		return Charge{Stream: "s", End: end, Cap: Cap{Count: 8, Per: 24 * time.Hour},
			Items: []Item{boundedRange("0.05", 2), pure("0.03", 1)}}
	}
	for range 1_000_000 {
		a.Add(next())
	}
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			a.Add(next())
		}
	})
	b.Run("fits", func(b *testing.B) {
		for b.Loop() {
			a.Fits(next())
		}
	})
}

// TestAWindowThatCostsNothingStretchesNoCap: the sum with a withheld window is the sum after it.
func TestAWindowThatCostsNothingStretchesNoCap(t *testing.T) {
	a, c := NewAccount(Limit{Epsilon: decimal.NewFromInt(9)}), Cap{Count: 2, Per: 10}
	for end := range int64(3) {
		a.Add(Charge{Stream: "s", Cap: c, End: end, Items: []Item{pure("1", 1)}})
	}
	withheld := Charge{Stream: "s", Cap: c, End: 100}
	if with, after := a.StreamTotal("s", withheld), a.StreamTotal("s"); !with.Epsilon.Equal(after.Epsilon) ||
		after.Epsilon.String() != "2" {
		t.Errorf("ε %s with the withheld window, %s without it, want 2 both times", with.Epsilon, after.Epsilon)
	}
}

// heldBy lists what the account itself holds.
func heldBy(a *Account) (all []Held) {
	for _, h := range a.held {
		all = append(all, h.Held)
	}
	return all
}

// Eras of a cap stay apart in an account that is made from the lists of another one's charges.
func TestErasStayApart(t *testing.T) {
	a, again := NewAccount(Limit{Epsilon: dec("9")}), NewAccount(Limit{Epsilon: dec("9")})
	for end := range int64(4) { // two windows of each era, of which one counts
		a.Add(Charge{Stream: "s", Cap: Cap{Count: 1, Per: 10, Era: end / 2}, End: end, Items: []Item{pure("1", 1)}})
	}
	for _, c := range a.Charges() {
		if err := again.AddAll(c); err != nil {
			t.Fatal(err)
		}
	}
	if got, twice := a.Total().Epsilon, again.Total().Epsilon; got.String() != "2" || !twice.Equal(got) {
		t.Errorf("ε %s, and %s from the lists; want 2 both times", got, twice)
	}
}

// TestCapsOfRows: what a stream does besides its windows, under a cap of its own, adds up with them. In one class, only
// the larger of both would count.
func TestCapsOfRows(t *testing.T) {
	for row, want := range map[string]string{"hourly": "2.8", "": "2"} {
		a := NewAccount(Limit{Epsilon: dec("100"), Per: 24 * time.Hour})
		var plus []Charge
		for hour := range int64(24) {
			end := (hour + 1) * int64(time.Hour)
			for _, c := range []Charge{
				{Stream: "s", End: end, Items: []Item{pure("0.1", 1)}, Cap: Cap{Count: 8, Per: 24 * time.Hour}},
				{Stream: "s", End: end, Items: []Item{pure("0.25", 1)},
					Cap: Cap{Count: 8, Per: 24 * time.Hour, Lane: row}},
			} {
				a.Add(c)
				plus = append(plus, c)
			}
		}
		empty := NewAccount(a.Limit())
		at := 24 * int64(time.Hour)
		if now, then := a.Spent(at).Epsilon, empty.Spent(at, plus...).Epsilon; now.String() != want ||
			!then.Equal(now) {
			t.Errorf("row %q: ε %s, and %s as if it were charged; want %s", row, now, then, want)
		}
		if of := a.StreamTotal("s").Epsilon; of.String() != want {
			t.Errorf("row %q: the stream has spent ε %s, want %s", row, of, want)
		}
		again := NewAccount(a.Limit())
		for _, c := range a.Charges() {
			text, err := json.Marshal(c.Cap)
			if err == nil {
				c.Cap = Cap{}
				err = json.Unmarshal(text, &c.Cap)
			}
			if err == nil {
				err = again.AddAll(c)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := again.Spent(at).Epsilon; got.String() != want {
			t.Errorf("row %q: ε %s after the charges were written down, want %s", row, got, want)
		}
	}
}
