package cost

import (
	"math"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/windows"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func pure(epsilon string, times int64) budget.Item {
	return budget.Item{Promise: privacy.NewPure(dec(epsilon)), Times: times}
}

// dashboard has p50, p90, p99 and users in every window.
func dashboard(every time.Duration) Stream {
	ranks := func(epsilon string) budget.Item {
		return budget.Item{Promise: privacy.NewBoundedRange(dec(epsilon)), Times: 1}
	}
	return Stream{Topic: "in", Schedule: budget.Schedule{Stream: "s", Size: every, Every: every,
		Items: []budget.Item{ranks("0.05"), ranks("0.05"), ranks("0.1"), pure("0.02", 1)}}}
}

// What a δ saves in a day. The losses with a δ are those of exact sums of ρ at the best order, up to 1 % for the tenth
// of δ that approximate costs have.
func TestWhatADeltaSaves(t *testing.T) {
	for _, c := range []struct {
		every     time.Duration
		sum       string
		withDelta float64
	}{
		{6 * time.Hour, "0.88", 0.74}, {3 * time.Hour, "1.76", 1.06}, {time.Hour, "5.28", 1.88},
		{15 * time.Minute, "21.12", 3.93}, {time.Minute, "316.8", 17.9},
	} {
		p := Payer{Limit: budget.Limit{Epsilon: dec(c.sum), Per: 24 * time.Hour}, Streams: []Stream{dashboard(c.every)}}
		if needs, day := p.Needs(), p.InAnyDay(); needs.String() != "ε "+c.sum || day.String() != "ε "+c.sum {
			t.Errorf("every %s: needs %s, a day costs %s; want ε %s", c.every, needs, day, c.sum)
		}
		with := p
		with.Delta = Suggested
		less, ok := p.Saved(with)
		if got := less.Epsilon.InexactFloat64(); !ok || math.Abs(got/c.withDelta-1) > 0.01 ||
			!less.Delta.Equal(Suggested) ||
			less.Sum.String() != c.sum {
			t.Errorf("every %s: with a δ %s, want about %v", c.every, less, c.withDelta)
		}
		p.Limit = budget.Limit{Epsilon: less.Epsilon, Delta: Suggested, Per: 24 * time.Hour}
		if day := p.InAnyDay(); !p.Runway().Pays || day.Epsilon.GreaterThan(p.Epsilon) || day.Sum.String() != c.sum {
			t.Errorf("every %s: with a budget of %s a day costs %s", c.every, p.Epsilon, day)
		}
	}
}

// A budget of what is needed pays for everything, and one of a little less does not. Its books have one order for
// windows and watches, which is not the best one for both.
func TestNeedsAreEnough(t *testing.T) {
	s := dashboard(15 * time.Minute)
	s.Watches = []budget.Item{pure("1", 3), pure("0.5", 2)}
	p := Payer{Limit: budget.Limit{Delta: Suggested, Per: 24 * time.Hour}, Streams: []Stream{s}}
	needs := p.Needs().Epsilon
	for share, want := range map[string]bool{"1": true, "0.9999": false} {
		if p.Epsilon = needs.Mul(dec(share)); p.Runway().Pays != want {
			t.Errorf("ε %s is needed; a budget of %s pays: %v, want %v", needs, p.Epsilon, !want, want)
		}
	}
}

