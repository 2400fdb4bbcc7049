package demo

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/simulate"
)

// drawnAgain are windows of the simulated service that can be drawn again.
func drawnAgain(t *testing.T, windows int) *redraws {
	t.Helper()
	s := demoStream(t, string(simulate.Streams()))
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r := &redraws{stream: s}
	truth := simulate.NewTruth(s)
	simulate.New(simulate.Day(7)).Events(start, start.Add(s.Window.Size), truth.Add)
	figures, samples := truth.Take(start.Add(s.Window.Size))
	for i := range windows { // of the same users
		at := start.Add(time.Duration(i) * s.Window.Size)
		r.add(at, at.Add(s.Window.Size), samples, figures, i%2 == 0)
	}
	return r
}

// figuresOf are the figures of an answer.
func figuresOf(t *testing.T, r *redraws, release, epsilon string) redrawnAnswer {
	t.Helper()
	answer, err := r.answer(release, epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return answer.(redrawnAnswer)
}

// What is drawn again follows the law of its ε. The noise of a count with ε is more than k with a probability of about
// e^{−ε·k}/2, so 95 of 100 draws lie within ln(20)/ε: 30 users for ε 0.1. An end of a band is the tenth of 399 draws:
// it cuts off 2.5 %, with a standard error of 0.78 %, which is 3.1 users (0.0078 / (0.1 × 0.025)). The mean of 144 ends
// is off by 0.26 users, so one within 3 users of 30 fails by chance less often than once in 10^20. A wrong ε of 0.05 or
// 0.2 gives 60 or 15.
func TestRedrawnBandFollowsTheLaw(t *testing.T) {
	r := drawnAgain(t, mostRedrawn)
	halfWidth := func(epsilon string) (mean float64) {
		answer := figuresOf(t, r, "users", epsilon)
		for _, f := range answer.Figures {
			low, _ := f.Low.Float64()
			high, _ := f.High.Float64()
			mean += (high - low) / 2 / float64(len(answer.Figures))
		}
		return mean
	}
	want := math.Log(20) / 0.1
	if got := halfWidth("0.1"); math.Abs(got-want) > 3 {
		t.Errorf("the bands of ε 0.1 reach ± %.1f; want ± %.1f", got, want)
	}
	for _, wrong := range []string{"0.05", "0.2"} {
		if got := halfWidth(wrong); math.Abs(got-want) <= 3 {
			t.Errorf("the bands of ε %s pass for those of 0.1: ± %.1f", wrong, got)
		}
	}
}

// A value lies outside its band with a probability of 5 %. More than 20 of 72 do so in at most one of 10^9 runs
// (binomial).
func TestRedrawnValuesLieInTheirBands(t *testing.T) {
	r := drawnAgain(t, mostRedrawn)
	for _, release := range r.releases() {
		outside := 0
		answer := figuresOf(t, r, release, "0.02")
		for _, f := range answer.Figures {
			value, _ := f.Value.Float64()
			low, _ := f.Low.Float64()
			high, _ := f.High.Float64()
			if value < low || value > high {
				outside++
			}
		}
		if len(answer.Figures) != 3*mostRedrawn || outside > 20 {
			t.Errorf("%s: %d of %d values are outside of their bands", release, outside, len(answer.Figures))
		}
	}
}

// Whoever knows how many others called, and guesses by the count, is right as often as ε allows and no more often. With
// ε 10 that is nearly always: each of 200 guesses is wrong with a probability of 4.5e-5, so three or more are once in
// 10⁶ runs. With ε 0.1 they are right with 0.525, which is 105 of 200; less than 70 or more than 140 are beyond 4.9
// standard deviations of 7.1, once in 10⁶ runs.
func TestRobinIsFoundAsOftenAsEpsilonAllows(t *testing.T) {
	r := drawnAgain(t, mostCounted+3)
	right := func(epsilon string) (n int) {
		guesses := figuresOf(t, r, "users", epsilon).Guesses
		if len(guesses) != mostCounted {
			t.Fatalf("%d guesses, want %d", len(guesses), mostCounted)
		}
		for _, g := range guesses {
			if (g.Count > g.Others) == g.Called {
				n++
			}
		}
		return n
	}
	if got := right("10"); got < mostCounted-2 {
		t.Errorf("with ε 10 %d of %d guesses are right, want all", got, mostCounted)
	}
	if got := right("0.1"); got < 70 || got > 140 {
		t.Errorf("with ε 0.1 %d of %d guesses are right, want about half", got, mostCounted)
	}
	if once, again := right("1"), right("1"); once != again {
		t.Errorf("the same ε again: %d and then %d are right", once, again)
	}
}

// Who comes back to an ε sees the same figures. Old windows are forgotten, and only some ε can be asked for.
func TestRedrawnStaysTheSame(t *testing.T) {
	r := drawnAgain(t, mostRedrawn+5)
	once := figuresOf(t, r, "p50", "0.01")
	figuresOf(t, r, "p50", "10")
	if d := cmp.Diff(once, figuresOf(t, r, "p50", "0.01")); d != "" {
		t.Errorf("the same ε again: %s", d)
	}
	if n := len(once.Figures); n != 3*mostRedrawn {
		t.Errorf("%d figures, want %d", n, 3*mostRedrawn)
	}
	for epsilon, right := range map[string]string{"0.01": "51", "0.1": "53", "1": "74", "10": "99.995"} {
		if got := figuresOf(t, r, "p50", epsilon).Right.String(); got != right {
			t.Errorf("ε %s: %s of 100, want %s", epsilon, got, right)
		}
	}
	for _, c := range []struct{ release, epsilon string }{{"p51", "0.1"}, {"p50", "3"}, {"p50", ""}, {"latency", "0.1"}} {
		if _, err := r.answer(c.release, c.epsilon); err == nil {
			t.Errorf("release %q with ε %q: no error", c.release, c.epsilon)
		}
	}
}
