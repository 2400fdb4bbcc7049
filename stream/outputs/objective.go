package outputs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

var (
	sloSeries = append(series[:3:3], "over")

	sloBad = prometheus.NewDesc("louver_slo_bad_users",
		"Users above the limit of an objective, added up over the newest windows. Unbiased: noise may make it "+
			"negative. Absent while no window counts, while the newest one is older than three windows, and until the "+
			"process has read the ledger.", sloSeries, nil)
	sloUsers = prometheus.NewDesc("louver_slo_users",
		"All users, added up over the same windows. A user who is there in ten windows counts ten times.",
		sloSeries, nil)
	sloWindows = prometheus.NewDesc("louver_slo_windows",
		"How many windows are added up. Windows that are withheld, or that were drawn by another definition of the "+
			"histogram, do not count. 0 while the sums are absent.", sloSeries, nil)
	sloObjective = prometheus.NewDesc("louver_slo_objective",
		"Share of the users that should not be above the limit. The definition is that of the rules that louver rules "+
			"--slo writes.", []string{"stream", "release", "definition"}, nil)
)

// sums are the users of an objective in the newest windows of each group. It adds up unbiased estimates in whole
// numbers, so the same windows give the same sums in whichever order they come.
type sums struct {
	of      config.Objective
	buckets *histogram.Buckets
	bucket  int
	// law describes how the histogram is drawn. Windows that were drawn otherwise do not count: they have other noise,
	// and their users may be above another limit.
	law record.Series
	// windows has the windows of each group. The place of a window is its end, in steps, modulo their number.
	windows map[string][]window
}

// window is a window that counts: its end in Unix seconds, and its users in multiples of [histogram.Unit].
type window struct{ end, bad, users int64 }

func newSums(o config.Objective) *sums {
	buckets, bucket, _ := o.Buckets()
	return &sums{of: o, buckets: buckets, bucket: bucket, law: o.Share.From.Series()[0],
		windows: map[string][]window{}}
}

// Drawn is what was drawn for a histogram in one window and group.
type Drawn struct {
	Stream, Group, Release string
	Start, End             time.Time
	Mechanism              string
	Epsilon                decimal.Decimal
	// Ends are the last values of all buckets but the last one.
	Ends        []decimal.Decimal
	Raw, Coarse []int64
}

// counts reports whether a window is of the histogram, and drawn as its definition says.
func (s *sums) counts(d Drawn) bool {
	if d.Stream != s.of.Stream.Name || d.Release != s.law.Name || d.Mechanism != s.law.Mechanism ||
		!d.Epsilon.Equal(s.law.Epsilon) || d.End.Sub(d.Start) != s.of.Stream.Window.Every ||
		len(d.Ends) != len(s.law.Buckets.Ends) || len(d.Raw) != s.buckets.Len() || len(d.Coarse) != s.buckets.Groups() {
		return false
	}
	for i, end := range d.Ends {
		if !end.Equal(s.law.Buckets.Ends[i]) {
			return false
		}
	}
	return true
}

// add counts a window. A window that comes again changes nothing, and one that is too old does not count.
func (s *sums) add(d Drawn) {
	if !s.counts(d) {
		return
	}
	all := s.windows[d.Group]
	if all == nil {
		all = make([]window, s.of.Windows(config.LongestSpan))
		s.windows[d.Group] = all
	}
	w := window{end: d.End.Unix()}
	w.bad, w.users = s.buckets.Estimate(d.Raw, d.Coarse, histogram.Noise{}, 1).Above(s.bucket)
	if old := s.at(all, w.end); old.end <= w.end {
		*old = w
	}
}

// at is the place of a window that ends then.
func (s *sums) at(all []window, end int64) *window {
	n := int64(len(all))
	return &all[(end/int64(s.of.Stream.Window.Every/time.Second)%n+n)%n]
}

// over adds up the windows of a stretch of time that ends with a window.
func (s *sums) over(span time.Duration, group string, end int64) (bad, users float64, windows int64) {
	all, step := s.windows[group], int64(s.of.Stream.Window.Every/time.Second)
	var b, u int64
	for i := int64(0); i < s.of.Windows(span) && i < int64(len(all)); i++ {
		if w := s.at(all, end-i*step); w.end == end-i*step {
			b, u, windows = b+w.bad, u+w.users, windows+1
		}
	}
	return float64(b) * histogram.Unit, float64(u) * histogram.Unit, windows
}

// objectiveSums are the sums of all objectives.
type objectiveSums struct {
	sums     []*sums
	complete bool // they have all windows
}

func (o *objectiveSums) add(d Drawn) {
	for _, s := range o.sums {
		s.add(d)
	}
}

// count counts what a record says was drawn.
func (o *objectiveSums) count(r Record) {
	if len(o.sums) == 0 {
		return
	}
	if d, ok := drawn(r); ok {
		o.add(d)
	}
}

// collect shows the sums up to the newest window of each group. newest returns when it ended, and whether it is fresh.
func (o *objectiveSums) collect(to metrics, newest func(stream, group, release string) (end time.Time, fresh bool)) {
	for _, s := range o.sums {
		name, share := s.of.Stream.Name, s.of.Share.Name
		to.show(sloObjective, s.of.Share.Objective.InexactFloat64(), name, share, s.of.Definition())
		for _, group := range s.of.Stream.Groups {
			end, fresh := newest(name, group, s.law.Name)
			for _, span := range s.of.Spans() {
				labels := []string{name, group, share, period.Name(span)}
				var bad, users float64
				var windows int64
				if o.complete && fresh {
					bad, users, windows = s.over(span, group, end.Unix())
				}
				to.show(sloWindows, float64(windows), labels...)
				if windows > 0 {
					to.show(sloBad, bad, labels...)
					to.show(sloUsers, users, labels...)
				}
			}
		}
	}
}

// drawn returns what a record says was drawn for a histogram. ok is false if it says nothing about that.
func drawn(r Record) (d Drawn, ok bool) {
	if r.Buckets == nil || r.Windows != nil || len(r.Buckets.Ends) == 0 {
		return d, false
	}
	d = Drawn{Stream: r.Stream, Group: r.Group, Release: r.Release, Start: r.WindowStart, End: r.WindowEnd,
		Mechanism: r.Mechanism, Raw: r.Buckets.Raw, Coarse: r.Buckets.Coarse}
	epsilon := record.Read(&r.Epsilon)
	if epsilon == nil {
		return d, false
	}
	d.Epsilon = *epsilon
	for _, end := range r.Buckets.Ends[:len(r.Buckets.Ends)-1] {
		value := record.Read(end)
		if value == nil {
			return d, false
		}
		d.Ends = append(d.Ends, *value)
	}
	return d, true
}
