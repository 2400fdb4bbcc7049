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
	return a.until(append(hangups(), os.Interrupt, syscall.SIGTERM))
}

// UntilStopped is UntilSignal for a service that reads its files again on SIGHUP: the channel says when. The signals
// that come before the channel is read count as one. The channel is nil where SIGHUP is ignored.
func (a *App) UntilStopped() (context.Context, <-chan os.Signal, context.CancelFunc) {
	var again chan os.Signal
	if hangups := hangups(); len(hangups) > 0 { // Notify without signals would relay all of them
		again = make(chan os.Signal, 1)
		signal.Notify(again, hangups...)
	}
	ctx, stop := a.until([]os.Signal{os.Interrupt, syscall.SIGTERM})
	return ctx, again, func() { signal.Stop(again); stop() }
}

func (a *App) until(endings []os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(a.Context, endings...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// hangups is SIGHUP, or nothing under nohup: a signal that was ignored from the start stays ignored. By default SIGHUP
// would kill the process without a word, when its terminal closes or when somebody expects it to read its files again.
func hangups() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return nil
	}
	return []os.Signal{syscall.SIGHUP}
}

// WriteJSON writes a value as indented JSON, for people too: it does not escape characters such as <.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