// The order that suits windows and watches saves a tenth. A budget of what is then needed pays for everything, and one
// of a little less does not. Windows without watches have nothing to save, and what never ends has no order.
func TestSuited(t *testing.T) {
	s := dashboard(6 * time.Hour)
	s.Watches = []budget.Item{pure("0.5", 6)}
	p := Payer{Limit: budget.Limit{Epsilon: dec("4"), Delta: Suggested, Per: 24 * time.Hour}, Streams: []Stream{s}}
	with, worth := p.Suited()
	needs, less := p.Needs().Epsilon, with.Needs().Epsilon
	if !worth || less.GreaterThan(needs.Mul(dec("0.95"))) {
		t.Errorf("the order %s needs ε %s, and no order ε %s", with.Order, less, needs)
	}
	for share, want := range map[string]bool{"1": true, "0.9999": false} {
		if with.Epsilon = less.Mul(dec(share)); with.Runway().Pays != want {
			t.Errorf("at the order %s ε %s is needed; a budget of %s pays: %v, want %v", with.Order, less, with.Epsilon,
				!want, want)
		}
	}
	if again, worth := with.Suited(); worth || !again.Order.Equal(with.Order) {
		t.Errorf("then the order %s is better", again.Order)
	}
	p.Streams = []Stream{dashboard(15 * time.Minute)}
	if with, worth := p.Suited(); worth {
		t.Errorf("windows alone need ε %s at the order %s, and else ε %s", with.Needs().Epsilon, with.Order,
			p.Needs().Epsilon)
	}
	p.Per = 0 // and they never end
	if with, worth := p.Suited(); worth || !with.Order.IsZero() {
		t.Errorf("windows for ever have the order %s", with.Order)
	}
}

// Where an order of its own bounds a loss better than that of the budget, it is taken: an event in 60 windows of a
// budget for days of minutes.
func TestAnEventInManyWindows(t *testing.T) {
	p := Payer{Limit: budget.Limit{Epsilon: dec("20"), Delta: Suggested, Per: 24 * time.Hour}}
	s := Stream{Schedule: budget.Schedule{Stream: "s", Size: time.Hour, Every: time.Minute, Items: []budget.Item{
		{Promise: privacy.NewBoundedRange(dec("0.05")), Times: 1}}}}
	if n := s.Overlapping(0); n != 60 {
		t.Fatalf("%d windows overlap a moment; want 60", n)
	}
	if lost := p.Lost(s, 60); lost.Epsilon.InexactFloat64() > 1.13 || lost.Sum.String() != "3" {
		t.Errorf("an event costs %s; want at most ε 1.13, and a sum of 3", lost)
	}
	if lost := p.Lost(s, 1); lost.String() != "ε 0.05" {
		t.Errorf("a window costs %s; want ε 0.05", lost)
	}
}

// A stream that ends has no more windows than it has, whatever an event or a day could touch of an endless one.
func TestAStreamThatEnds(t *testing.T) {
	start := time.Date(2015, 5, 17, 10, 0, 0, 0, time.UTC)
	cost := []budget.Item{pure("0.07", 1)}
	s := Stream{Schedule: budget.Schedule{Stream: "s", Size: 2 * time.Hour, Every: time.Hour, Start: start.UnixNano(),
		End: start.Add(4 * time.Hour).UnixNano(), Items: cost}, Edge: cost}
	p := Payer{Limit: budget.Limit{Epsilon: dec("3.7"), Per: 24 * time.Hour}, Streams: []Stream{s}}
	if in := p.InAnyStretch(); in.Windows != 3 || in.Lost.String() != "ε 0.21" {
		t.Errorf("a day touches %d windows that cost %s; want 3 and ε 0.21", in.Windows, in.Lost)
	}
	p.Streams[0].MaxWindows = &windows.CapRule{Windows: 24, Most: 2, Block: 9}
	if n := p.Streams[0].Changed(2); n != 3 { // 4 in an endless schedule
		t.Errorf("two windows change %d; want no more than the 3 there are", n)
	}
	if s.End = start.Add(3 * time.Hour).UnixNano(); s.Overlapping(0) != 2 {
		t.Errorf("an event falls into %d windows; want 2", s.Overlapping(0))
	}
}

