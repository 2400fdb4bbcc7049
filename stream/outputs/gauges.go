package outputs

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/louver/louver/stream/record"
)

// Gauges shows the newest published figures as Prometheus metrics. All of it has been released, so they are public. It
// is a prometheus.Collector and safe for concurrent use.
type Gauges struct {
	mu     sync.Mutex
	newest map[string]Record // by series
	pays   map[string]bool   // by budget
	now    func() time.Time
}

// NewGauges returns gauges without figures.
func NewGauges() *Gauges { return &Gauges{newest: map[string]Record{}, now: time.Now} }

// Update adds a record. A record older than the newest of its series changes nothing.
func (g *Gauges) Update(r Record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old, ok := g.newest[r.Key()]; !ok || !r.WindowEnd.Before(old.WindowEnd) {
		g.newest[r.Key()] = r
	}
}

// Expect names the series that will be published, by one record each, without value and window. A series without
// figures then shows that nothing is withheld and nothing is spent.
func (g *Gauges) Expect(series []Record) {
	for _, r := range series {
		g.Update(r)
	}
}

// Pays says of each budget whether it pays for the schedules of its streams as long as they last.
func (g *Gauges) Pays(budgets map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pays = budgets
}

// staleWindows is the number of windows after which a value is no longer shown.
const staleWindows = 3

var (
	series   = []string{"stream", "group", "release"}
	value    = prometheus.NewDesc("louver_release_value", "Newest published value. Absent while it is withheld, or once it is older than three windows.", series, nil)
	low      = prometheus.NewDesc("louver_release_low", "Lower end of the paid interval, of the free 90 % band, or of the value less its 95 % error.", series, nil)
	high     = prometheus.NewDesc("louver_release_high", "Upper end of the paid interval, of the free 90 % band, or of the value and its 95 % error.", series, nil)
	smoothed = prometheus.NewDesc("louver_release_smoothed", "Estimate from this and earlier values of the series.", series, nil)
	withheld = prometheus.NewDesc("louver_release_withheld", "1 while the newest value is withheld for this reason, else 0.", append(series[:3:3], "reason"), nil)
	quality  = prometheus.NewDesc("louver_release_quality", "1 for the quality of the newest value, from public figures alone. All are 0 while the value is withheld or stale, or if no public figure bounds its error.", append(series[:3:3], "quality"), nil)
	ended    = prometheus.NewDesc("louver_release_window_end_timestamp_seconds", "End of the newest window, in seconds since 1970.", series, nil)
	info     = prometheus.NewDesc("louver_release_info", "Always 1. The labels describe the series.", []string{"stream", "release", "statistic", "p", "mechanism", "unit"}, nil)
	spent    = prometheus.NewDesc("louver_epsilon_spent", "ε that one user of the stream can have lost so far, whichever budgets paid.", []string{"stream"}, nil)
	bSpent   = prometheus.NewDesc("louver_budget_epsilon_spent", "ε that counts against the budget in the newest window's period.", []string{"budget"}, nil)
	bLimit   = prometheus.NewDesc("louver_budget_epsilon_limit", "ε that the budget allows in a period.", []string{"budget"}, nil)
	bLeft    = prometheus.NewDesc("louver_budget_windows_left", "How many more windows the budget could pay for now: the least of its streams that have a number. 9007199254740992 (2⁵³) if there is no end for any, as under max_windows or if all figures are published on change.", []string{"budget"}, nil)
	firing   = prometheus.NewDesc("louver_watch_firing", "1 from the window in which the watch fired until it is armed again, else 0. Absent while it does not look at the group, or once the newest record is older than three windows.", []string{"stream", "group", "watch"}, nil)
	armed    = prometheus.NewDesc("louver_watch_armed", "1 if an instance of the watch looked at the newest window and goes on, else 0.", []string{"stream", "watch"}, nil)
	bPays    = prometheus.NewDesc("louver_budget_pays", "1 if the budget pays for the schedules of its streams as long as they last, else 0. In the first period of a rolling budget the windows left fall even so, until the first charges return.", []string{"budget"}, nil)
)

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{value, low, high, smoothed, withheld, quality, ended, info, spent, bSpent, bLimit, bLeft, bPays, firing, armed} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (g *Gauges) Collect(c chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	streams, budgets, infos := map[string]Record{}, map[string]Record{}, map[[2]string]Record{}
	watches, left := map[[2]string]Record{}, map[string]Record{} // left: by budget, the one that says how many windows are left
	for _, r := range g.newest {
		if r.Statistic == record.StatisticWatch {
			g.collectWatch(c, r)
			k := [2]string{r.Stream, r.Release}
			if old, ok := watches[k]; !ok || r.WindowEnd.After(old.WindowEnd) || r.WindowEnd.Equal(old.WindowEnd) && !goesOn(r) {
				watches[k] = r
			}
		} else {
			g.collect(c, r)
		}
		if old, ok := streams[r.Stream]; !ok || r.WindowEnd.After(old.WindowEnd) {
			streams[r.Stream] = r
		}
		if old, ok := budgets[r.Budget]; !ok || !r.WindowEnd.Before(old.WindowEnd) {
			if ok && r.WindowEnd.Equal(old.WindowEnd) {
				r.BudgetSpent = greater(old.BudgetSpent, r.BudgetSpent)
			}
			budgets[r.Budget] = r
		}
		if old, ok := left[r.Budget]; !ok || g.tellsLeft(r, old) {
			left[r.Budget] = r
		}
		// Groups of one window may have different mechanisms. Show the first of the newest.
		if r.Statistic == record.StatisticWatch {
			continue
		}
		k := [2]string{r.Stream, r.Release}
		if old, ok := infos[k]; !ok || r.WindowEnd.After(old.WindowEnd) || r.WindowEnd.Equal(old.WindowEnd) && r.Group < old.Group {
			infos[k] = r
		}
	}
	for _, r := range infos {
		p := ""
		if r.P != nil {
			p = r.P.String()
		}
		c <- prometheus.MustNewConstMetric(info, prometheus.GaugeValue, 1, r.Stream, r.Release, r.Statistic, p, r.Mechanism, r.Unit)
	}
	for k, r := range watches {
		c <- prometheus.MustNewConstMetric(armed, prometheus.GaugeValue, indicator(goesOn(r) && g.fresh(r)), k[0], k[1])
	}
	for name, pays := range g.pays {
		c <- prometheus.MustNewConstMetric(bPays, prometheus.GaugeValue, indicator(pays), name)
	}
	for name, r := range streams {
		gauge(c, spent, r.StreamSpent, name)
	}
	for name, r := range budgets {
		gauge(c, bSpent, r.BudgetSpent, name)
		gauge(c, bLimit, &r.BudgetLimit, name)
		c <- prometheus.MustNewConstMetric(bLeft, prometheus.GaugeValue, float64(left[name].BudgetLeft), name)
	}
}

