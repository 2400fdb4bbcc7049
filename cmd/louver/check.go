package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/topics"
)

type checkCommand struct {
	KafkaSettings
	AppSettings
	Connect bool     `help:"Also look on the cluster: whether the topics are there and keep what they must."`
	Files   []string `arg:"" optional:"" name:"file" help:"Streams files, directories of such, or globs; absent: LOUVER_STREAMS."`
	Format  string   `default:"text" enum:"text,json" placeholder:"FORMAT" help:"text or json."`
}

// Help is the long help.
func (checkCommand) Help() string {
	return `Validates streams files as one. Prints for every stream what one user can lose by a window, how long the budget lasts,
and each release's mechanism, charge and error; then the topics and the rights that they take.

Mistakes are printed to standard error, all of them, one a line as "file:line: …", and the exit code is 1.`
}

// Run checks and prints.
func (c *checkCommand) Run(app *App) error {
	patterns := c.Files
	if len(patterns) == 0 {
		if c.Streams == "" {
			return usageError(fmt.Errorf("no streams file: give one, or set LOUVER_STREAMS"))
		}
		patterns = []string{c.Streams}
	}
	file, err := config.LoadAll(patterns, os.LookupEnv)
	if err != nil {
		return refuse(app, err, c.Format == "json")
	}
	found, err := examine(file, c.AppID, time.Now())
	if err != nil {
		return err
	}
	if c.Format == "json" {
		err = printJSON(app, found)
	} else {
		err = found.print(app)
	}
	if err != nil || !c.Connect {
		return err
	}
	return c.onCluster(app, file)
}

// onCluster verifies the topics.
func (c *checkCommand) onCluster(app *App, file *config.File) error {
	conn, err := c.connect(app.Context)
	if err != nil {
		return err
	}
	defer conn.Close()
	return classed(topics.VerifyExisting(app.Context, conn.Client, topics.Plan(c.AppID, file.Streams)))
}

// refuse prints what is wrong with streams files.
func refuse(app *App, err error, asJSON bool) error {
	lines := strings.Split(err.Error(), "\n")
	if asJSON {
		if err := printJSON(app, map[string][]string{"errors": lines}); err != nil {
			return err
		}
	} else {
		for _, line := range lines {
			_, _ = fmt.Fprintln(app.Err, line)
		}
	}
	return reported()
}

func printJSON(app *App, v any) error {
	e := json.NewEncoder(app.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// warnings are what is allowed and seldom meant.
func warnings(file *config.File, found *examination) []string {
	var all []string
	warn := func(where, format string, args ...any) {
		all = append(all, where+": warning: "+fmt.Sprintf(format, args...))
	}
	for i, s := range file.Streams {
		e := found.Streams[i]
		for j, r := range s.Releases {
			if r.Query.Epsilon.Cmp(tooMuch) > 0 {
				warn(r.Where, "streams[%s].releases[%s].epsilon: ε %s hides next to nothing of a person; want 1 or less", s.Name, r.Name, r.Query.Epsilon)
			}
			for _, v := range e.Releases[j].Values {
				if n := float64(s.ExpectedUsers); v.RankError != nil && s.ExpectedUsers > 0 && *v.RankError >= n/2 {
					warn(r.Where, "streams[%s].releases[%s]: an error of up to %.0f ranks among %d expected users may be all noise; want more users, longer windows or a larger epsilon",
						s.Name, v.Release, *v.RankError, s.ExpectedUsers)
				}
			}
		}
		if len(s.Releases) > 1 && e.Epsilon.Cmp(tooMuch) > 0 && !slices.ContainsFunc(s.Releases, func(r config.Release) bool { return r.Query.Epsilon.Cmp(tooMuch) > 0 }) {
			warn(s.Where, "streams[%s]: one window costs a user ε %s, which hides next to nothing; want fewer or cheaper releases", s.Name, e.Epsilon)
		}
	}
	payers := map[string]*config.Stream{}
	for _, s := range file.Streams {
		if first := payers[s.Input.Topic]; first == nil {
			payers[s.Input.Topic] = s
		} else if first.Budget != s.Budget {
			warn(s.Where, "streams[%s]: reads %s as stream %s does, but another budget pays: the users of that topic can lose the sum of both; want one budget for both",
				s.Name, s.Input.Topic, first.Name)
		}
	}
	for _, b := range file.Budgets {
		if len(file.StreamsOf(b)) == 0 {
			warn(b.Where, "budgets[%s]: no stream uses it", b.Name)
		}
	}
	return all
}
