// Package cli is what all commands of louver have in common: the command line and its mistakes, flags that several
// commands share, settings from the environment, exit codes, and how tables, numbers and times are written.
package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"
)

// App is the environment of a command.
type App struct {
	// Context ends when the command has to stop; see [App.UntilSignal].
	Context  context.Context
	In       io.Reader
	Out, Err io.Writer
	// Build says what is running.
	Build BuildInfo
	// Log goes to Err, from Level on.
	Log   *zap.Logger
	Level zap.AtomicLevel
}

// UntilSignal returns the context of a service, which SIGINT, SIGTERM and SIGHUP end. The second signal kills the
// process. Commands that end by themselves ignore signals.
func (a *App) UntilSignal() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(a.Context, endings()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// endings are the signals that end a service in good order. SIGHUP is one of them: by default it would kill the process
// without a word, when its terminal closes or when somebody expects it to read its files again. Under nohup it stays
// ignored.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// WriteJSON writes a value as indented JSON, for people too: it does not escape characters such as <.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
