package generate

import (
	"bytes"
	_ "embed" // the template
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// InitCommand writes a streams file to begin with.
type InitCommand struct {
	cli.KafkaSettings
	File  string `arg:"" optional:"" help:"File to write, such as streams.yaml. Absent or -: standard output."`
	Topic string `placeholder:"TOPIC" help:"Input topic. The file gets the names and types of the fields in a few records, never their values."`
	Force bool   `help:"Replace the file if it exists."`
}

// Help is the long help.
func (InitCommand) Help() string {
	return `Writes a streams file with comments. Keys that you have to choose are empty, and louver check lists them:

  louver init streams.yaml --topic checkout.events
  louver check streams.yaml

With --topic, it reads a few records to learn the names and types of their fields. Nothing else about them reaches the
file. Bounds, groups and ε are published, so they must not come from the data. If records are of the past, standard
error says of which days, and which start and end would count them.`
}

//go:embed init.yaml.tmpl
var draftText string

var draftTemplate = template.Must(template.New("init").Parse(draftText))

// Run writes the file.
func (c *InitCommand) Run(app *cli.App) error {
	d, past := emptyDraft(), ""
	if c.Topic != "" {
		sample, err := sampleOf(app, c.KafkaSettings, c.Topic)
		if err != nil {
			return err
		}
		if d, err = newDraft(c.Topic, sample); err != nil {
			return err
		}
		past = sample.past(d.time, time.Now())
	}
	defer func() {
		if past != "" {
			app.Say("louver: %s", past)
		}
	}()
	var text bytes.Buffer
	if err := draftTemplate.Execute(&text, d); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if c.File == "" || c.File == "-" {
		_, err := app.Out.Write(text.Bytes())
		return err
	}
	if err := c.write(text.Bytes()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(app.Out, "Wrote %s. Fill in the empty keys; louver check %s lists them.\n", c.File, c.File)
	return err
}

// write makes the file. It replaces an existing one only with --force.
func (c *InitCommand) write(text []byte) error {
	err := WriteFile(c.File, text, c.Force)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; choose another name, or replace it with --force", err)
	}
	return err
}

// WriteFile makes a file for somebody. It replaces an existing one only if force says so: else the error is
// [fs.ErrExist].
func WriteFile(name string, text []byte, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(name, flags, 0o644)
	if at, e := os.Stat(name); err != nil && e == nil && at.IsDir() {
		return fmt.Errorf("%s is a directory; want the name of a file, such as %s", name,
			filepath.Join(name, "streams.yaml"))
	}
	if errors.Is(err, fs.ErrExist) {
		return existsError(name)
	} else if err != nil {
		return fmt.Errorf("%w; want a file in a directory that exists and that you may write to", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// existsError says that a file of that name exists.
type existsError string

func (e existsError) Error() string { return string(e) + " already exists" }

func (e existsError) Is(target error) bool { return target == fs.ErrExist }
