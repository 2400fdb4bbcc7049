package check

import (
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
)

// drawnRelease describes a release of every window: how it is drawn, and what one draw costs.
type drawnRelease struct {
	Release   string     `json:"release"`
	Statistic string     `json:"statistic"`
	Mechanism string     `json:"mechanism"`
	Epsilon   cli.Figure `json:"epsilon"`
	Delta     cli.Figure `json:"delta"`
}

// examinedValue is one released figure and its error.
type examinedValue struct {
	Release string `json:"release"`
	forecast.Figure
}

// describe describes a release and each of its figures.
func describe(r config.Release, public forecast.Public) (drawnRelease, []examinedValue, error) {
	promise := r.Mechanism.Promise()
	x := drawnRelease{r.Name, string(r.Query.Statistic), r.Mechanism.Name(), cli.NewFigure(promise.Epsilon), cli.NewFigure(promise.Delta)}
	figures, err := forecast.Of(r.Query, r.Mechanism, public)
	if err != nil {
		return x, nil, err
	}
	var values []examinedValue
	for i, name := range r.Names() {
		values = append(values, examinedValue{name, figures[i]})
	}
	return x, values, nil
}