// A stretch as long as the budget's period overlaps windows that end in two periods, so that it may cost two limits
// where the windows cost more than the budget pays.
func TestAStretchCostsTheLimitsOfTwoPeriods(t *testing.T) {
	cost := []budget.Item{pure("0.7", 1)}
	s := Stream{Schedule: budget.Schedule{Stream: "s", Size: time.Hour, Every: time.Hour, Items: cost}, Edge: cost}
	p := Payer{Limit: budget.Limit{Epsilon: dec("3.7"), Per: 24 * time.Hour}, Streams: []Stream{s}}
	if in := p.InAnyStretch(); in.Windows != 25 || in.Lost.String() != "ε 7.4" {
		t.Errorf("a day touches %d windows that cost %s; want 25 and ε 7.4", in.Windows, in.Lost)
	}
}

// No claim is below the truth. The worst of what ε-DP and ρ-zCDP admit is drawn by randomised response and a Gaussian.
// The mass that a claim of ε leaves is Σ (P − e^ε·Q)⁺, which is a sum over the outcomes of all responses of P times the
// mass that the Gaussian leaves beyond what they have said.
func TestOfIsNeverBelowTheTruth(t *testing.T) {
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	rapid.Check(t, func(t *rapid.T) {
		limit := budget.Limit{Epsilon: dec(rapid.SampledFrom([]string{"0.5", "2", "8", "30"}).Draw(t, "limit")),
			Delta: dec(rapid.SampledFrom([]string{"0.01", "0.0001", "0.000000001"}).Draw(t, "delta"))}
		var items []budget.Item
		said := map[float64]float64{0: 1} // the mass of P by the ln(P/Q) of the responses
		for range rapid.IntRange(0, 6).Draw(t, "responses") {
			text := rapid.SampledFrom([]string{"0.05", "0.3", "1", "2.5"}).Draw(t, "ε")
			items = append(items, pure(text, 1))
			e, next := dec(text).InexactFloat64(), map[float64]float64{}
			for l, p := range said {
				next[math.Round((l+e)*1e9)/1e9] += p * math.Exp(e) / (1 + math.Exp(e))
				next[math.Round((l-e)*1e9)/1e9] += p / (1 + math.Exp(e))
			}
			said = next
		}
		rho := 0.0
		for range rapid.IntRange(0, 4).Draw(t, "gaussians") {
			text, n := rapid.SampledFrom([]string{"0.02", "0.3", "1"}).Draw(t, "ε"), rapid.Int64Range(1,
				50).Draw(t, "times")
			items = append(items, budget.Item{Promise: privacy.NewZCDP(dec(text)), Times: n})
			rho += float64(n) * dec(text).InexactFloat64() * dec(text).InexactFloat64() / 2
		}
		lost := Of(limit, items)
		claim, mass, mu := lost.Epsilon.InexactFloat64(), 0.0, math.Sqrt(2*rho)
		for l, p := range said {
			if x := claim - l; mu > 0 {
				mass += p * (normal(mu/2-x/mu) - math.Exp(x)*normal(-mu/2-x/mu))
			} else {
				mass += p * max(0, 1-math.Exp(x+1e-8)) // what was rounded may reach beyond a plain sum
			}
		}
		if lost.Unbounded || mass > lost.Delta.InexactFloat64()*(1+1e-6)+1e-15 {
			t.Fatalf("%d items: %s is claimed, and beyond that ε there is %v", len(items), lost, mass)
		}
		if lost.Sum != nil && lost.Epsilon.GreaterThan(*lost.Sum) {
			t.Fatalf("%s is more than the sum", lost)
		}
	})
}

