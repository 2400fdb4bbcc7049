// Package inspect has the commands that look at an app from outside: what is spent, what is published, what is on its
// way, which definitions apply, and which topics and rights there have to be.
package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/ledger"
)

// BudgetCommand reports what has been spent.
type BudgetCommand struct {
	cli.KafkaSettings
	AppID  string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"App whose ledger is read."`
	JSON   bool   `help:"Print JSON."`
	Stream string `placeholder:"NAME" help:"Only this stream and its budget."`
}

// Help is the long help.
func (BudgetCommand) Help() string {
	return `Reads from the ledger what is spent and what is left. What one person loses at most, in a window and in any
24 hours, follows from the newest definitions of the streams, which louver streams prints. No streams file is read.

After a change, windows of the former definition count until they leave the budget's period: they are part of what is
spent. A loss is left out if the definition is not known, for example because the stream has ended.

Watches have a table of their own: how often each was armed, and whether it is armed now, has fired, is withheld or has
ended.`
}

// Run implements the command.
func (c *BudgetCommand) Run(app *cli.App) error {
	conn, err := cluster.Connect(app.Context, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	agreed := cluster.ControlOf(conn, app.Log, c.AppID)
	tails, err := agreed.Tails(app.Context, 0)
	if err != nil {
		return err
	}
	var parts []*ledger.Books
	for _, t := range tails {
		parts = append(parts, t.Books)
	}
	editions, err := agreed.Editions(app.Context)
	if err != nil { // what is spent is known all the same
		app.Log.Warn("the definitions of the streams cannot be read: what one person loses at most is left out",
			zap.Error(err))
	}
	now, books := time.Now(), ledger.Join(parts)
	for _, s := range newest(editions, now).Streams {
		books.Expect(s.Budget.Name, s.Name, s)
	}
	r := ledger.NewReport(books, now)
	if c.Stream != "" {
		if r, err = only(r, c.Stream, c.AppID); err != nil {
			return err
		}
	}
	report := withMost(r, editions, now)
	if c.JSON {
		return cli.WriteJSON(app.Out, report)
	}
	var out strings.Builder
	if err := printBudgets(&out, app.Width(), report, now); err != nil {
		return err
	}
	return app.Print(out.String())
}

// only keeps one stream of a report, and its budget.
func only(r ledger.Report, stream, app string) (ledger.Report, error) {
	at := slices.IndexFunc(r.Streams, func(s ledger.StreamReport) bool { return s.Stream == stream })
	if at < 0 {
		return r, fmt.Errorf("--stream=%s: the ledger of app %s has no window of it yet; louver streams lists the "+
			"streams", stream, app)
	}
	r.Streams = r.Streams[at : at+1]
	r.Budgets = slices.DeleteFunc(r.Budgets,
		func(b ledger.BudgetReport) bool { return b.Budget != r.Streams[0].Budget })
	r.Watches = slices.DeleteFunc(r.Watches, func(w ledger.WatchReport) bool { return w.Stream != stream })
	return r, nil
}

// Input bounds what one person of an input topic loses through all budgets that pay for it.
type Input struct {
	Topic   string   `json:"topic"`
	Budgets []string `json:"budgets"`
	// DayEpsilon is what the windows that end in any 24 hours cost under all of the budgets together; nil if it has no
	// bound.
	DayEpsilon *cli.Digits `json:"epsilon_per_day"`
	DayDelta   cli.Digits  `json:"delta_per_day"`
	// DaySum is the plain sum of the same windows, where that is more.
	DaySum *cli.Digits `json:"epsilon_per_day_sum,omitempty"`

	Text string `json:"-"` // in words
}

// InputsOf reports on the topics that several budgets pay for.
func InputsOf(payers []cost.Payer) (all []Input) {
	for _, s := range cost.InCommon(payers) {
		all = append(all, Input{s.Topic, s.Budgets, EpsilonOf(s.Day), cli.NewDigits(s.Day.Delta), SumOf(s.Day),
			s.String()})
	}
	return all
}

// InAnyDay says what one person loses at most through a budget's windows. It has a place for a [cost.Loss].
const InAnyDay = "one person loses at most %s in any 24 h, counting the windows that end in it"

// EpsilonOf returns the ε of a loss, or nil if it has no bound.
func EpsilonOf(l cost.Loss) *cli.Digits {
	if l.Unbounded {
		return nil
	}
	return new(cli.NewDigits(l.Epsilon))
}

// SumOf returns the plain sum that goes with a bound with a δ; nil if they are the same, or if there is none.
func SumOf(l cost.Loss) *cli.Digits {
	if l.Sum == nil || l.Unbounded || l.Sum.Equal(l.Epsilon) {
		return nil
	}
	return new(cli.NewDigits(*l.Sum))
}
