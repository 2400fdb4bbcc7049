package mechanisms

import (
	"errors"
	"slices"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

// New checks a query and returns its mechanism. The error is an [Error] that says what is wrong with the query.
func New(q Query) (Mechanism, error) {
	r, ok := q.Statistic.find()
	if !ok || r.apart {
		return nil, parameter.Wrong("statistic", parameter.Quoted(string(q.Statistic)), "%s", oneOf(Statistics()))
	}
	if q.Grid == nil {
		return nil, parameter.Wrong("bounds", "missing", "lower, upper and step")
	}
	if len(r.offers) == 0 {
		return nil, parameter.Wrong("statistic", parameter.Quoted(string(q.Statistic)),
			"from: with the name of a histogram, which it is computed from")
	}
	chosen := r.offers[max(0, slices.IndexFunc(r.offers, func(o offer) bool { return q.ZCDP && o.forRho }))]
	switch at := slices.IndexFunc(r.offers, func(o offer) bool {
		return q.Mechanism != "" && (o.name == q.Mechanism || o.former == q.Mechanism)
	}); {
	case at >= 0:
		chosen = r.offers[at]
	case q.Mechanism != "":
		return nil, parameter.Wrong("mechanism", parameter.Quoted(q.Mechanism),
			"one of those for statistic %s: %s", q.Statistic,
			oneOf(Available(q.Statistic)))
	case q.Statistic == Median || q.Statistic == Quantile:
		chosen = q.byDefault()
	case q.Clip == "none":
		chosen = r.offers[max(0, slices.IndexFunc(r.offers, func(o offer) bool { return !clips(o.name) }))]
	}
	if err := q.check(r, chosen); err != nil {
		return nil, err
	}
	m, err := chosen.build(&q)
	return m, q.ofWhole(err)
}

// ofWhole says of an error about a part of ε, such as that of an interval, what it means for the whole. The query's own
// ε is all that its author knows.
func (q *Query) ofWhole(err error) error {
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.Parameter != "epsilon" || wrong.Value == parameter.Shown(q.Epsilon) {
		return err
	}
	return parameter.Wrong("epsilon", parameter.Shown(q.Epsilon), "another one: the mechanism draws with parts of it, "+
		"and each of them has to be %s", wrong.Want)
}

// check looks at the parameters that several mechanisms share and refuses those that the statistic or the chosen
// mechanism does not take.
func (q *Query) check(r row, chosen offer) error {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return err
	}
	// Those that all mechanisms take if the statistic does.
	common := []string{"p", "trim", "clip", "above", "below", "buckets", "levels"}
	for _, p := range Parameters() {
		switch {
		case !p.given(q):
		case len(p.Statistics) > 0 && !slices.Contains(r.takes, p.Name):
			return parameter.Wrong(p.Name, p.text(q), "none: statistic %s has no such parameter", q.Statistic)
		case !slices.Contains(common, p.Name) && !slices.Contains(chosen.takes, p.Name):
			return parameter.Wrong(p.Name, p.text(q), "none: mechanism %s has no such parameter", chosen.name)
		}
	}
	switch {
	case q.ReplaceOne && !slices.Contains(chosen.takes, "replace_one"):
		return parameter.Wrong("replace_one", true, "false: mechanism %s has no such parameter", chosen.name)
	case q.Calibration != "" && q.Calibration != "published":
		return parameter.Wrong("calibration", parameter.Quoted(q.Calibration), "tight or published")
	case q.Clip != "" && q.Clip != "none":
		return parameter.Wrong("clip", parameter.Quoted(q.Clip),
			"none, or nothing for an interval that the mechanism finds")
	case q.Clip == "none" && clips(chosen.name):
		return parameter.Wrong("clip", "none", "another mechanism than %s, which finds an interval", chosen.name)
	case !slices.Contains([]string{"", "tapered", "cells", "uniform", "adaptive"}, q.Prior):
		return parameter.Wrong("prior", parameter.Quoted(q.Prior), "adaptive, tapered, cells or uniform")
	case q.ExpectedUsers < 0 || q.ExpectedUsers > MaxUsers:
		return parameter.Wrong("expected_users", q.ExpectedUsers, "a whole number from 1 to %d", MaxUsers)
	}
	return nil
}
