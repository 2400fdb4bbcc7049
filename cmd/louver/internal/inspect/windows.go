package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/cmd/louver/internal/inspect/timeline"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/outputs"
)

// WindowsCommand tells the state of each window.
type WindowsCommand struct {
	cli.KafkaSettings
	AppID  string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"App whose windows are listed."`
	Stream string `placeholder:"NAME" help:"Only this stream."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Help is the long help.
func (WindowsCommand) Help() string {
	return `Lists the windows of every stream that are not published yet, and says what each of them waits for. Then it
lists the last windows that are published: those among the last 2,000 entries of each partition of the ledger.
Consecutive windows in the same state share a row, and so do streams whose windows are in the same state for the same
reason.

A window is open until it is due. Then it waits until every partition of its input has been read up to the window's cut.
Once all partitions are cut, the window is released. If its budget is exhausted, it is withheld instead.

The command reads only topics without personal data. Of the input it reads how far transactions have come, and no
events. It writes nothing.`
}

// Run prints the windows.
func (c *WindowsCommand) Run(app *cli.App) error {
	conn, err := cluster.Connect(app.Context, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	agreed := cluster.ControlOf(conn, app.Log, c.AppID)
	state, err := control.Read(app.Context, agreed)
	if err != nil {
		return cluster.WithExitCode(err)
	}
	if state.Epoch() == 0 {
		return agreed.NoStreams()
	}
	facts, err := c.facts(app, agreed, state)
	if err != nil {
		return err
	}
	now := time.Now()
	runs := facts.Runs(now)
	causes{agreed}.explain(app.Context, runs, facts)
	if c.JSON {
		return cli.WriteJSON(app.Out, struct {
			At      time.Time      `json:"at"`
			Windows []timeline.Run `json:"windows"`
		}{now.UTC().Truncate(time.Second), orEmpty(runs)})
	}
	return printWindows(app, runs, now)
}

// facts reads the input of the timeline.
func (c *WindowsCommand) facts(app *cli.App, agreed cluster.Control, state *control.State) (*timeline.Facts, error) {
	editions, err := state.Editions(control.Wanted{})
	if err != nil {
		return nil, err
	}
	if c.Stream != "" && !slices.ContainsFunc(editions,
		func(e config.Edition) bool { return e.Stream.Name == c.Stream }) {
		return nil, fmt.Errorf("--stream=%s: app %s has no such stream; louver streams lists them", c.Stream, c.AppID)
	}
	inputs := control.NewInputs(agreed)
	if err := inputs.Learn(app.Context); err != nil {
		return nil, cluster.WithExitCode(err)
	}
	facts := &timeline.Facts{Editions: editions, Partitions: inputs.Partitions, Lineage: state.Lineage, Only: c.Stream}
	err = agreed.All(app.Context, agreed.Names.Progress(),
		func(m outputs.Message) error { return facts.Progress(m.Key, m.Value) })
	if err != nil {
		return nil, err
	}
	if there, err := agreed.Has(app.Context, agreed.Names.Ledger()); err != nil || !there { // nothing is decided yet
		return facts, cluster.WithExitCode(err)
	}
	tails, err := agreed.Tails(app.Context, listed)
	if err != nil {
		return nil, err
	}
	for _, t := range tails {
		for _, e := range t.Entries {
			facts.Learn(e)
		}
		for _, e := range editions {
			if last, ok := t.Books.Last(e.Stream.Name, e.Number); ok {
				facts.Decided(e, last)
			}
		}
	}
	return facts, nil
}

// listed is how many of the newest entries of each partition of the ledger are listed.
const listed = 2000

// printWindows writes the table.
func printWindows(app *cli.App, runs []timeline.Run, now time.Time) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(app.Out, "no window has begun yet")
		return err
	}
	return cli.WriteTable(app.Out, app.Width(), []string{"stream", "ends", "windows", "state", "note"},
		rowsOf(runs, now))
}

// rowsOf returns the rows of the table. Streams whose windows are alike share one, so a cause that holds up a thousand
// streams is told once.
func rowsOf(runs []timeline.Run, now time.Time) [][]string {
	var rows [][]string
	var streams [][]string // of each row
	at := map[string]int{}
	for _, r := range runs {
		ends := cli.Stamp(r.First, now)
		if r.Windows > 1 {
			ends += " to " + cli.Stamp(r.Last, now)
		}
		row := []string{"", ends, strconv.FormatInt(r.Windows, 10), stateOf(r), noteOf(r, now)}
		key := strings.Join(row, "\x00")
		i, there := at[key]
		if !there {
			i = len(rows)
			at[key] = i
			rows, streams = append(rows, row), append(streams, nil)
		}
		if !slices.Contains(streams[i], r.Stream) { // two definitions of a stream may be alike
			streams[i] = append(streams[i], r.Stream)
		}
	}
	for i := range rows {
		rows[i][0] = some(streams[i])
	}
	return rows
}

// some lists names, or the first of many.
func some(names []string) string {
	const most = 3
	if rest := len(names) - most; rest > 1 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", rest))
	}
	return english.WordSeries(names, "and")
}

func stateOf(r timeline.Run) string {
	state := string(r.State)
	if r.Incomplete {
		state += ", incomplete"
	}
	if r.Overdue {
		state += ", overdue"
	}
	return state
}

// noteOf says since when and for what a run of windows waits, or why it is in
// its state.
func noteOf(r timeline.Run, now time.Time) string {
	why := strings.Join(r.Why, "; ")
	switch r.State {
	case timeline.Open:
		return "due " + cli.Stamp(r.Due, now)
	case timeline.Waiting, timeline.Cut:
		return fmt.Sprintf("due %s: %s", cli.Stamp(r.Due, now), why)
	default:
		return why
	}
}
