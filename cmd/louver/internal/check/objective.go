package check

import (
	"bytes"
	"fmt"
	"math"

	"github.com/dustin/go-humanize"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows/period"
)

// objectiveReport describes the alerts of an objective, from public figures only.
type objectiveReport struct {
	Objective cli.Digits   `json:"objective"`
	Bad       cli.Digits   `json:"bad_share"`
	False     cli.Digits   `json:"false_pages_30d"`
	Alerts    []burnReport `json:"alerts"`
	// Alone is the share of this noise that a histogram of two sides of the limit would have.
	Alone float64 `json:"noise_alone"`
	// Only says that the histogram serves nothing but objectives.
	Only bool `json:"only_reader"`

	name, limit, at string
}

// burnReport is an alert of an objective. Seen is nil if no number of users is expected.
type burnReport struct {
	Burn   cli.Digits `json:"burn"`
	Page   bool       `json:"page"`
	Long   string     `json:"long"`
	Short  string     `json:"short"`
	Margin int64      `json:"margin"`
	Seen   *float64   `json:"seen"`
}

func describeObjective(o config.Objective, expected int64) *objectiveReport {
	x := &objectiveReport{Objective: cli.NewDigits(o.Share.Objective), Bad: cli.NewDigits(o.Bad()),
		False: cli.NewDigits(config.FalsePages), Alone: alone(o), Only: o.OnlyReader(), name: o.Name(),
		limit: o.Limit(), at: o.Share.Query.Above.String()}
	likely := config.FalsePages.InexactFloat64()
	for _, b := range o.Burns() {
		one := burnReport{Burn: cli.NewDigits(b.Times), Page: b.Page, Long: period.Name(b.Long),
			Short: period.Name(b.Short), Margin: int64(math.Ceil(o.Margin(b, likely)))}
		if expected > 0 {
			one.Seen = new(o.Seen(b, likely, expected))
		}
		x.Alerts = append(x.Alerts, one)
	}
	return x
}

// alone compares the noise of an objective with that of a histogram whose buckets only tell who is bad, for the same ε.
func alone(o config.Objective) float64 {
	of, bucket, noise := o.Buckets()
	own, err := histogram.New(of.Ends()[bucket:bucket+1], of.Ends()[len(of.Ends())-1], of.Below(), 1)
	if err != nil {
		return 1 // cannot happen: it has fewer buckets
	}
	bad := o.Bad().InexactFloat64()
	at, _ := own.EndAt(of.Ends()[bucket])
	return min(1, own.Deviation(at, bad, o.NoiseOn(1), 1)/of.Deviation(bucket, bad, noise, 1))
}

// print says what the alerts of the objective see.
func (x objectiveReport) print(w *bytes.Buffer, width int, users int64) error {
	most := percent(x.Bad.InexactFloat64())
	cli.Fprintf(w, "  objective %s: at most %s of the users %s. louver rules --slo %[1]s writes its alerts:\n", x.name,
		most, x.limit)
	head := []string{"alert", "over", "if more than", "and more than allowed by"}
	if users > 0 {
		head = append(head, "seen from")
	}
	var rows [][]string
	for _, a := range x.Alerts {
		kind := "ticket"
		if a.Page {
			kind = "page"
		}
		row := []string{kind, a.Long + ", " + a.Short, percent(x.Bad.InexactFloat64() * a.Burn.InexactFloat64()),
			cli.WithUnit(humanize.Comma(a.Margin), "users")}
		if a.Seen != nil {
			share := *a.Seen * x.Bad.InexactFloat64()
			if share > 1 {
				row = append(row, "not visible")
			} else {
				row = append(row, percent(share))
			}
		}
		rows = append(rows, row)
	}
	if err := cli.WriteTable(w, width, head, rows); err != nil {
		return err
	}
	cli.Fprintf(w, "    as long as none of the longer stretches has more than %s, noise alone raises any of them in "+
		"30 days with a probability of at most %s\n", most, percent(x.False.InexactFloat64()))
	if users > 0 {
		cli.Fprintf(w, "    a share is seen with a probability of 95 %% if it lasts for the longer stretch, with %s "+
			"in each window\n", cli.Plural(users, "user"))
	}
	if x.Alone < 0.5 {
		cli.Fprintf(w, "    a histogram of its own, with buckets: [%s], would have %s of that noise for the same ε\n",
			x.at, percent(math.Ceil(100*x.Alone)/100))
	}
	if x.Only {
		fmt.Fprintln(w, "    its histogram serves nothing else and costs its ε in every window; for pages alone, a "+
			"watch costs its ε once until it fires")
	}
	return nil
}

// percent writes a share with up to three digits.
func percent(share float64) string { return cli.Short(100*share) + " %" }
