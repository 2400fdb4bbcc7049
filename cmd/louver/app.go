package main

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
	// Log goes to Err.
	Log *zap.Logger
}

// UntilSignal returns the context of a service, which SIGINT and SIGTERM end. The second signal kills the process.
// Commands that end by themselves ignore signals.
func (a *App) UntilSignal() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(a.Context, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
