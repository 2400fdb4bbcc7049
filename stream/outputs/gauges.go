package outputs

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
)

// metrics takes gauges.
type metrics chan<- prometheus.Metric

func (to metrics) show(d *prometheus.Desc, f float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, f, labels...)
}

// indicate shows 1 for yes and 0 for no.
func (to metrics) indicate(d *prometheus.Desc, yes bool, labels ...string) {
	f := 0.0
	if yes {
		f = 1
	}
	to.show(d, f, labels...)
}

// number shows nothing for nil.
func (to metrics) number(d *prometheus.Desc, n *json.Number, labels ...string) {
	if f, ok := float(n); ok {
		to.show(d, f, labels...)
	}
}

// Gauges shows the newest published figures as Prometheus metrics. All of it has been released, so they are public. It
// is a prometheus.Collector and safe for concurrent use.
type Gauges struct {
	mu     sync.Mutex
	newest map[string]Record // by series
	// step is the time between the newest two records of a running total or a number of active users, which do not have
	// one for each window.
	step map[string]time.Duration
	pays map[string]bool // by budget
	// found is what is known of streams whose groups are found.
	found      map[string]*foundGroups
	objectives []config.Objective
	now        func() time.Time
}

// NewGauges returns gauges without figures. now is the time by which they grow stale: that by which windows close.
func NewGauges(now func() time.Time) *Gauges {
	return &Gauges{newest: map[string]Record{}, step: map[string]time.Duration{}, found: map[string]*foundGroups{},
		now: now}
}

// Update adds a record. If it is older than the newest of its series, it changes nothing.
func (g *Gauges) Update(r Record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.find(r) {
		return
	}
	old, ok := g.newest[r.Key()]
	if ok && r.WindowEnd.Before(old.WindowEnd) {
		return
	}
	if (r.Final != nil || r.Active != "") && ok && r.WindowEnd.After(old.WindowEnd) && !old.WindowEnd.IsZero() {
		g.step[r.Key()] = r.WindowEnd.Sub(old.WindowEnd)
	}
	g.newest[r.Key()] = r
}

// Objectives names objectives whose sums are shown.
func (g *Gauges) Objectives(all []config.Objective) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.objectives = append(g.objectives, all...)
}

// Expect names the series that will be published, by one record each, without value and window. A series without
// figures then shows that nothing is withheld and nothing is spent.
func (g *Gauges) Expect(series []Record) {
	for _, r := range series {
		g.Update(r)
	}
}

// Pays says for each budget whether it pays for the schedules of its streams as long as they last.
func (g *Gauges) Pays(budgets map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pays = budgets
}

// staleWindows is the number of windows after which a value is no longer shown.
const staleWindows = 3

