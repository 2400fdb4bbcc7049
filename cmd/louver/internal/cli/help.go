package cli

// HelpCommand is --help as a command.
type HelpCommand struct {
	Command []string `arg:"" optional:"" help:"Command to explain. Absent: an overview of all."`
}

// Run prints what --help prints.
func (c *HelpCommand) Run(app *App, p Program) error {
	if code := p.Execute(app.Context, append(c.Command, "--help"), app.In, app.Out, app.Err); code != ExitDone {
		return &ExitError{Code: code}
	}
	return nil
}
