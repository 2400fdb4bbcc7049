package parse

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/config"
)

// spread is the distribution of a day, and two figures from it.
const (
	spread  = "{name: spread, statistic: histogram, since: midnight, zone: Europe/Berlin, buckets: {scale: 3}, epsilon: 1}"
	spread9 = "{name: spread9, statistic: quantile, p: 0.9, from: spread}"
	slow9   = "{name: slow9, statistic: share, above: 801, from: spread}"
)

func TestSoFar(t *testing.T) {
	s := parse(t, withTotals(slow9, spread, spread9)).Streams[0]
	of, ok := config.Of[*config.SoFar](s, "spread")
	if !ok || len(config.All[*config.Total](s)) != 0 || len(s.Lasting()) != 1 {
		t.Fatalf("%v, %d figures that last", ok, len(s.Lasting()))
	}
	// Figures are part of the distribution, and decide where its buckets end. They cost nothing.
	var names []string
	for _, x := range of.Series() {
		names = append(names, x.Name+" "+x.From+" "+x.Unit+" "+x.Mechanism+" "+x.Epsilon.String())
	}
	if got, want := strings.Join(names, ", "), "spread  users tree 2, slow9 spread  tree 0, spread9 spread ms tree 0"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if _, found := of.Mechanism.Buckets.EndAt(801); !found || of.Mechanism.Buckets.Levels() != 2 {
		t.Errorf("no bucket of %v ends at 801", of.Mechanism.Buckets.Ends())
	}
	if f, place := s.Named("spread9"); f != config.Figure(of) || place != 2 {
		t.Errorf("spread9 is the series %d of %v", place, f)
	}
	if c := of.Cost(); c.AtMost != 3 || c.Per != config.PerPeriod || c.Items[0].Epsilon.String() != "1" ||
		c.Items[0].Times != 2 {
		t.Errorf("it costs %+v", c)
	}
	if p := of.WithDelta(true).Series()[0]; p.Mechanism != "square_root" || p.Buckets == nil {
		t.Errorf("with a δ it is drawn by %s", p.Mechanism)
	}
}
