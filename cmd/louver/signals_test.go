package main

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/clitest"
)

func TestSignalsEndAServiceInGoodOrder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			// The tests themselves may have been started with the signal ignored, as by nohup. A child inherits that,
			// but not a handler.
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, s)
			defer signal.Stop(caught)
			c := exec.Command(self, "broker", "--listen", "127.0.0.1:0")
			c.Env = append(os.Environ(), clitest.AsLouver+"=1")
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill() })
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it listens
				t.Fatal(err)
			}
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}
