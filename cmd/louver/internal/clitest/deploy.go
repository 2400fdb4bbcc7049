package clitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Deployed returns the path of a file under deploy.
func Deployed(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "deploy", name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// DeployedText returns the text of a file under deploy.
func DeployedText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(Deployed(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Debian finds a program, or skips the test and says which package of Debian has it.
func Debian(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed; Debian's package %s has it", program, pkg)
	}
	return path
}
