package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// outcome is the result of a command line.
type outcome struct {
	code     int
	out, err string
}

// commandLine runs a command line as main does.
func commandLine(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := execute(t.Context(), args, strings.NewReader(stdin), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// wants checks the exit code and that standard error is one line that begins as given.
func (o outcome) wants(t *testing.T, code int, line string) {
	t.Helper()
	if o.code != code || !strings.HasPrefix(o.err, line) || strings.Count(o.err, "\n") != 1 || o.out != "" {
		t.Errorf("exit code %d, standard error %q, standard output %q; want %d and one line %q", o.code, o.err, o.out,
			code, line)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"check", "--help"}, {"release", "--help"}, {"healthcheck", "-h"}} {
		got := commandLine(t, "", args...)
		if got.code != cli.ExitDone || got.err != "" || !strings.HasPrefix(got.out, "Usage: louver") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	for command, want := range map[string][]string{"help": {"--help"}, "help check": {"check", "--help"}} {
		got, same := commandLine(t, "", strings.Fields(command)...), commandLine(t, "", want...)
		if got != same || got.code != cli.ExitDone {
			t.Errorf("%s: %+v, want what %s prints", command, got, want)
		}
	}
	commands := reflect.TypeFor[commands]()
	for i := range commands.NumField() {
		field := commands.Field(i)
		if _, command := field.Tag.Lookup("cmd"); command {
			for line := range strings.Lines(commandLine(t, "", strings.ToLower(field.Name), "--help").out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("help %s: %d columns, want at most 80: %s", strings.ToLower(field.Name), n, line)
				}
			}
		}
	}
	if got := commandLine(t, "", "healthcheck", "--help").out; !strings.Contains(got, "[LOUVER_METRICS_ADDR]") ||
		!strings.Contains(got, "127.0.0.1:9797") {
		t.Errorf("help of a setting without its variable and default:\n%s", got)
	}
}

func TestVersion(t *testing.T) {
	got := commandLine(t, "", "version")
	if got.code != cli.ExitDone || !strings.HasPrefix(got.out, "louver ") || strings.Count(got.out, "\n") != 1 {
		t.Errorf("%+v", got)
	}
	if flag := commandLine(t, "", "--version"); flag != got {
		t.Errorf("--version: %+v, want %+v", flag, got)
	}
	var facts map[string]string
	if err := json.Unmarshal([]byte(commandLine(t, "", "version", "--json").out), &facts); err != nil ||
		!strings.Contains(got.out, facts["version"]) || facts["go"] != runtime.Version() {
		t.Errorf("%v, %v", facts, err)
	}
}

func TestHealthcheck(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("ledger: not read yet\nmore"))
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	t.Setenv("LOUVER_METRICS_ADDR", "0.0.0.0:"+port) // where a server may listen, but nobody can dial
	if got := commandLine(t, "", "healthcheck"); got != (outcome{}) {
		t.Errorf("ready: %+v", got)
	}
	status = http.StatusServiceUnavailable
	commandLine(t, "", "healthcheck").wants(t, cli.ExitInvalid,
		"louver: healthcheck: http://localhost:"+port+`/readyz: status 503 Service Unavailable, "ledger: not read yet`)
	commandLine(t, "", "healthcheck", "--path", "/livez").wants(t, cli.ExitInvalid,
		"louver: healthcheck: http://localhost:"+port+"/livez: status 404")
	commandLine(t, "", "healthcheck", "--metrics-addr", "9797").wants(t, cli.ExitUsage,
		`louver: LOUVER_METRICS_ADDR "9797"; want host:port`)
	server.Close()
	commandLine(t, "", "healthcheck").wants(t, cli.ExitInvalid, "louver: healthcheck: Get ")
}

// Topics and rights fit into 80 columns.
func TestTablesFitTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "")
	path := clitest.File(t, "streams.yaml", clitest.StreamsFile)
	for _, args := range [][]string{{"topics", path}, {"check", path}, {"plan", path}} {
		for line := range strings.Lines(commandLine(t, "", args...).out) {
			if n := len([]rune(strings.TrimSpace(line))); n > 80 && strings.ContainsAny(line, "│─") {
				t.Errorf("%v: %d characters: %s", args, n, line)
			}
		}
	}
}
