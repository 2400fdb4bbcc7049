package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// BuildInfo describes the running program.
type BuildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// String is one line.
func (b BuildInfo) String() string {
	revision := ""
	if b.Revision != unknown {
		revision = b.Revision + ", "
	}
	return fmt.Sprintf("louver %s (%s%s, %s)", b.Version, revision, b.Go, b.Platform)
}

// unknown is the revision of a program that was not built from a repository.
const unknown = "unknown"

// build describes this program. An empty version means that the build says which one it is.
func build(version string) BuildInfo {
	b := BuildInfo{Version: version, Revision: unknown, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = cmp.Or(strings.Trim(info.Main.Version, "()"), "devel")
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	b.Revision += modified
	return b
}

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
