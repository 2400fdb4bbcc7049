package demo

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/simulate"
)

// redraws draws the newest windows again, with another ε. It may, because the users are simulated: fresh noise on the
// same data would give real people away. It is safe for concurrent use.
type redraws struct {
	stream *config.Stream

	mu      sync.Mutex
	windows []redrawn       // oldest first
	counted []countedWindow // oldest first
}

// redrawn is a window with its simulated users.
type redrawn struct {
	start, end time.Time
	groups     []*mechanisms.Sample // in the order of the stream's
	truth      map[string]decimal.Decimal
	// drawn are its figures by release and ε, so that somebody who comes back to an ε sees the same ones.
	drawn map[string][]redrawnFigure
}

// redrawnFigure is one figure. Its JSON names are public.
type redrawnFigure struct {
	Group       string      `json:"group"`
	WindowStart time.Time   `json:"window_start"`
	WindowEnd   time.Time   `json:"window_end"`
	Value       json.Number `json:"value"`
	// Low and High enclose 95 of 100 draws from the same users.
	Low     json.Number `json:"low"`
	High    json.Number `json:"high"`
	Truth   json.Number `json:"truth"`
	Quality string      `json:"quality"`
}

// redrawnAnswer is what the API tells of a release and an ε. Its JSON names are public.
type redrawnAnswer struct {
	Stream  string      `json:"stream"`
	Release string      `json:"release"`
	Unit    string      `json:"unit"`
	Epsilon json.Number `json:"epsilon"`
	// Right is how many of 100 guesses whether one person is in the window are right, at most.
	Right   json.Number     `json:"right_of_100"`
	Figures []redrawnFigure `json:"figures"`
	// Guesses are about Robin, with a count of the same ε.
	Guesses []countedGuess `json:"guesses"`
}

// mostRedrawn is how many windows are drawn again.
const mostRedrawn = 24

// epsilons are the ε to choose from.
var epsilons = []json.Number{"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"}

// among is the number of draws that a band is made from. The cut least and the cut greatest of them are left out. Every
// rank of a further draw is equally likely, so it lies in the band with a probability of at least
// (among + 1 − 2·cut) / (among + 1), which is 95 %.
const (
	among = 399
	cut   = 10
)

// add adds a window, whose samples are in the order of the stream's groups. robin says whether Robin called in it.
func (r *redraws) add(start, end time.Time, groups []*mechanisms.Sample, truth map[string]decimal.Decimal, robin bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = append(r.counted[max(0, len(r.counted)-mostCounted+1):], countedWindow{start, end,
		groups[slices.Index(r.stream.Groups, simulate.RobinRegion)], robin, map[string]int64{}})
	r.windows = append(r.windows[max(0, len(r.windows)-mostRedrawn+1):],
		redrawn{start, end, groups, truth, map[string][]redrawnFigure{}})
}

// answer returns the figures of a release for an ε.
func (r *redraws) answer(release, epsilon string) (any, error) {
	at := slices.Index(r.releases(), release)
	if at < 0 {
		return nil, fmt.Errorf("release=%q; want one of %s", release, strings.Join(r.releases(), ", "))
	}
	if !slices.Contains(epsilons, json.Number(epsilon)) {
		return nil, fmt.Errorf("epsilon=%q; want one of %v", epsilon, epsilons)
	}
	query := r.all()[at].Query
	query.Epsilon = decimal.RequireFromString(epsilon)
	mechanism, err := mechanisms.New(query)
	if err != nil {
		return nil, err
	}
	loss := cost.Alone(budget.Item{Promise: mechanism.Promise(), Times: 1})
	a := redrawnAnswer{Stream: r.stream.Name, Release: release, Unit: query.Statistic.Unit(r.stream.Unit),
		Epsilon: json.Number(epsilon), Right: json.Number(hundredths(loss.Guess())), Figures: []redrawnFigure{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.windows {
		key := release + " " + epsilon
		if w.drawn[key] == nil {
			if w.drawn[key], err = r.draw(w, release, query, mechanism); err != nil {
				return nil, err
			}
		}
		a.Figures = append(a.Figures, w.drawn[key]...)
	}
	a.Guesses, err = r.guesses(epsilon, query)
	return a, err
}

// all are the figures that can be drawn again: those of a single number, with the mechanism that needs no δ.
func (r *redraws) all() (all []config.Release) {
	for _, of := range config.All[*config.Release](r.stream) {
		x := *of
		if x.Query.Statistic != mechanisms.Histogram {
			x.Query.Mechanism, x.Query.ZCDP = "", false
			all = append(all, x)
		}
	}
	return all
}

// releases names what can be drawn again.
func (r *redraws) releases() (names []string) {
	for _, x := range r.all() {
		names = append(names, x.Name)
	}
	return names
}

// draw draws a window's figures: a value for each group, and the band of its draws.
func (r *redraws) draw(w redrawn, release string, q mechanisms.Query, m mechanisms.Mechanism) (all []redrawnFigure,
	err error) {
	random := bufio.NewReaderSize(rand.Reader, 1<<16)
	scale := q.Scale(m)
	for g, sample := range w.groups {
		var values [among + 1]mechanisms.Value
		for i := range values {
			drawn, err := m.Draw(sample, mechanisms.Public{}, random)
			if err != nil {
				return nil, err
			}
			values[i] = drawn.Values[0]
		}
		value := values[among]
		others := values[:among]
		slices.SortFunc(others, func(a, b mechanisms.Value) int { return cmp.Compare(a.Number, b.Number) })
		low, high := others[cut-1].Number, others[among-cut].Number
		name := r.stream.Groups[g]
		text := func(n int64) json.Number { return json.Number(scale.Text(n)) }
		all = append(all, redrawnFigure{Group: name, WindowStart: w.start, WindowEnd: w.end, Value: text(value.Number),
			Low: text(low), High: text(high), Truth: json.Number(w.truth[name+"/"+release].Round(1).String()),
			Quality: string(judge(q, value, scale, high-low))})
	}
	return all, nil
}

// judge returns the quality of a value whose draws lie in a band of so many steps. No count is released beside it.
func judge(q mechanisms.Query, v mechanisms.Value, scale mechanisms.Scale, width int64) mechanisms.Quality {
	value := scale.Float(v.Number)
	if q.Statistic.Family() == mechanisms.OfRanks {
		return q.JudgeBand(scale.Length(width).InexactFloat64()/2, value, mechanisms.BasisNoise, nil)
	}
	return q.Judge(v.Bound, 0, value, nil)
}
