package histogram

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// vectors are figures from a program that shares no code with this package.
type vectors struct {
	Ends []struct {
		Scale              int
		Lower, Upper, Step decimal.Decimal
		Buckets            int
		Fold               uint64
		First, Last        []int64
	}
	Estimates []struct {
		Name, Epsilon string
		Ends          json.RawMessage
		GroupOf       []int `json:"group_of"`
		Raw, Coarse   []int64
		Users         int64
		Count         []int64
		Quantiles     map[string]struct {
			Value    int64
			Interval [2]int64
		}
	}
	Rollup struct {
		Raw, Coarse []int64
		Users       int64
	}
	Margins []struct {
		Epsilon, Objective float64
		Windows            int64
		Evaluations        float64
		FalsePages         float64 `json:"false_pages"`
		Margin             float64
	}
}

const vectorFile = "histogram_vectors.json"

// nativeBuckets returns the buckets of a scale over a grid.
func nativeBuckets(t testing.TB, scale int, lower, upper, step string) *Buckets {
	t.Helper()
	l, u, s := decimal.RequireFromString(lower), decimal.RequireFromString(upper), decimal.RequireFromString(step)
	last := u.Sub(l).Div(s).IntPart()
	ends, err := NativeEnds(scale, l, s, last)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(ends, last, !l.IsZero(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func listBuckets(t testing.TB, last int64, levels int, ends ...int64) *Buckets {
	t.Helper()
	b, err := New(ends, last, false, levels)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEndsOfVectors(t *testing.T) {
	for _, v := range dptest.Vectors[vectors](t, vectorFile).Ends {
		b := nativeBuckets(t, v.Scale, v.Lower.String(), v.Upper.String(), v.Step.String())
		if b.Len() != v.Buckets {
			t.Errorf("scale %d of %s..%s: %d buckets, want %d", v.Scale, v.Lower, v.Upper, b.Len(), v.Buckets)
			continue
		}
		fold := uint64(0)
		for _, end := range b.Ends() {
			fold = fold*1000003 + uint64(end)
		}
		first, last := b.Ends()[:len(v.First)], b.Ends()[len(b.Ends())-len(v.Last):]
		if fold != v.Fold || !slices.Equal(first, v.First) || !slices.Equal(last, v.Last) {
			t.Errorf("scale %d of %s..%s by %s: fold %d, %v … %v, want %d, %v … %v", v.Scale, v.Lower, v.Upper, v.Step,
				fold, first, last, v.Fold, v.First, v.Last)
		}
	}
}

func TestEstimatesOfVectors(t *testing.T) {
	for _, v := range dptest.Vectors[vectors](t, vectorFile).Estimates {
		epsilon := decimal.RequireFromString(v.Epsilon).InexactFloat64()
		var b *Buckets
		var ends []int64
		noise := Laplace(epsilon / 2)
		if json.Unmarshal(v.Ends, &ends) == nil {
			b, noise = listBuckets(t, 60000, 0, ends...), Laplace(epsilon)
		} else {
			b = nativeBuckets(t, 3, "0", "60000", "1")
		}
		for i, g := range v.GroupOf {
			if b.Group(i) != g {
				t.Errorf("%s: bucket %d is in group %d, want %d", v.Name, i, b.Group(i), g)
			}
		}
		e := b.Estimate(v.Raw, v.Coarse, noise, 1)
		if n, _ := e.Users(); n != v.Users {
			t.Errorf("%s: %d users, want %d", v.Name, n, v.Users)
		}
		if got := e.Counts(); !slices.Equal(got, v.Count) {
			t.Errorf("%s: counts %v, want %v", v.Name, got, v.Count)
		}
		for p, want := range v.Quantiles {
			q, ok := e.Quantile(decimal.RequireFromString(p))
			if !ok || q.Index != want.Value || q.Low != want.Interval[0] || q.High != want.Interval[1] {
				t.Errorf("%s: quantile %s is %+v, want %+v", v.Name, p, q, want)
			}
		}
	}
}

func TestRollUpOfVectors(t *testing.T) {
	v := dptest.Vectors[vectors](t, vectorFile).Rollup
	e := nativeBuckets(t, 3, "0", "60000", "1").Estimate(v.Raw, v.Coarse, Laplace(0.05), 2)
	if n, _ := e.Users(); n != v.Users {
		t.Errorf("%d users, want %d", n, v.Users)
	}
}

func TestMarginsOfVectors(t *testing.T) {
	for _, v := range dptest.Vectors[vectors](t, vectorFile).Margins {
		b := listBuckets(t, 60000, 0, 800)
		b = &Buckets{ends: b.ends[:1], last: 800} // the two buckets of an objective of its own
		got := b.Evidence(0, 1-v.Objective, Laplace(v.Epsilon), v.Windows, v.FalsePages/(4*v.Evaluations))
		// The vectors look at some s only, so they are a little above the least margin.
		if got > v.Margin || got < v.Margin*0.999 {
			t.Errorf("epsilon %v, objective %v, %d windows: %.2f users, want %.2f", v.Epsilon,
				v.Objective, v.Windows, got, v.Margin)
		}
	}
}
