package feed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/replay"
)

// raw sends the lines of a file as they are.
func (c *ReplayCommand) raw(app *cli.App) error {
	in, name := app.In, "stdin"
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return FileError(fmt.Errorf("%w; want a file of lines", err))
		}
		defer func() { _ = f.Close() }() // only read
		in, name = f, c.File
	}
	ctx, stop := app.UntilSignal()
	defer stop()
	job := &replaying{ReplayCommand: c, app: app, progress: NewProgress(app)}
	defer job.progress.End()
	var first []byte
	records := func(yield func(replay.Record, error) bool) {
		for r, err := range replay.Raw(name, in) {
			if err == nil && first == nil {
				first = r.Value
			}
			if !yield(r, err) {
				return
			}
		}
	}
	if err := job.deliver(ctx, records); err != nil {
		return job.ended(ctx, err)
	}
	job.progress.End()
	would := "Sent"
	if c.DryRun {
		would = "Would send"
	}
	_, err := io.WriteString(app.Out, fmt.Sprintf("# %s %s to %s.\n", would, cli.Plural(job.sent, "line"), c.Topic)+
		inputOf(first, c.Topic))
	return err
}

// inputOf is the input that reads lines of telemetry, as YAML; "" if they hold none.
func inputOf(line []byte, topic string) string {
	for member, rest := range map[string]string{
		`{"resourceSpans"`:   "format: otlp_traces, user: user.id, group: http.route}",
		`{"resourceLogs"`:    "format: otlp_logs, user: user.id, value: log.severity_number}",
		`{"resourceMetrics"`: "format: otlp_metrics, user: user.id, where: {metric.name: …}}",
	} {
		if bytes.HasPrefix(line, []byte(member)) {
			return "# Such an input, in a stream of a streams file, reads them:\ninput: {topic: " + replay.YAML(topic) + ", " +
				strings.TrimSpace(rest) + "\n"
		}
	}
	return ""
}

// deliver sends records, or only reads them in a dry run.
func (j *replaying) deliver(ctx context.Context, records iter.Seq2[replay.Record, error]) (err error) {
	if !j.DryRun {
		return j.sendAll(ctx, records)
	}
	for _, err := range records {
		if err != nil {
			return FileError(err)
		}
		j.sent++
		j.progress.Say(func() string { return "read " + j.events() })
	}
	return nil
}

// told says how far the sending has come.
func (j *replaying) told(sent int, next time.Time) {
	j.sent = sent
	left := max(0, time.Until(next))
	j.progress.Pause(left, func() string {
		text := "sent " + j.events()
		if left > time.Second {
			text += fmt.Sprintf("; the next is due in %s, at %s", left.Round(time.Second), cli.Instant(next))
		}
		return text
	})
}
