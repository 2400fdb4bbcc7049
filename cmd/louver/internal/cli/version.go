package cli

import "fmt"

// VersionCommand prints what is running.
type VersionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints one line: name, version, commit, Go and platform.
func (c *VersionCommand) Run(app *App) error {
	if c.JSON {
		return WriteJSON(app.Out, app.Build)
	}
	_, err := fmt.Fprintln(app.Out, app.Build)
	return err
}
