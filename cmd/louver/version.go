package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints one line: name, version, commit, Go and platform.
func (c *versionCommand) Run(app *App) error {
	if c.JSON {
		return writeJSON(app.Out, build())
	}
	_, err := fmt.Fprintln(app.Out, build())
	return err
}

// buildInfo describes the running program.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (b buildInfo) String() string {
	return fmt.Sprintf("louver %s (%s, %s, %s)", b.Version, b.Revision, b.Go, b.Platform)
}

func build() buildInfo {
	b := buildInfo{Version: version, Revision: "unknown revision", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = cmp.Or(info.Main.Version, "(devel)")
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
