package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/louver/louver/mechanisms/experiments/laws"
)

// column is a column of values in a data set, between public bounds that do not come from the data.
type column struct {
	file, name         string
	lower, upper, step float64
}

var columns = []column{
	{"vertebral_column_2c.csv", "pelvic_incidence", 0, 180, 0.1},
	{"vertebral_column_2c.csv", "pelvic_tilt numeric", -90, 90, 0.1},
	{"vertebral_column_2c.csv", "lumbar_lordosis_angle", 0, 180, 0.1},
	{"vertebral_column_2c.csv", "sacral_slope", 0, 180, 0.1},
	{"vertebral_column_2c.csv", "pelvic_radius", 0, 300, 0.1},
	{"vertebral_column_2c.csv", "degree_spondylolisthesis", -100, 500, 0.1},
	{"web_requests.csv", "bytes", 0, 100_000_000, 1000},
}

// unseen returns the folder of the data sets. Where one of them is missing, the test is skipped.
func unseen(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("LOUVER_TEST_DATA")
	for _, c := range columns {
		if _, err := os.Stat(filepath.Join(folder, c.file)); folder == "" || err != nil {
			t.Skipf("no %s in LOUVER_TEST_DATA=%q", c.file, folder)
		}
	}
	return folder
}

// cells returns a column's cells as text.
func cells(t *testing.T, file, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(unseen(t), file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], name)
	if at < 0 {
		t.Fatalf("%s has no column %q", file, name)
	}
	var all []string
	for _, row := range rows[1:] {
		all = append(all, row[at])
	}
	return all
}

// values returns a column's values.
func (c column) values(t *testing.T) []float64 {
	t.Helper()
	var values []float64
	for i, cell := range cells(t, c.file, c.name) {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			t.Fatalf("%s, row %d: %v", c.file, i+2, err)
		}
		values = append(values, v)
	}
	return values
}

// input returns the column's public part.
func (c column) input() input {
	return input{name: c.name, lower: c.lower, upper: c.upper, step: c.step}
}

// TestUnseenData compares the default with its predecessor, margin under cells, on data that influenced neither choice:
// every value column of two data sets, at five quantiles and four ε. The errors are exact expectations.
func TestUnseenData(t *testing.T) {
	unseen(t)
	former, now := contenders()[0], defaultChoices()[0]
	list := contenders()[:11]
	list = append(list, now)
	var sum, best, gained score
	settings, worse := 0, 0
	for _, column := range columns {
		in := column.input()
		var indices []int64
		for _, v := range column.values(t) {
			indices = append(indices, in.index(v))
		}
		sample := laws.NewSample(indices, in.last())
		c := newSetting(in)
		c.n = len(indices)
		for _, pq := range [][2]int64{{1, 20}, {1, 4}, {1, 2}, {9, 10}, {99, 100}} {
			c.p, c.q = pq[0], pq[1]
			for _, c.epsilon = range []float64{0.02, 0.1, 0.5, 1} {
				rows := make([]outcome, len(list))
				least := math.Inf(1)
				for i, m := range list {
					rows[i] = c.outcome(m, []*laws.Sample{sample})
					if m.name != theDefault {
						least = min(least, rows[i].mean)
					}
				}
				before, after := rows[0].mean, rows[len(rows)-1].mean
				r := ratio(after, before, in.step/100)
				settings++
				if r > 1.1 {
					worse++
				}
				gained.add(r)
				best.add(ratio(after, least, in.step/100))
				sum.add(ratio(before, least, in.step/100))
				t.Logf("%-26s n %5d p %.2f ε %.2f: %s %9.4g, %s %9.4g, best %9.4g", column.name,
					c.n, c.alpha(), c.epsilon, former.name, before, now.name, after, least)
			}
		}
	}
	mean := func(s score) float64 { return math.Exp(s.logs / float64(s.settings)) }
	t.Logf("%d settings: the default's mean error is %.3f times that of the former one (more than 10 %% larger in %d, "+
		"%.2f times at most)", settings, mean(gained), worse, gained.worst)
	t.Logf("against the best of all: more than 10 %% off in %d, geometric mean %.3f, worst %.2f; the former default "+
		"%d, %.3f, %.2f",
		best.misses, mean(best), best.worst, sum.misses, mean(sum), sum.worst)
	if mean(gained) > 1 || mean(best) > mean(sum) || best.misses > sum.misses {
		t.Error("the default is no better than the former one")
	}
}
