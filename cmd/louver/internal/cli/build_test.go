package cli

import "testing"

// A program that was not built from a repository has no revision to show.
func TestBuildInOneLine(t *testing.T) {
	b := BuildInfo{Version: "v1.2.3", Revision: "0123456789ab, modified", Go: "go1.26", Platform: "linux/amd64"}
	if got, want := b.String(), "louver v1.2.3 (0123456789ab, modified, go1.26, linux/amd64)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.Version, b.Revision = "devel", unknown
	if got, want := b.String(), "louver devel (go1.26, linux/amd64)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
