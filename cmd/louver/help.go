package main

// helpCommand is --help as a command.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"Command to explain. Absent: an overview of all."`
}

// Run prints what --help prints.
func (c *helpCommand) Run(app *App) error {
	if code := execute(app.Context, append(c.Command, "--help"), app.In, app.Out, app.Err); code != exitDone {
		return &exitError{code: code}
	}
	return nil
}
