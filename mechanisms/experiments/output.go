package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// table collects the rows of a CSV file.
type table struct{ rows [][]string }

func newTable(columns ...string) *table { return &table{[][]string{columns}} }

// add appends a row; numbers are written with 4 digits.
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		if f, ok := c.(float64); ok {
			row[i] = digits(f)
		} else {
			row[i] = fmt.Sprint(c)
		}
	}
	t.rows = append(t.rows, row)
}

func digits(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

func (s *session) write(name string, t *table) error {
	return s.create(name+".csv", func(w io.Writer) error { return csv.NewWriter(w).WriteAll(t.rows) })
}

// create makes a file in the session's folder.
func (s *session) create(name string, write func(w io.Writer) error) (err error) {
	f, err := os.Create(filepath.Join(s.folder, name))
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	return write(f)
}

// line is one curve of a chart. Deviation is optional and holds half the length of each error bar.
type line struct {
	name            string
	x, y, deviation []float64
}

type points struct {
	plotter.XYs
	plotter.YErrors
}

// chart draws lines with points. A logarithmic y axis leaves out values that are not positive.
func (s *session) chart(name, title, xLabel, yLabel string, logX, logY bool, lines ...line) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, xLabel, yLabel
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	if logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	for i, l := range lines {
		var data points
		for k := range l.x {
			if math.IsInf(l.y[k], 0) || math.IsNaN(l.y[k]) || logY && l.y[k] <= 0 {
				continue
			}
			data.XYs = append(data.XYs, plotter.XY{X: l.x[k], Y: l.y[k]})
			if l.deviation != nil {
				low := l.deviation[k]
				if logY {
					low = min(low, l.y[k]*0.9)
				}
				data.YErrors = append(data.YErrors, struct{ Low, High float64 }{low, l.deviation[k]})
			}
		}
		curve, marks, err := plotter.NewLinePoints(data.XYs)
		if err != nil {
			return fmt.Errorf("chart %s, %s: %w", name, l.name, err)
		}
		curve.Color, marks.Color = plotutil.Color(i), plotutil.Color(i)
		curve.Dashes, marks.Shape, marks.Radius = plotutil.Dashes(i/7), plotutil.Shape(i), vg.Points(2)
		p.Add(curve, marks)
		p.Legend.Add(l.name, curve, marks)
		if l.deviation != nil {
			bars, err := plotter.NewYErrorBars(data)
			if err != nil {
				return fmt.Errorf("chart %s, %s: %w", name, l.name, err)
			}
			bars.Color = plotutil.Color(i)
			p.Add(bars)
		}
	}
	p.Legend.ThumbnailWidth, p.Legend.TextStyle.Font.Size = vg.Points(16), vg.Points(8)
	return p.Save(16*vg.Centimeter, 11*vg.Centimeter, filepath.Join(s.folder, name+".svg"))
}
