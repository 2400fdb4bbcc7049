package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
	"github.com/louver/louver/mechanisms/smooth"
)

// measurement is one column of the vertebral column data set (UCI repository), with public bounds chosen here.
type measurement struct {
	name         string
	lower, upper float64
}

func measurements() []measurement {
	return []measurement{
		{"pelvic incidence", 0, 180}, {"pelvic tilt", -90, 90}, {"lumbar lordosis angle", 0, 180},
		{"sacral slope", 0, 180}, {"pelvic radius", 0, 300}, {"degree spondylolisthesis", -100, 500},
	}
}

// histograms repeats figures 2 and 3 of Gillenwater & Muñoz Medina (2020): 1000 private medians at ε = 0.5 of six
// measurements, for normal and abnormal patients, by LaplaceLN with δ = 1/n and by Duff.
func histograms(s *session) error {
	if s.vertebral == "" {
		s.log("  left out: no -vertebral file")
		return nil
	}
	groups, err := readVertebral(s.vertebral)
	if err != nil {
		return err
	}
	const step, epsilon = 0.01, 0.5
	draws := s.reps(1000, 100)
	t := newTable("figure", "measurement", "mechanism", "group", "n", "median", "p5", "p25", "p50", "p75", "p95",
		"told_apart")
	for figure, mechanism := range []string{"LaplaceLN", "Duff"} {
		var panels [][2][]float64
		for column, m := range measurements() {
			in := input{lower: m.lower, upper: m.upper, step: step}
			var panel [2][]float64
			medians := [2]float64{}
			for g, group := range []string{"Normal", "Abnormal"} {
				values := make([]int64, len(groups[group]))
				for i, row := range groups[group] {
					values[i] = in.index(row[column])
				}
				sample := laws.NewSample(values, in.last())
				medians[g] = in.at(sample.Quantile(1, 2))
				draw, err := medianDraw(mechanism, in, sample, epsilon)
				if err != nil {
					return err
				}
				for range draws {
					x, err := draw()
					if err != nil {
						return err
					}
					panel[g] = append(panel[g], in.at(x))
				}
				slices.Sort(panel[g])
			}
			panels = append(panels, panel)
			for g, group := range []string{"Normal", "Abnormal"} {
				q := func(p float64) float64 { return panel[g][int(p*float64(draws-1))] }
				t.add(figure+2, m.name, mechanism, group, len(groups[group]), medians[g], q(.05),
					q(.25), q(.5), q(.75), q(.95), toldApart(panel, medians[0] < medians[1]))
			}
		}
		if err := s.panels(fmt.Sprintf("figure%d-%s", figure+2, strings.ToLower(mechanism)), panels); err != nil {
			return err
		}
	}
	return s.write("figures2-3", t)
}

// at returns the value of a grid index.
func (in input) at(x int64) float64 { return in.lower + float64(x)*in.step }

// medianDraw returns a function that draws the private median as a grid index.
func medianDraw(mechanism string, in input, sample *laws.Sample, epsilon float64) (func() (int64, error), error) {
	random := repeatable("figures 2 and 3", mechanism, in.lower, in.upper, sample.Sorted)
	if mechanism == "Duff" {
		grid := in.grid()
		m, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Median, Mechanism: "duff", Prior: "uniform",
			Epsilon: decimal.NewFromFloat(epsilon), Grid: grid})
		if err != nil {
			return nil, err
		}
		input := librarySample(grid, sample)
		return func() (int64, error) {
			d, err := m.Draw(input, mechanisms.Public{}, random)
			if err != nil {
				return 0, err
			}
			return d.Values[0].Number, nil
		}, nil
	}
	// This is the best β for this sample. A real release could not know it.
	own := concentrated(epsilon, 1/float64(sample.Users()))
	noise := bestBeta(laws.LLN, own, []*laws.Sample{sample})(own)
	m, err := smooth.New(smooth.Spec{Statistic: "median", Noise: "lln", ReplaceOne: true, Last: in.last(),
		Epsilon: decimal.NewFromFloat(own).Round(6), Beta: decimal.NewFromFloat(noise.Beta).Round(6)})
	if err != nil {
		return nil, err
	}
	values := smooth.NewValues(sample.Distinct())
	return func() (int64, error) { return m.Draw(values, random) }, nil
}

// toldApart is the share of pairs of draws, one from each group, that are in the order of the true medians.
func toldApart(panel [2][]float64, ascending bool) float64 {
	right := 0.0
	for _, a := range panel[0] {
		for _, b := range panel[1] {
			switch {
			case a == b:
				right += 0.5
			case (a < b) == ascending:
				right++
			}
		}
	}
	return right / float64(len(panel[0])*len(panel[1]))
}

func readVertebral(path string) (map[string][][]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	groups := map[string][][]float64{}
	for i, row := range rows {
		if i == 0 {
			continue
		}
		if len(row) != 7 {
			return nil, fmt.Errorf("%s: row %d has %d columns; want six measurements and the class",
				path, i+1, len(row))
		}
		var values []float64
		for _, cell := range row[:6] {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: row %d: %w", path, i+1, err)
			}
			values = append(values, v)
		}
		groups[row[6]] = append(groups[row[6]], values)
	}
	if len(groups["Normal"]) == 0 || len(groups["Abnormal"]) == 0 {
		return nil, fmt.Errorf("%s: no rows of a class; want rows of the classes Normal and Abnormal", path)
	}
	return groups, nil
}

// panels draws the histograms of the six measurements in one picture.
func (s *session) panels(name string, panels [][2][]float64) error {
	const columns, rows, bins = 3, 2, 50
	canvas := vgsvg.New(24*vg.Centimeter, 14*vg.Centimeter)
	var plots [][]*plot.Plot
	for i, panel := range panels {
		p := plot.New()
		p.Title.Text = measurements()[i].name
		p.Title.TextStyle.Font.Size = vg.Points(9)
		for g, draws := range panel {
			h, err := plotter.NewHist(plotter.Values(draws), bins)
			if err != nil {
				return err
			}
			h.FillColor, h.Color = nil, plotutil.Color(1-g)
			h.LineStyle.Width = vg.Points(1)
			p.Add(h)
			if i == 0 {
				p.Legend.Add([]string{"normal", "abnormal"}[g], h)
			}
		}
		p.Legend.Top = true
		if i%columns == 0 {
			plots = append(plots, nil)
		}
		plots[i/columns] = append(plots[i/columns], p)
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: vg.Points(8), PadY: vg.Points(8)}
	for r, row := range plot.Align(plots, tiles, draw.New(canvas)) {
		for c, tile := range row {
			plots[r][c].Draw(tile)
		}
	}
	return s.create(name+".svg", func(w io.Writer) error { _, err := canvas.WriteTo(w); return err })
}
