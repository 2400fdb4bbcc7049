package compare

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/outputs"
)

// perDay is how many windows of a minute a day has.
const perDay = 24 * 60

// epoch is when the windows of tests begin.
var epoch = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

const (
	aCount = `{"schema":"louver.release.v1","statistic":"count","mechanism":"geometric","unit":"users","epsilon":0.1,` +
		`"error_95":30,"value":%v}`
	aMean = `{"schema":"louver.release.v1","statistic":"mean","mechanism":"clipped","unit":"ms","epsilon":0.1,` +
		`"error_95":30,"value":%v,"clip":[0,1023]}`
	aGaussianMean = `{"schema":"louver.release.v1","statistic":"mean","mechanism":"clipped_gaussian","unit":"ms",` +
		`"epsilon":0.1,"error_95":20,"value":%v,"clip":[0,1023]}`
	aMedian = `{"schema":"louver.release.v1","statistic":"median","mechanism":"margin","unit":"ms","epsilon":0.1,` +
		`"basis":"scatter","usual_95":66,"value":%v}`
	aShare = `{"schema":"louver.release.v1","statistic":"share","mechanism":"histogram","from":"latency",` +
		`"epsilon":0.1,"error_95":20,"value":%v}`
	anInterval = `{"schema":"louver.release.v1","statistic":"quantile","mechanism":"histogram","from":"latency",` +
		`"unit":"ms","epsilon":0.1,"error_95":30,"value":%[1]v,"interval":{"level":0.95,"low":%[1]v,"high":%[1]v}}`
	anOldMedian = `{"schema":"louver.release.v1","statistic":"median","mechanism":"margin","unit":"ms","epsilon":0.1,` +
		`"value":%[1]v,"smoothed":{"value":%[1]v,"low":%[1]v,"high":%[1]v}}`
)

// minutes are the records of neighbouring windows of a minute.
func minutes(t *testing.T, text string, values ...float64) []outputs.Record {
	t.Helper()
	all := make([]outputs.Record, len(values))
	for i, v := range values {
		r, ok, err := outputs.Decode(fmt.Appendf(nil, text, v))
		if err != nil || !ok {
			t.Fatal(err)
		}
		r.ID = fmt.Sprint(i)
		r.WindowStart = epoch.Add(time.Duration(i) * time.Minute)
		r.WindowEnd = r.WindowStart.Add(time.Minute)
		all[i] = r
	}
	return all
}

// marks are the places of the figures that are marked.
func marks(records []outputs.Record) (all []int) {
	points := make([]*Point, len(records))
	for i, r := range records {
		points[i] = PointOf(r)
	}
	c := NewCourse(points)
	for i := range points {
		if c.Signal(i, FalseMarksPerDay/perDay) != nil {
			all = append(all, i)
		}
	}
	return all
}

// counted is geometric noise of ε 0.1.
func counted(source *rand.Rand) float64 {
	return math.Floor(10*source.ExpFloat64()) - math.Floor(10*source.ExpFloat64())
}

// The bound on the noise of a figure and that of the median of those before it is not exceeded.
//
// In n draws with a probability of at most 1e-3, n·1e-3 + 6·√(n·1e-3) is exceeded with less than 1e-6 (Chernoff). For
// Laplace noise it is about 11 times too large: 2 by Markov's inequality, and 1 + d/2b at d = 9b for the noise of the
// other figure of a pair, which the median does not have. So 36 are expected, and fewer than 10 have a probability
// below 1e-6. Bounds of normal errors are wider: the other figure of a pair doubles the variance.
func TestNoiseBesideAMedian(t *testing.T) {
	const n, others = 400_000, 60
	var source *rand.Rand
	bell := func() float64 { return 20 / 1.96 * source.NormFloat64() }
	single := func() float64 { return 30 / math.Log(20) * (source.ExpFloat64() - source.ExpFloat64()) }
	for text, c := range map[string]struct {
		draw  func() float64
		least int
	}{
		aCount: {func() float64 { return counted(source) }, 10}, aMean: {single, 10}, aGaussianMean: {bell, 0},
		aShare: {bell, 0},
	} {
		source = rand.New(seeded(3).ChaCha8)
		var hour []*Point
		for _, r := range minutes(t, text, make([]float64, others+1)...) {
			hour = append(hour, PointOf(r))
		}
		limit := 0.0
		for farFromMedian(hour[0], hour[1:], limit+0.1) > 1e-3 {
			limit += 0.1
		}
		far := 0
		values := make([]float64, others)
		for i := range n {
			if i%10 == 0 { // a median moves little: it serves for ten values
				for j := range values {
					values[j] = c.draw()
				}
				values[0] = median(values)
			}
			if math.Abs(c.draw()-values[0]) >= limit {
				far++
			}
		}
		t.Logf("%.60s: %d of %d are %.1f away", text, far, n, limit)
		const expected = n * 1e-3
		if float64(far) > expected+6*math.Sqrt(expected) || far < c.least {
			t.Errorf("%.60s: %d of %d are %.1f away; want at most %g, and %d or more", text, far, n,
				limit, expected, c.least)
		}
	}
}

