package clitest

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// AsLouver is an environment variable that makes a test binary behave as the program. Its TestMain must look for it.
const AsLouver = "LOUVER_TEST_PROCESS"

// Process is the program in a process of its own, which can be killed.
type Process struct {
	*exec.Cmd
	// Log is what it has written so far.
	Log Output
}

// Output collects what a process writes. It may be read meanwhile.
type Output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Louver starts the program, which is this test binary. It listens on free ports and connects to the broker. It is
// killed at the end of the test.
func Louver(t *testing.T, b *kafkatest.Broker, args ...string) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Cmd: exec.Command(self, args...)}
	p.Env = append(os.Environ(), AsLouver+"=1", "LOUVER_KAFKA_BROKERS="+strings.Join(b.Conn.Brokers, ","),
		"LOUVER_HTTP_ADDR=127.0.0.1:0", "LOUVER_METRICS_ADDR=127.0.0.1:0")
	p.Stdout, p.Stderr = &p.Log, &p.Log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// Signal sends a signal to the process.
func (p *Process) Signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatalf("%v: %v\n%s", s, err, p.Log.String())
	}
}

// Kill ends the process as kill -9 does.
func (p *Process) Kill(t *testing.T) {
	t.Helper()
	p.Signal(t, syscall.SIGKILL)
	_ = p.Wait()
}

// Exit waits for the process to end by itself and returns its exit code.
func (p *Process) Exit(t *testing.T) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	var exit *exec.ExitError
	if err := kafkatest.Receive(t, "the process ends", ended); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// Address is the public address, from the line that says where the process listens.
func (p *Process) Address(t *testing.T) string {
	t.Helper()
	return p.listens(t, `"http": \["([^"]+)"`)[0]
}

// Addresses are the public and the operators' address.
func (p *Process) Addresses(t *testing.T) (public, operators string) {
	t.Helper()
	found := p.listens(t, `"http": \["([^"]+)", "([^"]+)"\]`)
	return found[0], found[1]
}

func (p *Process) listens(t *testing.T, line string) []string {
	t.Helper()
	re := regexp.MustCompile(line)
	kafkatest.Await(t, "the line that says where it listens", func() bool { return re.MatchString(p.Log.String()) })
	return re.FindStringSubmatch(p.Log.String())[1:]
}
