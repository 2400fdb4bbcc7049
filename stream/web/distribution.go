package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// distributions answers with the distribution that a histogram shows.
type distributions struct{ source }

// distribution says how many users there are up to the end of each bucket. The lists have the same length, and the last
// item of each is about the bucket without an end.
type distribution struct {
	Stream      string          `json:"stream"`
	Group       string          `json:"group"`
	Release     string          `json:"release"`
	WindowStart time.Time       `json:"window_start"`
	WindowEnd   time.Time       `json:"window_end"`
	Users       *json.Number    `json:"users"`
	Windows     *record.Windows `json:"windows"`
	Ends        []*json.Number  `json:"le"`
	Count       []int64         `json:"count"`
	// Share is the share of the users up to the end, Low and High its band of 95 %, for each end alone.
	Share []float64 `json:"share"`
	Low   []float64 `json:"low"`
	High  []float64 `json:"high"`
}

// answer answers with the distribution of the newest window, or of the window that ends at window_end.
func (s distributions) answer(w http.ResponseWriter, r *http.Request) error {
	p := query(r, "stream", "group", "release", "window_end", "format")
	end, asCSV := p.seconds("window_end"), p.csv(r)
	for _, name := range []string{"stream", "release"} {
		if p.values.Get(name) == "" {
			p.refuse("%s is missing; want the stream and the release of a histogram", name)
		}
	}
	want := selection{streams: []string{p.values.Get("stream")}, groups: []string{p.values.Get("group")},
		releases: []string{p.values.Get("release")}}
	if err := s.check(p, want); err != nil {
		return err
	}
	found, err := s.histogram(want, end)
	if err != nil {
		return err
	}
	d, err := s.describe(found)
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept")
	if asCSV {
		return answerCSV(w, r, d.header(), d.rows())
	}
	return answerJSON(w, r, d)
}

// histogram finds a record of a series: the newest, or the one whose window ends at a time.
func (s distributions) histogram(want selection, end int64) (outputs.Record, error) {
	name := named(want.streams[0], want.groups[0], want.releases[0])
	points := s.store.latest(want)
	if end != 0 {
		want.to, want.last = end, 1
		points, _, _ = s.store.find(want, nil, 1)
	}
	if len(points) == 0 || end != 0 && points[0].end != end {
		return outputs.Record{}, &problem{http.StatusNotFound,
			name + " has no such window in memory; api/v1/streams says how far back each stream goes"}
	}
	r, err := points[0].decode()
	switch {
	case err != nil:
		return r, err
	case r.Statistic != "histogram":
		return r, invalid(fmt.Errorf("%s is a %s; want a histogram", name, r.Statistic))
	case r.Buckets == nil:
		return r, &problem{http.StatusNotFound, fmt.Sprintf("%s is withheld in the window that ends at %s", name,
			clock(r.WindowEnd))}
	}
	return r, nil
}

// draws returns what one draw of each number of a record cost, and how many draws it adds up. The windows of a roll-up,
// and the groups of all groups together, have paid, so their records say it.
func (s distributions) draws(r outputs.Record) (epsilon json.Number, draws int64, err error) {
	if r.Windows == nil && !r.Together {
		return r.Epsilon, 1, nil
	}
	of, _, _ := strings.Cut(r.Release, ".")
	if r.Windows != nil {
		draws = r.Windows.Released
	}
	if r.Together {
		draws = 0
		for _, f := range s.store.latest(selection{streams: []string{r.Stream}, releases: []string{r.Release},
			to: r.WindowEnd.Unix()}) {
			if f.series.together || f.end != r.WindowEnd.Unix() {
				continue
			}
			group, err := f.decode()
			switch {
			case err != nil:
				return "", 0, err
			case group.Windows == nil:
				draws++
			default:
				draws += group.Windows.Released
			}
		}
	}
	for _, f := range s.store.latest(selection{streams: []string{r.Stream}, releases: []string{of}}) {
		if newest, err := f.decode(); err == nil && !f.series.together && (r.Together || newest.Group == r.Group) {
			return newest.Epsilon, max(1, draws), nil
		}
	}
	return "", 0, &problem{http.StatusNotFound,
		named(r.Stream, r.Group, of) + " has no window in memory that says what was drawn"}
}

// describe computes the distribution of a record.
func (s distributions) describe(r outputs.Record) (distribution, error) {
	d := distribution{Stream: r.Stream, Group: r.Group, Release: r.Release, WindowStart: r.WindowStart,
		WindowEnd: r.WindowEnd, Users: r.Value, Windows: r.Windows, Ends: r.Buckets.Ends, Count: r.Buckets.Count}
	e, err := s.estimate(r)
	if err != nil {
		return d, err
	}
	sum, all := int64(0), int64(0)
	for _, n := range d.Count {
		all += n
	}
	for i, n := range d.Count {
		sum += n
		above := e.ShareAbove(i)
		share, low, high := float64(sum)/float64(max(1, all)), 1-above.High, 1-above.Low
		if i == len(d.Count)-1 {
			share, low, high = 1, 1, 1
		}
		const digits = 1e6
		d.Share = append(d.Share, math.Round(share*digits)/digits)
		d.Low = append(d.Low, math.Floor(min(low, share)*digits)/digits)
		d.High = append(d.High, math.Ceil(max(high, share)*digits)/digits)
	}
	return d, nil
}

// estimate returns what the numbers of a record say, with their noise.
func (s distributions) estimate(r outputs.Record) (*histogram.Estimate, error) {
	if r.Final != nil && r.Error95 != nil { // it is of the users so far
		off, err := r.Error95.Float64()
		if err != nil {
			return nil, err
		}
		return r.Buckets.EstimateSoFar(r.Mechanism, off)
	}
	epsilon, draws, err := s.draws(r)
	if err != nil {
		return nil, err
	}
	of, err := epsilon.Float64()
	if err != nil {
		return nil, err
	}
	return r.Buckets.Estimate(r.Mechanism, of, draws)
}

// header names the columns of a distribution as CSV.
func (distribution) header() []string { return []string{"le", "count", "share", "low", "high"} }

// rows has a row for each bucket.
func (d distribution) rows() (all [][]string) {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for i, n := range d.Count {
		end := "+Inf"
		if d.Ends[i] != nil {
			end = d.Ends[i].String()
		}
		all = append(all, []string{end, strconv.FormatInt(n, 10), number(d.Share[i]), number(d.Low[i]),
			number(d.High[i])})
	}
	return all
}
