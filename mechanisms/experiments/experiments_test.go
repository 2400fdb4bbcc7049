package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
)

// TestEveryExperiment runs a short version of every experiment and reads its output.
func TestEveryExperiment(t *testing.T) {
	for _, e := range experiments() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := &session{folder: t.TempDir(), quick: true, vertebral: patients(t), log: t.Logf}
			if err := e.run(s); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"*.csv", "*.svg"} {
				files, err := filepath.Glob(filepath.Join(s.folder, kind))
				if err != nil || len(files) == 0 {
					t.Errorf("no %s was written: %v", kind, err)
				}
			}
			if e.name == "figure1" {
				checkFigure1(t, s.folder)
			}
		})
	}
}

// patients writes a small file in the format of the vertebral column data set.
func patients(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "patients.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	rows := [][]string{{"a", "b", "c", "d", "e", "f", "status"}}
	for i := range 40 {
		row := make([]string, 7)
		for c := range 6 {
			row[c] = strconv.Itoa(20 + 3*c + i%20)
		}
		row[6] = []string{"Normal", "Abnormal"}[i/20]
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns a table as a map from the first cells of each row to its cells by column.
func read(t *testing.T, path string, key int) map[string]map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]string{}
	for _, row := range rows[1:] {
		name, cells := "", map[string]string{}
		for i, cell := range row {
			if i < key {
				name += cell + "|"
			}
			cells[rows[0][i]] = cell
		}
		table[name] = cells
	}
	return table
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checkFigure1 compares the figure with the paper: Cauchy noise has about 180 times Duff's error at ε = 0.1 and 36
// times at ε = 2, Laplace noise four times at ε = 2. Five samples instead of 100 leave a standard error of about 10 %.
func checkFigure1(t *testing.T, folder string) {
	rows := read(t, filepath.Join(folder, "figure1.csv"), 3)
	for key, want := range map[string]float64{
		"normal|0.1|SmoothSens e (Cauchy)|":        180,
		"normal|2|SmoothSens e (Cauchy)|":          36,
		"normal|2|SmoothSens e,d (Laplace, best)|": 4,
	} {
		if got := number(t, rows[key]["ratio_to_duff"]); math.Abs(got/want-1) > 0.3 {
			t.Errorf("%s %v times Duff's error, want about %v", key, got, want)
		}
	}
}

// TestMeanOverGaps compares with the library's draws: the mean of 20,000 is within 5.2 standard errors of the integral,
// except with probability 2·10⁻⁷.
func TestMeanOverGaps(t *testing.T) {
	in := populations()[0]
	sample := in.fineSample(50, 0)
	grid := in.grid()
	m, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Median, Mechanism: "duff", Prior: "uniform",
		Epsilon: decimal.New(1, 0), Grid: grid})
	if err != nil {
		t.Fatal(err)
	}
	input, random := librarySample(grid, sample), repeatable("mean over gaps")
	target := sample.At(25)
	const draws = 20000
	sum, squares := 0.0, 0.0
	for range draws {
		d, err := m.Draw(input, mechanisms.Public{}, random)
		if err != nil {
			t.Fatal(err)
		}
		e := math.Abs(float64(d.Values[0].Number - target))
		sum += e
		squares += e * e
	}
	mean := sum / draws
	deviation := math.Sqrt((squares/draws - mean*mean) / draws)
	if want := laws.MeanOverGaps(sample, laws.Duff(1, 2), 1, float64(target)); math.Abs(mean-want) > 5.2*deviation {
		t.Errorf("mean error %v ± %v of the draws, %v of the integral", mean, deviation, want)
	}
}

func TestArguments(t *testing.T) {
	if err := run([]string{"-only", "nothing"}); err == nil {
		t.Error("an unknown experiment is accepted")
	}
}