var (
	info = prometheus.NewDesc("louver_release_info",
		"Always 1. The labels describe the series.",
		[]string{"stream", "release", "statistic", "p", "mechanism", "unit"}, nil)
	armed = prometheus.NewDesc("louver_watch_armed",
		"1 if an instance of the watch looked at the newest window and goes on, else 0.", []string{"stream", "watch"},
		nil)
	spent = prometheus.NewDesc("louver_epsilon_spent",
		"ε that the books have added up for the stream so far, whichever budgets paid. While a budget with a δ has "+
			"room, that is far more than anybody has lost.", []string{"stream"}, nil)
	lost = prometheus.NewDesc("louver_epsilon_lost",
		"ε that one user of the stream can have lost so far, by the least bound that holds.", []string{"stream"}, nil)
	budgetLost = prometheus.NewDesc("louver_budget_epsilon_lost",
		"ε that one user can have lost by the budget's charges in the newest window's period, by the least bound that "+
			"holds.", []string{"budget"}, nil)
	windowsUsed = prometheus.NewDesc("louver_windows_used",
		"How many windows of the stream the budget has paid in the newest window's period.", []string{"stream"}, nil)
	budgetSpent = prometheus.NewDesc("louver_budget_epsilon_spent",
		"ε that counts against the budget's limit in the newest window's period. While a budget with a δ has room, "+
			"that is far more than anybody has lost.", []string{"budget"}, nil)
	budgetLimit = prometheus.NewDesc("louver_budget_epsilon_limit",
		"ε that the budget allows in a period.", []string{"budget"}, nil)
	budgetLeft = prometheus.NewDesc("louver_budget_windows_left",
		"How many more windows the budget could pay for now, by the newest window that has a number: the least if "+
			"several ended together. 9007199254740992 (2⁵³) if there is no end for any stream, as under max_windows or "+
			"if all figures are published on change.",
		[]string{"budget"}, nil)
	budgetPays = prometheus.NewDesc("louver_budget_pays",
		"1 if the budget pays for the schedules of its streams as long as they last, else 0. In the first period of a "+
			"rolling budget the windows left fall even so, until the first charges return.", []string{"budget"}, nil)
)

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(c chan<- *prometheus.Desc) {
	for _, m := range Metrics() {
		c <- m.desc
	}
	for _, d := range []*prometheus.Desc{info, armed, spent, distribution, sloBad, sloUsers, sloWindows, sloObjective,
		groupsListed, groupsMax, groupsWithout, budgetSpent, budgetLimit, budgetLeft, budgetPays, lost, budgetLost,
		windowsUsed} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (g *Gauges) Collect(c chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	to := metrics(c)
	streams, budgets, infos := map[string]Record{}, map[string]Record{}, map[[2]string]Record{}
	watches, left := map[[2]string]Record{}, map[string]Record{} // left: by budget, the one with the windows left
	listed, fired := g.collectGroups(to), map[[2]string]bool{}
	for _, r := range g.newest {
		put(streams, r.Stream, r, func(r, old Record) bool { // that of a discovery counts its periods
			return newer(r, old) || r.WindowEnd.Equal(old.WindowEnd) && old.Statistic == record.StatisticGroups
		})
		put(left, r.Budget, r, g.betterWindowsLeft)
		release := [2]string{r.Stream, r.Release}
		if r.Statistic == record.StatisticWatch {
			if !hides(listed, r) {
				g.collect(to, r)
				fired[release] = fired[release] || fires(r)
			}
			put(watches, release, r, func(r, old Record) bool {
				return newer(r, old) || r.WindowEnd.Equal(old.WindowEnd) && !goesOn(r)
			})
		} else {
			if !hides(listed, r) {
				g.collect(to, r)
			}
			// Groups of one window may have different mechanisms. Show the first of the newest.
			put(infos, release, r, func(r, old Record) bool {
				return newer(r, old) || r.WindowEnd.Equal(old.WindowEnd) && r.Group < old.Group
			})
		}
		if old, ok := budgets[r.Budget]; ok && r.WindowEnd.Equal(old.WindowEnd) {
			r.BudgetSpent = greater(old.BudgetSpent, r.BudgetSpent)
			if r.LossFields == nil {
				r.LossFields = old.LossFields
			} else if old.LossFields != nil {
				both := *r.LossFields
				both.BudgetLost = greater(old.BudgetLost, r.BudgetLost)
				r.LossFields = &both
			}
			budgets[r.Budget] = r
		} else {
			put(budgets, r.Budget, r, newer)
		}
	}
	for _, r := range infos {
		p := ""
		if r.P != nil {
			p = r.P.String()
		}
		to.show(info, 1, r.Stream, r.Release, r.Statistic, p, r.Mechanism, r.Unit)
	}
	for k, r := range watches {
		to.indicate(armed, goesOn(r) && g.fresh(r), k[0], k[1])
		if !fired[k] {
			g.collectLeft(to, r)
		}
	}
	g.collectObjectives(to)
	for name, pays := range g.pays {
		to.indicate(budgetPays, pays, name)
	}
	for name, r := range streams {
		to.number(spent, r.StreamSpent, name)
		if r.LossFields != nil {
			to.number(lost, r.StreamLost, name)
			if r.Statistic != record.StatisticGroups {
				to.show(windowsUsed, float64(r.WindowsUsed), name)
			}
		}
	}
	for name, r := range budgets {
		to.number(budgetSpent, r.BudgetSpent, name)
		if r.LossFields != nil {
			to.number(budgetLost, r.BudgetLost, name)
		}
		to.number(budgetLimit, &r.BudgetLimit, name)
		to.show(budgetLeft, float64(left[name].BudgetLeft), name)
	}
}

// put keeps a record under a key, unless there is one that is at least as good.
func put[K comparable](in map[K]Record, key K, r Record, better func(r, old Record) bool) {
	if old, ok := in[key]; !ok || better(r, old) {
		in[key] = r
	}
}

// newer reports whether a record's window ends later than another's.
func newer(r, old Record) bool { return r.WindowEnd.After(old.WindowEnd) }

// betterWindowsLeft reports whether a record says better than another of its budget how many windows are left. A fresh
// record is better than one that is too old, such as that of a stream that has ended.
func (g *Gauges) betterWindowsLeft(r, old Record) bool {
	if fresh := g.fresh(r); fresh != g.fresh(old) {
		return fresh
	}
	return r.BetterWindowsLeft(old)
}

// fresh reports whether a record is not too old to be shown. What is added up over the newest time comes with every
// window.
func (g *Gauges) fresh(r Record) bool {
	length := r.WindowEnd.Sub(r.WindowStart)
	if r.Last() {
		length /= time.Duration(max(1, r.Windows.Of))
	}
	return g.now().Sub(r.DueAt) <= staleWindows*max(length, g.step[r.Key()])
}

// goesOn reports whether a watch looked at a group and did not fire.
func goesOn(r Record) bool { return r.Value != nil && r.Value.String() == "0" }

// collect shows what the newest record of a series says.
func (g *Gauges) collect(to metrics, r Record) {
	fresh := g.fresh(r)
	for _, p := range Points(r, fresh) {
		to.show(p.desc, p.Value, p.Labels...)
	}
	if d, ok := DistributionOf(r); ok && fresh {
		to.distribution(d)
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
