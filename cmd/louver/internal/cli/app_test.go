package cli

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// TestNohup: a service that began with SIGHUP ignored goes on when its terminal closes.
func TestNohup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if slices.Contains(endings(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP ends a service that was started to ignore it")
	}
}
