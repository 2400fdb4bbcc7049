package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows/period"
)

// Objective names an objective that has alerts.
type Objective struct {
	// Stream and Release name a share with an objective.
	Stream, Release string
	// FalsePages is the probability, greater than 0 and less than 1, that noise alone raises any of its alerts in 30
	// days.
	FalsePages decimal.Decimal
}

func (o Objective) String() string { return fmt.Sprintf("--slo %s/%s", o.Stream, o.Release) }

// objective finds the objective of a stream.
func (o Objective) objective(s *config.Stream) (config.Objective, error) {
	all := s.Objectives()
	for _, of := range all {
		if of.Share.Name == o.Release {
			return of, nil
		}
	}
	f, _ := s.Named(o.Release)
	var names []string
	for _, of := range all {
		names = append(names, of.Share.Name)
	}
	switch {
	case f != nil && f.Series()[0].Statistic == string(mechanisms.Share):
		return config.Objective{}, fmt.Errorf("%s: %s has no objective; add one to it in the streams file, for "+
			"example objective: 0.999", o, o.Release)
	case len(names) > 0:
		return config.Objective{}, fmt.Errorf("%s: stream %s has no objective %q; it has %s", o, s.Name, o.Release,
			strings.Join(names, ", "))
	}
	return config.Objective{}, fmt.Errorf("%s: stream %s has no objective; want a release of statistic: share, from a "+
		"histogram, with an objective", o, s.Name)
}

// objectiveRules returns the alerts of some objectives of a stream, with the recorded series that they look at. omitted
// says which alerts are left out, and why.
func objectiveRules(s *config.Stream, wanted []Objective) (all []rule, omitted []string, err error) {
	for _, want := range wanted {
		if want.Stream != s.Name {
			continue
		}
		o, err := want.objective(s)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, newestSums(o, "slo_bad_users"), newestSums(o, "slo_users"))
		for _, b := range config.Burns() {
			if why := o.Omits(b); why != "" {
				omitted = append(omitted, fmt.Sprintf("%s has no alert on a burn of %s over %s: %s.", o.Name(), b.Times,
					period.Name(b.Long), why))
			}
		}
		for _, b := range o.Burns() {
			all = append(all, burnAlert(o, b, want.FalsePages))
		}
		all = append(all, unseenAlert(o), editedAlert(o))
	}
	return all, omitted, nil
}

// unwanted says which objectives have no alerts because nobody asked for them.
func unwanted(streams []*config.Stream, wanted []Objective) (all []string) {
	for _, s := range streams {
		for _, o := range s.Objectives() {
			if !slices.ContainsFunc(wanted,
				func(w Objective) bool { return w.Stream == s.Name && w.Release == o.Share.Name }) {
				all = append(all, fmt.Sprintf("%s has an objective: --slo %[1]s adds its alerts.", o.Name()))
			}
		}
	}
	return all
}

// newestSums records the sums of an objective from those of all replicas, as [newest] does. Of replicas that have sums,
// the one with the newest window of the share counts.
func newestSums(o config.Objective, metric string) rule {
	of := func(metric string) string {
		return fmt.Sprintf("louver_%s{stream=%s, release=%s}", metric, strconv.Quote(o.Stream.Name),
			strconv.Quote(o.Share.Name))
	}
	end := fmt.Sprintf("(%s and on (job, instance, stream, group) %s > 0)", of("release_window_end_timestamp_seconds"),
		of("slo_windows"))
	return rule{Record: "louver:" + metric + ":newest", Expr: newestOf(of(metric), end, ", over"),
		Labels: map[string]string{"stream": o.Stream.Name, "release": o.Share.Name}}
}

