package outputs

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

var (
	sloSeries = append(series[:3:3], "over")

	sloBad = prometheus.NewDesc("louver_slo_bad_users",
		"Users above the limit of an objective, added up over the newest windows. Unbiased: noise may make it "+
			"negative. Absent while no window counts, while the newest one is older than three windows, and until the "+
			"process has read one.", sloSeries, nil)
	sloUsers = prometheus.NewDesc("louver_slo_users",
		"All users, added up over the same windows. A user who is there in ten windows counts ten times.",
		sloSeries, nil)
	sloWindows = prometheus.NewDesc("louver_slo_windows",
		"How many windows are added up. Windows that are withheld, or that are older than the newest definition of the "+
			"histogram or the groups, do not count. 0 while the sums are absent.", sloSeries, nil)
	sloObjective = prometheus.NewDesc("louver_slo_objective",
		"Share of the users that should not be above the limit. The definition is that of the rules that louver rules "+
			"--slo writes.", []string{"stream", "release", "definition"}, nil)
)

// collectObjectives shows what the newest record of each share says of its objective.
func (g *Gauges) collectObjectives(to metrics) {
	for _, o := range g.objectives {
		to.show(sloObjective, o.Share.Objective.InexactFloat64(), o.Stream.Name, o.Share.Name, o.Definition())
		for _, group := range o.Stream.Groups {
			sums := map[string]record.Over{}
			r := g.newest[Record{Stream: o.Stream.Name, Group: group, Release: o.Share.Name}.Key()]
			if !r.WindowEnd.IsZero() && g.fresh(r) {
				for _, over := range r.Over {
					sums[over.Over] = over
				}
			}
			for _, span := range o.Spans() {
				labels := []string{o.Stream.Name, group, o.Share.Name, period.Name(span)}
				over := sums[period.Name(span)]
				to.show(sloWindows, float64(over.Windows), labels...)
				to.number(sloBad, over.Above, labels...)
				to.number(sloUsers, over.Users, labels...)
			}
		}
	}
}