// tellsLeft reports whether a record says better than another of its budget how many windows are left. One that is too old, as that
// of a stream that has ended, says less than any other.
func (g *Gauges) tellsLeft(r, old Record) bool {
	if fresh := g.fresh(r); fresh != g.fresh(old) {
		return fresh
	}
	return r.BetterWindowsLeft(old)
}

// fresh reports whether a record is not too old to be shown.
func (g *Gauges) fresh(r Record) bool {
	return g.now().Sub(r.DueAt) <= staleWindows*r.WindowEnd.Sub(r.WindowStart)
}

// goesOn reports whether a watch looked at a group, and was silent.
func goesOn(r Record) bool { return r.Value != nil && r.Value.String() == "0" }

func (g *Gauges) collectWatch(c chan<- prometheus.Metric, r Record) {
	if r.Value != nil && g.fresh(r) {
		gauge(c, firing, r.Value, r.Stream, r.Group, r.Release)
	}
}

func (g *Gauges) collect(c chan<- prometheus.Metric, r Record) {
	labels := []string{r.Stream, r.Group, r.Release}
	if !r.WindowEnd.IsZero() {
		c <- prometheus.MustNewConstMetric(ended, prometheus.GaugeValue, float64(r.WindowEnd.Unix()), labels...)
	}
	for _, reason := range []string{"budget_exhausted", "too_few_users"} {
		is := r.Reason != nil && *r.Reason == reason
		c <- prometheus.MustNewConstMetric(withheld, prometheus.GaugeValue, indicator(is), append(labels[:3:3], reason)...)
	}
	shown := r.Value != nil && g.fresh(r)
	for _, q := range []record.Quality{"useful", "rough", "noise"} {
		c <- prometheus.MustNewConstMetric(quality, prometheus.GaugeValue, indicator(shown && r.Quality == q), append(labels[:3:3], string(q))...)
	}
	if !shown {
		return
	}
	gauge(c, value, r.Value, labels...)
	if band, ok := r.Band(); ok {
		c <- prometheus.MustNewConstMetric(low, prometheus.GaugeValue, band.Low, labels...)
		c <- prometheus.MustNewConstMetric(high, prometheus.GaugeValue, band.High, labels...)
	}
	if r.Smoothed != nil {
		gauge(c, smoothed, &r.Smoothed.Value, labels...)
	}
}

// greater returns the greater of two amounts spent. nil is unbounded and the greatest.
func greater(a, b *json.Number) *json.Number {
	if a == nil || b == nil {
		return nil
	}
	x, _ := a.Float64()
	if y, _ := b.Float64(); y > x {
		return b
	}
	return a
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func gauge(c chan<- prometheus.Metric, d *prometheus.Desc, n *json.Number, labels ...string) {
	if n == nil {
		return
	}
	if f, err := n.Float64(); err == nil {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, f, labels...)
	}
}
