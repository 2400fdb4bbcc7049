package main

import (
	"math"
	"testing"

	"github.com/louver/louver/mechanisms/experiments/laws"
)

// Tests the default mean on data that influenced no choice: the value columns of both files, with bounds that anyone
// could have named beforehand. In the geometric mean of the columns it beats both the previous default, smooth_power,
// and two sums in the whole range. If 3 % of the users are at the upper bound and make up half of the sum, two sums are
// better, as the documentation says.
//
// The draws come from a fixed key. With other keys the mean error of 400 draws varies by about a tenth, and the
// geometric mean of 24 settings by 2 %. The limits are 0.8, 1 and 2; the results are 0.58, 0.93 and 7.
func TestMeansOfUnseenData(t *testing.T) {
	unseen(t)
	study := meanStudies()[0]
	errorOf := func(in input, s *laws.Sample, mechanism string, epsilon float64) float64 {
		o, err := study.outcome(in, releaser{mechanism, mechanism, 0, false}, []*laws.Sample{s}, epsilon, 400)
		if err != nil {
			t.Fatal(err)
		}
		return o.mean
	}
	var older, whole score
	for _, c := range columns[:6] {
		in := c.input()
		var indices []int64
		for _, v := range c.values(t) {
			indices = append(indices, in.index(v))
		}
		s := laws.NewSample(indices, in.last())
		for _, epsilon := range []float64{0.1, 0.5, 1, 2} {
			clipped, power, sums := errorOf(in, s, "clipped", epsilon), errorOf(in, s, "smooth_power", epsilon),
				errorOf(in, s, "two_sums", epsilon)
			t.Logf("%s, ε = %v: clipped %.3g, smooth_power %.3g, two_sums %.3g", in.name, epsilon, clipped, power, sums)
			older.add(clipped / power)
			whole.add(clipped / sums)
		}
	}
	mean := func(s score) float64 { return math.Exp(s.logs / float64(s.settings)) }
	t.Logf("geometric means: %.2f of smooth_power's error, %.2f of that of two sums", mean(older), mean(whole))
	if mean(older) > 0.8 || mean(whole) > 1 {
		t.Errorf("the default mean has %.2f of the error of smooth_power and %.2f of that of two sums", mean(older),
			mean(whole))
	}

	web, last := column{"web_requests.csv", "bytes", 0, 1_000_000, 1}, map[string]int64{}
	in, clients := web.input(), cells(t, "web_requests.csv", "client")
	for i, v := range web.values(t) {
		last[clients[i]] = in.index(v)
	}
	var indices []int64
	for _, i := range last {
		indices = append(indices, i)
	}
	s := laws.NewSample(indices, in.last())
	for _, epsilon := range []float64{0.1, 0.5, 1, 2} {
		clipped, power, sums := errorOf(in, s, "clipped", epsilon), errorOf(in, s, "smooth_power", epsilon),
			errorOf(in, s, "two_sums", epsilon)
		t.Logf("bytes of %d clients, ε = %v: clipped %.4g, smooth_power %.4g, two_sums %.4g",
			len(last), epsilon, clipped, power, sums)
		if epsilon == 0.5 && clipped < 2*sums {
			t.Errorf("clip: none is not as much better on the web's bytes as the documentation says: %v and %v", sums,
				clipped)
		}
	}
}
