package offline

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// draws makes draws from one sample as text. It is safe for concurrent use.
type draws struct {
	query     mechanisms.Query
	mechanism mechanisms.Mechanism
	scale     mechanisms.Scale
	clips     mechanisms.Scale // for the interval that values are cut to
	sample    *mechanisms.Sample
	json      bool
	names     []string // of the values of several quantiles, such as p99
	beside    bool     // say beside a value how far off it may be
}

func newDraws(q mechanisms.Query, m mechanisms.Mechanism, s *mechanisms.Sample, asJSON bool) *draws {
	d := &draws{query: q, mechanism: m, scale: q.Scale(m), clips: q.ClipScale(m), sample: s, json: asJSON}
	if q.Statistic.Each() != q.Statistic {
		for _, name := range (&config.Release{Query: q}).Names() {
			d.names = append(d.names, strings.TrimPrefix(name, "."))
		}
	}
	return d
}

// batch is how many draws are written at once: many for speed, but few enough to show that a slow mechanism works.
const batch = 256

// repeat writes n draws, on all processors and in no particular order: draws from one sample are independent and
// identically distributed.
func repeat(app *cli.App, n int, d *draws) error {
	var (
		began   atomic.Int64
		writing sync.Mutex
	)
	group, ctx := errgroup.WithContext(app.Context)
	for range min(runtime.GOMAXPROCS(0), (n-1)/batch+1) {
		group.Go(func() error {
			random := bufio.NewReaderSize(rand.Reader, 1<<16)
			var lines []byte
			for ctx.Err() == nil {
				end := began.Add(batch)
				todo := min(batch, int64(n)-(end-batch))
				if todo <= 0 {
					return nil
				}
				var err error
				if lines, err = d.some(lines[:0], todo, random); err != nil {
					return err
				}
				writing.Lock()
				_, err = app.Out.Write(lines)
				writing.Unlock()
				if err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// some makes n draws and appends their lines.
func (d *draws) some(lines []byte, n int64, random io.Reader) (_ []byte, err error) {
	for range n {
		if lines, err = d.append(lines, random); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// append makes one draw and appends its lines.
func (d *draws) append(lines []byte, random io.Reader) ([]byte, error) {
	drawn, err := d.mechanism.Draw(d.sample, mechanisms.Public{}, random)
	if err != nil {
		return lines, err
	}
	if d.json {
		line, err := json.Marshal(d.object(drawn))
		return append(append(lines, line...), '\n'), err
	}
	if drawn.Raw != nil {
		return d.buckets(lines, drawn), nil
	}
	for i, v := range drawn.Values {
		if d.names != nil {
			lines = append(append(lines, d.names[i]...), '=')
		}
		lines = append(lines, d.text(v.Number)...)
		if d.query.Interval != nil {
			lines = append(append(lines, ' '), d.text(drawn.Low)...)
			lines = append(append(lines, ' '), d.text(drawn.High)...)
		}
		if d.beside {
			lines = append(lines, d.off(drawn, v)...)
		}
		lines = append(lines, '\n')
	}
	return lines, nil
}

// off says how far off a value may be: the band that its record would have, in the words of louver watch.
func (d *draws) off(from mechanisms.Draw, v mechanisms.Value) string {
	f := record.Value{Statistic: string(d.query.Statistic), Value: new(json.Number(d.text(v.Number))),
		BandFields: d.band(from, v).Fields()}
	if c := from.Clip; c != nil {
		f.Clip = &[2]json.Number{json.Number(d.clips.Text(c[0])), json.Number(d.clips.Text(c[1]))}
	}
	if x := from.Outside; x != nil {
		f.Outside95 = &x.Users95
	}
	switch bound := cli.BoundInWords(f); {
	case d.query.Interval != nil:
		return "" // the ends of the interval stand beside the value
	case f.AtMost():
		return " (" + bound + ")"
	case f.Low == nil && bound != "":
		return "; " + bound
	case bound != "":
		return " " + bound
	case finite(v.RankError95) != nil:
		return fmt.Sprintf(" (off by at most %s above or below)", cli.Plural(int64(math.Ceil(v.RankError95)), "user"))
	}
	return " (how far it is off depends on the data)"
}

// buckets appends a line for each bucket of a histogram: its end, and the number of users that is shown.
func (d *draws) buckets(lines []byte, drawn mechanisms.Draw) []byte {
	e := d.estimate(drawn)
	return bucketLines(lines, "", d.distribution(drawn, e), e, d.beside)
}

// bucketLines appends a line for each bucket of a distribution, which begins so. If beside is true, the line also says
// how far off the number may be.
func bucketLines(lines []byte, begin string, x *record.Distribution, e *histogram.Estimate, beside bool) []byte {
	for i, n := range x.Count {
		end := "+Inf"
		if x.Ends[i] != nil {
			end = x.Ends[i].String()
		}
		lines = fmt.Appendf(lines, "%sle=%s %d", begin, end, n)
		if beside {
			_, off := e.Count(func(bucket int) bool { return bucket == i })
			if float64(n) > off {
				lines = fmt.Appendf(lines, " ± %.0f", off)
			} else {
				lines = fmt.Appendf(lines, " (at most %.0f)", float64(n)+off)
			}
		}
		lines = append(lines, '\n')
	}
	return lines
}

// estimate is what the numbers of a histogram say.
func (d *draws) estimate(drawn mechanisms.Draw) *histogram.Estimate {
	b := mechanisms.Buckets(d.mechanism)
	noise := mechanisms.HistogramNoise(d.mechanism.Name(), d.query.Epsilon.InexactFloat64(), b.Levels())
	return b.Estimate(drawn.Raw, drawn.Coarse, noise, 1)
}

// distribution returns what a record would say of the buckets.
func (d *draws) distribution(drawn mechanisms.Draw, e *histogram.Estimate) *record.Distribution {
	ends := record.NewBuckets(d.query.Grid, mechanisms.Buckets(d.mechanism)).Ends
	return record.NewDistribution(ends, drawn.Raw, drawn.Coarse, e.Counts())
}

// text writes a value.
func (d *draws) text(value int64) string { return d.scale.Text(value) }

// drawn is a draw in JSON, with the field names of an output record.
type drawn struct {
	Statistic string      `json:"statistic"`
	Mechanism string      `json:"mechanism"`
	Epsilon   json.Number `json:"epsilon"`
	Delta     json.Number `json:"delta"`
	*drawnValue
	Values   []drawnValue   `json:"values,omitempty"` // of quantiles
	Interval *drawnInterval `json:"interval,omitempty"`
	Clip     []json.Number  `json:"clip,omitempty"`
	*drawnOutside
	Buckets *record.Distribution `json:"buckets,omitempty"`
	// Charge is as in a record. EpsilonLost and DeltaLost are what the draw costs one person if nothing else is drawn:
	// of a draw without any pure ε, such as a Gaussian, with a δ of 10⁻⁹.
	Charge      []record.Charge `json:"charge"`
	EpsilonLost json.Number     `json:"epsilon_lost"`
	DeltaLost   json.Number     `json:"delta_lost"`
}

type drawnValue struct {
	P     *json.Number `json:"p"`
	Value json.Number  `json:"value"`
	Raw   *json.Number `json:"raw,omitempty"`
	*record.BandFields
	RankError *float64       `json:"rank_error_95"`
	Error     *float64       `json:"error_95"`
	Quality   record.Quality `json:"quality"`
}

// drawnOutside says how many users are outside the interval that values were cut to.
type drawnOutside struct {
	Outside   record.Outside `json:"outside"`
	Outside95 int64          `json:"outside_95"`
	Cut95     *json.Number   `json:"cut_95"`
}

type drawnInterval struct {
	Level json.Number `json:"level"`
	Low   json.Number `json:"low"`
	High  json.Number `json:"high"`
}

// object returns a draw in the form for JSON.
func (d *draws) object(from mechanisms.Draw) drawn {
	q := d.query
	values, probabilities := make([]drawnValue, len(from.Values)), q.Probabilities()
	for i, v := range from.Values {
		values[i].Value = json.Number(d.text(v.Number))
		if v.Raw != nil {
			values[i].Raw = new(json.Number(d.text(*v.Raw)))
		}
		values[i].RankError, values[i].Error = finite(v.RankError95), finite(v.Error95)
		values[i].BandFields = d.band(from, v).Fields()
		values[i].Quality = record.Quality(q.Judge(v.Bound, i, d.scale.Float(v.Number), nil))
		if i < len(probabilities) {
			values[i].P = new(json.Number(probabilities[i].String()))
		}
	}
	charge := budget.Item{Promise: d.mechanism.Promise(), Times: 1}
	lost := cost.Alone(charge)
	out := drawn{Statistic: string(q.Statistic), Mechanism: cmp.Or(from.Mechanism, d.mechanism.Name()),
		Epsilon: json.Number(charge.Epsilon.String()), Delta: json.Number(charge.Delta.String()),
		Charge:      record.Charged([]budget.Item{charge}),
		EpsilonLost: json.Number(lost.Epsilon.String()), DeltaLost: json.Number(lost.Delta.String())}
	if q.Statistic.Each() != q.Statistic {
		out.Values = values
	} else {
		out.drawnValue = &values[0]
	}
	if from.Raw != nil {
		out.Buckets = d.distribution(from, d.estimate(from))
	}
	if q.Interval != nil {
		out.Interval = &drawnInterval{json.Number(q.Interval.String()), json.Number(d.text(from.Low)),
			json.Number(d.text(from.High))}
	}
	for _, v := range from.Clip {
		out.Clip = append(out.Clip, json.Number(d.clips.Text(v)))
	}
	if x := from.Outside; x != nil {
		out.drawnOutside = &drawnOutside{Outside: record.Outside{Value: x.Users, Error95: x.Error95},
			Outside95: x.Users95}
		if cut := ledger.Error(x.Cut95); cut != nil {
			out.Cut95 = new(json.Number(cut.String()))
		}
	}
	return out
}

// band returns the band that a record of a single draw would have: no earlier values say anything of it.
func (d *draws) band(from mechanisms.Draw, x mechanisms.Value) *ledger.Band {
	v := ledger.Value{Value: new(d.scale.Decimal(x.Number)), RankError95: ledger.RankError(x.RankError95),
		Error95: ledger.Error(x.Error95)}
	if d.query.Interval != nil {
		v.Interval = &ledger.Interval{Level: *d.query.Interval, Low: d.scale.Decimal(from.Low),
			High: d.scale.Decimal(from.High)}
	}
	if c := from.Clip; c != nil {
		v.Clip = &[2]decimal.Decimal{d.clips.Decimal(c[0]), d.clips.Decimal(c[1])}
	}
	least, most := d.query.Limits()
	return ledger.NewBand(v, false, ledger.Limits{Least: least, Most: most})
}

// finite returns a figure, if it exists.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