// Budgets decide on the windows of random schedules. No day costs more than is said, and some day costs as much, if
// nothing is withheld from a single stream.
func TestADayAgainstBruteForce(t *testing.T) {
	hours := func(least, most int64) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(least, most),
			func(h int64) time.Duration { return time.Duration(h) * time.Hour })
	}
	rapid.Check(t, func(t *rapid.T) {
		const day, last = 24 * time.Hour, 150 * time.Hour
		p := Payer{Limit: budget.Limit{Epsilon: dec(rapid.SampledFrom([]string{"0.5", "2", "100"}).Draw(t, "limit")),
			Per: rapid.OneOf(hours(1, 50), rapid.Just(time.Duration(0)), rapid.Just(day)).Draw(t, "per")}}
		if p.Per == day && rapid.Bool().Draw(t, "with δ") {
			p.Delta = dec("0.000001")
		}
		capped := false
		for i := range rapid.IntRange(1, 3).Draw(t, "streams") {
			s := Stream{Schedule: budget.Schedule{Stream: string(rune('a' + i)), Size: hours(1, 6).Draw(t, "size"),
				Every: hours(1, 6).Draw(t, "every"),
				Items: []budget.Item{pure(rapid.SampledFrom([]string{"0.1", "0.25"}).Draw(t, "ε"), 1)}}}
			if rapid.Bool().Draw(t, "capped") {
				capped, s.Cap = true, budget.Cap{Count: rapid.Int64Range(1, 6).Draw(t, "count"),
					Per: hours(1, 40).Draw(t, "cap per")}
			}
			p.Streams = append(p.Streams, s)
		}
		claim := p.InAnyDay()
		a, withheld := budget.NewAccount(p.Limit), false
		for end := time.Duration(0); end <= last; end += time.Hour {
			for _, s := range p.Streams {
				if begun := end - s.Size; begun < 0 || begun%s.Every != 0 {
					continue
				}
				if c := (budget.Charge{Stream: s.Stream, End: int64(end), Cap: s.Cap, Items: s.Items}); a.Fits(c) {
					a.Add(c)
				} else {
					withheld = true
				}
			}
		}
		worst := decimal.Zero
		for end := time.Duration(0); end <= last; end += time.Hour {
			worst = decimal.Max(worst, a.LostIn("", int64(end-day), int64(end)).Epsilon)
		}
		// What is bounded by a cap is bounded once for each period of the limit, and once for the day. The sum over the
		// periods can be smaller.
		if (!capped || !withheld) && worst.GreaterThan(claim.Epsilon) {
			t.Fatalf("a day costs %s; at most %s is said", worst, claim)
		}
		if len(p.Streams) == 1 && !withheld && !worst.Equal(claim.Epsilon) {
			t.Fatalf("the worst day costs %s; %s is said", worst, claim)
		}
	})
}

// Each budget of a topic adds to what its people lose.
func TestInCommon(t *testing.T) {
	payer := func(name, topic, epsilon string) Payer {
		s := dashboard(time.Hour)
		s.Topic = topic
		return Payer{Name: name, Limit: budget.Limit{Epsilon: dec(epsilon), Per: 24 * time.Hour}, Streams: []Stream{s}}
	}
	all := InCommon([]Payer{payer("a", "in", "2.4"), payer("other", "alone", "1"), payer("b", "in", "4.8")})
	if len(all) != 1 || all[0].String() != "topic in: budgets a, b pay for the same people: one person loses at most "+
		"ε 7.2 in any 24 h through all of them" {
		t.Errorf("%v", all)
	}
}

// Words for every kind of loss.
func TestLossInWords(t *testing.T) {
	delta := budget.Limit{Epsilon: dec("4"), Delta: Suggested}
	approximate := budget.Item{Promise: privacy.NewApproximate(dec("0.5"), dec("0.00000000001")), Times: 1}
	for want, l := range map[string]Loss{
		"ε 0.2": Of(delta, []budget.Item{pure("0.1", 2)}),
		"no amount that can be stated": Of(budget.Limit{Epsilon: dec("4")},
			[]budget.Item{{Promise: privacy.NewZCDP(dec("0.1")), Times: 1}}),
		"ε 0.5, δ 0.00000000001": Of(delta, []budget.Item{approximate}),
		"ε 7.2, δ 0.01 (ε 20 without δ)": {Spending: budget.Spending{Epsilon: dec("7.2"), Delta: dec("0.01")},
			Sum: new(dec("20"))},
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
