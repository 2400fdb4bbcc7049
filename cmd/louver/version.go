package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

type versionCommand struct{}

// Run prints one line: name, version, commit, Go and platform.
func (versionCommand) Run(app *App) error {
	info := build()
	_, err := fmt.Fprintf(app.Out, "louver %s (%s, %s, %s/%s)\n", info.version, info.revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildInfo is what is known of the running program.
type buildInfo struct{ version, revision string }

func build() buildInfo {
	b := buildInfo{version: version, revision: "unknown revision"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.version == "" {
		b.version = cmp.Or(info.Main.Version, "(devel)")
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	b.revision += modified
	return b
}
