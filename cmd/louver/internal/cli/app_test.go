package cli

import (
	"os/signal"
	"syscall"
	"testing"
)

// TestNohup: a service that began with SIGHUP ignored goes on when its terminal closes.
func TestNohup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if len(hangups()) > 0 {
		t.Error("SIGHUP reaches a service that was started to ignore it")
	}
}