// burnAlert makes the alert on a burn. It fires if more users were bad than the objective allows, by more than noise
// makes, and if the rate is as high in the long and in the short stretch. The first condition alone bounds false
// alerts: see [config.Objective.Margin]. Its value is the value of the alert.
func burnAlert(o config.Objective, b config.Burn, falsePages decimal.Decimal) rule {
	of := func(metric string, over time.Duration) string {
		return fmt.Sprintf("louver:%s:newest{stream=%s, release=%s, over=%q}", metric, strconv.Quote(o.Stream.Name),
			strconv.Quote(o.Share.Name), period.Name(over))
	}
	burns := func(over time.Duration) string {
		return fmt.Sprintf("%s\n  > %s * %s * %s", of("slo_bad_users", over), b.Times, o.Bad(), of("slo_users", over))
	}
	const and = "\nand on (job, stream, group, release)\n"
	margin := int64(math.Ceil(o.Margin(b, falsePages.InexactFloat64())))
	expr := fmt.Sprintf("%s\n  - %s * %s\n  > %d", of("slo_bad_users", b.Long), o.Bad(),
		of("slo_users", b.Long), margin) +
		and + burns(b.Long) + and + burns(b.Short)
	name, severity := "LouverObjectiveTicket", "warning"
	if b.Page {
		name, severity = "LouverObjectivePage", "critical"
	}
	what := o.Limit()
	long := period.Name(b.Long)
	more := "users than allowed"
	if !b.Times.Equal(decimal.NewFromInt(1)) {
		more = fmt.Sprintf("than %s times as many users as allowed", b.Times)
	}
	share := falsePages.Div(decimal.NewFromInt(int64(len(o.Burns()))))
	return rule{
		Alert: name, Expr: expr,
		Labels: map[string]string{"severity": severity, "stream": o.Stream.Name, "release": o.Share.Name, "over": long},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("%s of %s{{ with $labels.group }}, group {{ . }},{{ end }}: over %s, more %s are %s",
				o.Share.Name, o.Stream.Name, long, more, what),
			"description": fmt.Sprintf("At most %s %% of the users may be %s. Over %s, about {{ $value | humanize }} "+
				"more were, added up over the windows, and over %s the rate is as high. While no stretch of %s has "+
				"more than %[1]s %%, noise alone raises this alert or another one of the objective within 30 days "+
				"with a probability of at most %[6]s %%%s. This follows from the law of the noise.",
				o.Bad().Shift(2), what, long, period.Name(b.Short), spans(o), falsePages.Shift(2),
				together(len(o.Stream.Groups))),
			"false_alarms_30d": count(share.InexactFloat64()),
		},
	}
}

// spans names the long stretches of an objective's alerts.
func spans(o config.Objective) string {
	var all []string
	for _, b := range o.Burns() {
		all = append(all, period.Name(b.Long))
	}
	return english.WordSeries(all, "or")
}

// unseenAlert makes the alert that the alerts of an objective look at nothing, so that their silence says nothing.
func unseenAlert(o config.Objective) rule {
	short := o.Spans()[0]
	return rule{
		Alert: "LouverObjectiveBlind",
		Expr: fmt.Sprintf("min by (job, stream, release) (max by (job, stream, group, release) "+
			"(louver_slo_windows{stream=%s, release=%s, over=%q})) == 0", strconv.Quote(o.Stream.Name),
			strconv.Quote(o.Share.Name), period.Name(short)),
		For:    promDuration(max(2*o.Stream.Window.Every, time.Minute)),
		Labels: map[string]string{"severity": "warning", "stream": o.Stream.Name, "release": o.Share.Name},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("Nothing is known of the objective %s of %s", o.Share.Name, o.Stream.Name),
			"description": fmt.Sprintf("No window of %s counted over the last %s: the windows are withheld, or none "+
				"are published, or the process cannot read the ledger. Alerts of the objective are silent meanwhile.",
				o.Share.From.Name, period.Name(short)),
		},
	}
}

// editedAlert makes the alert that these rules no longer fit the streams file.
func editedAlert(o config.Objective) rule {
	return rule{
		Alert: "LouverObjectiveEdited",
		Expr: fmt.Sprintf("max by (job, stream, release, definition) (louver_slo_objective{stream=%s, release=%s, "+
			"definition!=%q})", strconv.Quote(o.Stream.Name), strconv.Quote(o.Share.Name), o.Definition()),
		For:    "10m",
		Labels: map[string]string{"severity": "warning", "stream": o.Stream.Name, "release": o.Share.Name},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("The alerts of %s of %s are those of another definition", o.Share.Name,
				o.Stream.Name),
			"description": fmt.Sprintf("The objective is now {{ $value }}, and it or its histogram is not that of "+
				"these rules, so they may alert too often or too late. Write them anew: louver rules --slo %s.",
				o.Name()),
		},
	}
}