// courses are shares of a level, minute by minute, in which nothing happens that people would want to see.
func courses(source *rand.Rand) map[string]func(minute int) float64 {
	level, walk := 0.0, 0.0
	wave := func(i int) float64 { return 1 + 0.8*math.Sin(2*math.Pi*float64(i)/perDay) }
	every := func(n int) func(i int) float64 {
		return func(i int) float64 {
			if i%n == 0 {
				return 2
			}
			return 1
		}
	}
	return map[string]func(i int) float64{
		"constant":                func(int) float64 { return 1 },
		"other users":             func(int) float64 { return 1 + 0.03*source.NormFloat64() },
		"a wave":                  wave,
		"a wave with other users": func(i int) float64 { return wave(i) + 0.03*source.NormFloat64() },
		"a drift":                 func(i int) float64 { return 1 + float64(i)/perDay },
		"a random walk": func(int) float64 {
			walk += 0.01 * source.NormFloat64()
			return 3 + walk
		},
		"a level that returns": func(int) float64 {
			level = 0.95*level + 0.02*source.NormFloat64()
			return 1 + level
		},
		"heavy tails":                  func(int) float64 { return math.Exp(0.5 * source.NormFloat64()) },
		"a peak in every fifth window": every(5),
		"a peak in every fifteenth":    every(15),
	}
}

// Little is marked where nothing happens: not by noise, and not because of waves, drifts, peaks that come again and
// other users. There are 10 courses of a day, for little and for much noise, of each of 3 kinds. Noise alone marks at
// most 0.01 figures of each, which is 0.6 in all: 8 or more would have a probability below 1e-6 (Poisson). That is also
// what the other courses are allowed together. By noise alone, a third of these figures would be too far from the
// median of those before them.
func TestTheUsualIsNotMarked(t *testing.T) {
	const alpha = FalseMarksPerDay / perDay
	var source *rand.Rand
	laplacian := func() float64 { return 10 * (source.ExpFloat64() - source.ExpFloat64()) }
	found, byNoise, of := 0, 0, 0
	for text, off := range map[string]func() float64{aMean: laplacian, aMedian: laplacian,
		aCount: func() float64 { return counted(source) }} {
		for _, level := range []float64{1000, 100_000} {
			source = rand.New(seeded(4).ChaCha8)
			all := courses(source)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				course := all[name]
				values := make([]float64, perDay)
				for i := range values {
					values[i] = max(0, math.Round(level*max(0, course(i))+off()))
				}
				records := minutes(t, text, values...)
				at := marks(records)
				if found += len(at); len(at) > 1 {
					t.Errorf("%s of %g, %.70s: marks in %v", name, level, text, at)
				}
				for i := 100; i < len(values) && text == aCount; i += 10 {
					of++
					away := math.Abs(values[i] - median(slices.Clone(values[i-60:i])))
					if (noise{geometric, 10}).tail(away) < alpha {
						byNoise++
					}
				}
			}
		}
	}
	if found > 7 || byNoise < of/3 {
		t.Errorf("%d marks, want at most 7; noise alone does not explain %d of %d figures, want a third", found,
			byNoise, of)
	}
}

// A level that triples is marked once, where it begins, and its return once, however long it lasts. An incident that
// builds up is marked once, and so is one that is over soon.
func TestAStretchIsMarkedOnce(t *testing.T) {
	for text, kind := range map[string]string{aCount: "count", aMean: "mean", aMedian: "median", aShare: "share",
		anInterval: "interval"} {
		for _, c := range []struct {
			minutes, slope int
			want           []int
		}{{5, 0, []int{200}}, {20, 0, []int{200}}, {70, 0, []int{200, 270}}, {100, 0, []int{200, 300}},
			{300, 0, []int{200, 500}}, {100, 4, []int{200, 300}}} {
			source := rand.New(seeded(5).ChaCha8)
			values := make([]float64, 700)
			for i := range values {
				level := 1000.0
				if at := i - 200; at >= 0 && at < c.minutes {
					level *= 1 + 2*min(1, float64(at+1)/float64(c.slope+1))
				}
				values[i] = math.Round(level + 10*(source.ExpFloat64()-source.ExpFloat64()))
			}
			got := marks(minutes(t, text, values...))
			begins := len(got) == len(c.want)
			for i := range got {
				begins = begins && got[i] >= c.want[min(i, len(c.want)-1)] &&
					got[i] <= c.want[min(i, len(c.want)-1)]+c.slope
			}
			if !begins {
				t.Errorf("%s, three times as much for %d minutes: marks in %v; want %v", kind, c.minutes, got, c.want)
			}
		}
	}
}

