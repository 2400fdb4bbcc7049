package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
)

// Preview says in JSON what a file would change.
type Preview struct {
	Epoch    int             `json:"epoch"`
	Older    bool            `json:"older"`
	Begins   []control.Dated `json:"begins"`
	Ends     []control.Dated `json:"ends"`
	Replaces []control.Dated `json:"replaces"`
	Notes    []string        `json:"notes"`
}

// NewPreview makes the JSON of a preview, of one stream or, for "", of all.
func NewPreview(p control.Preview, stream string) *Preview {
	return &Preview{p.After.Epoch, p.Older, orEmpty(ofStream(p.Begins(), stream)), orEmpty(ofStream(p.Ends(), stream)),
		orEmpty(ofStream(p.Replaces(), stream)), orEmpty(p.Notes)}
}

// ofStream keeps the definitions of one stream; "" stands for all.
func ofStream(all []control.Dated, stream string) []control.Dated {
	if stream == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(d control.Dated) bool { return d.Stream != stream })
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// PrintPreview writes what a file would change of one stream or, for "", of all.
func PrintPreview(app *cli.App, agreed cluster.Control, file *config.File, stream string) error {
	p, err := agreed.Foresee(app.Context, file)
	if err != nil {
		return err
	}
	var b strings.Builder
	switch {
	case p.Older:
		fmt.Fprintf(&b, "the file is older than epoch %d: a process that has it follows the newer definitions; to go "+
			"back to the file, raise its revision\n", p.Before.Epoch)
	case p.After.Epoch == p.Before.Epoch:
		fmt.Fprintf(&b, "the file changes nothing: epoch %d already has its definitions\n", p.Before.Epoch)
	default:
		fmt.Fprintf(&b, "louver run with this file would begin epoch %d if it started now:\n", p.After.Epoch)
	}
	for _, d := range ofStream(p.Replaces(), stream) {
		fmt.Fprintf(&b, "stream %s: definition %d, from %s, is replaced before it begins\n", d.Stream, d.Number,
			cli.Instant(d.From))
	}
	for _, d := range ofStream(p.Ends(), stream) {
		fmt.Fprintf(&b, "stream %s: the last window of definition %d ends %s\n", d.Stream, d.Number,
			lastOf(d, cli.Instant))
	}
	for _, d := range ofStream(p.Begins(), stream) {
		fmt.Fprintf(&b, "stream %s: definition %d applies from the window that starts %s: %s, budget %s\n", d.Stream,
			d.Number, cli.Instant(d.From), windowsOf(d), d.Budget)
		if err := printChanges(&b, d); err != nil {
			return err
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintln(&b, note)
	}
	_, err = io.WriteString(app.Out, b.String())
	return err
}

func printChanges(w io.Writer, d control.Dated) error {
	for _, change := range d.Changes {
		if _, err := fmt.Fprintf(w, "%s %d: %s\n", d.Stream, d.Number, change); err != nil {
			return err
		}
	}
	return nil
}

func windowsOf(d control.Dated) string {
	if d.Every == d.Size {
		return d.Size
	}
	return d.Size + " every " + d.Every
}

// lastOf writes when a definition's last window ends.
func lastOf(d control.Dated, write func(time.Time) string) string {
	text := "never"
	if d.Until != nil {
		text = write(*d.Until)
	}
	if d.Removed {
		text += " (removed)"
	}
	return text
}