// An incident that comes again within the hour is marked again, even a few windows later: the first one does not make
// it usual. Its end is none, because most of the hour was like that. One or two windows as before are no end.
func TestAnIncidentThatComesAgain(t *testing.T) {
	for _, text := range []string{aCount, aMean, aMedian, aShare} {
		for again, want := range map[int][]int{230: {200, 230}, 211: {200, 211}, 209: {200, 209}, 208: {200}} {
			source := rand.New(seeded(8).ChaCha8)
			values := make([]float64, 300)
			for i := range values {
				level := 1000.0
				if i >= 200 && i < 206 || i >= again && i < again+10 {
					level *= 1.5
				}
				values[i] = math.Round(level + 10*(source.ExpFloat64()-source.ExpFloat64()))
			}
			if got := marks(minutes(t, text, values...)); !slices.Equal(got, want) {
				t.Errorf("%.70s, again at %d: marks in %v; want %v", text, again, got, want)
			}
		}
	}
}

// What a mark says, and what is never marked.
func TestMarks(t *testing.T) {
	const alpha = FalseMarksPerDay / perDay
	const before = ", the median of the 9 windows before it, by more than noise and the usual variation explain."
	calm := []float64{1000, 1010, 990, 1005, 995, 1000, 1012, 998, 1001}
	then := func(value float64) []float64 { return append(slices.Clone(calm), value) }
	// Figures that happen to be equal show no variation. At ε 0.1, e^−12.2 is less than alpha, but the noise of the
	// others counts too.
	equal := func(value float64) []float64 { return append(slices.Repeat([]float64{1000}, 9), value) }
	withheld := minutes(t, aCount, then(5000)...)
	for i := 3; i < 6; i++ {
		withheld[i].Value = nil
	}
	edited := minutes(t, aCount, then(5000)...)
	edited[9].Unit = "people"
	late := minutes(t, aCount, then(5000)...)
	late[9].WindowStart, late[9].WindowEnd = epoch.Add(3*time.Hour), epoch.Add(3*time.Hour+time.Minute)
	held := minutes(t, aCount, then(5000)...)
	for i := range held {
		held[i].Changed = new(false)
	}
	for name, c := range map[string]struct {
		records  []outputs.Record
		sentence string
	}{
		"a rise":               {minutes(t, aCount, then(2500)...), "2,500 users is above 1,000" + before},
		"nobody":               {minutes(t, aCount, then(0)...), "0 users is below 1,000" + before},
		"a median":             {minutes(t, aMedian, then(2500)...), "2,500 ms is above 1,000" + before},
		"a share":              {minutes(t, aShare, then(2500)...), "250,000 % is above 100,000" + before}, // read × 100
		"beyond its own noise": {minutes(t, aCount, equal(1122)...), ""},
		"beyond all noise":     {minutes(t, aCount, equal(1170)...), "1,170 users is above 1,000" + before},
		"what is usual":        {minutes(t, aCount, then(1080)...), ""},
		"after too few":        {withheld, ""},
		"of another unit":      {edited, ""},
		"after three hours":    {late, ""},
		"on change":            {held, ""},
		"of unknown noise":     {minutes(t, strings.Replace(aCount, `"error_95":30,`, "", 1), then(5000)...), ""},
		"of earlier releases":  {minutes(t, anOldMedian, then(5000)...), ""},
		"intervals that meet": {minutes(t, strings.Replace(anInterval, `"low":%[1]v`, `"low":0`, 1),
			then(5000)...), ""},
	} {
		points := make([]*Point, len(c.records))
		for i, r := range c.records {
			points[i] = PointOf(r)
		}
		got := NewCourse(points).Signal(len(points)-1, alpha)
		switch {
		case c.sentence == "" && got != nil:
			t.Errorf("%s: %+v; want no mark", name, got)
		case c.sentence != "" && (got == nil || got.Sentence != c.sentence || got.Probability >= alpha ||
			got.ID != fmt.Sprint(len(points)-1)):
			t.Errorf("%s: %+v; want %q", name, got, c.sentence)
		}
	}
}

// Windows that overlap are compared with those that ended before, so that a change does not hide itself.
func TestOverlappingWindows(t *testing.T) {
	source := rand.New(seeded(6).ChaCha8)
	var records []outputs.Record
	last := make([]float64, 10)
	for i := range 400 {
		users := 100 + 3*source.NormFloat64()
		if i >= 300 {
			users *= 3
		}
		last = append(last[1:], users)
		sum := 0.0
		for _, v := range last {
			sum += v
		}
		r := minutes(t, aCount, math.Round(sum))[0]
		r.WindowEnd = epoch.Add(time.Duration(i) * time.Minute)
		r.WindowStart, r.ID = r.WindowEnd.Add(-10*time.Minute), fmt.Sprint(i)
		records = append(records, r)
	}
	got := marks(records[10:]) // the first ten are not full
	if len(got) != 1 || got[0] < 290 || got[0] > 295 {
		t.Errorf("marks in %v; want one soon after 290", got)
	}
}
