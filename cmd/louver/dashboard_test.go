package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// figureOf is a published record of a window that ends at 08:15, 08:30 and so on.
func figureOf(quarter, value string) string {
	return strings.NewReplacer("QUARTER", quarter, "VALUE",
		value).Replace(
		`{"schema":"louver.release.v1","id":"checkout/eu/2026-11-20T08:00:00Z/users","stream":"checkout","group":"eu","release":"users",` +
			`"window_start":"2026-11-20T08:00:00Z","window_end":"2026-11-20T08:QUARTER:00Z","due_at":"2026-11-20T08:QUARTER:30Z","incomplete":false,"statistic":"count","p":null,` +
			`"mechanism":"geometric","unit":"users","value":VALUE,"status":"ok","reason":null,"epsilon":0.1,"delta":0,"rank_error_95":null,"error_95":30,"quality":"useful","users":VALUE,` +
			`"p_low":null,"p_high":null,"interval":null,"smoothed":null,"stream_epsilon_spent":0.1,"budget":"b","budget_epsilon_spent":0.1,"budget_epsilon_limit":4,"budget_windows_left":39}`)
}

// shows waits until the newest figure is one.
func shows(t *testing.T, address, value string) {
	t.Helper()
	kafkatest.Await(t, "the API shows "+value, func() bool {
		_, body := clitest.Get(address, "/api/v1/releases/latest?fields=value")
		return strings.Contains(body, `{"value":`+value+`}`)
	})
}

// The dashboard shows what the topic holds and what comes, and goes on when the topic is made anew.
func TestDashboard(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("15", "812"), "a record of somebody else",
		figureOf("30", "813"))...)
	p := clitest.Louver(t, b, "dashboard", "--topic", topic)
	address := p.Address(t)
	shows(t, address, "813")
	if code, body := clitest.Get(address, "/"); code != http.StatusOK || !strings.Contains(body, "<!doctype html>") {
		t.Errorf("the page: %d %s", code, body)
	}
	if code, body := clitest.Get(address, "/readyz?verbose"); code != http.StatusOK {
		t.Errorf("ready: %d %s", code, body)
	}
	if _, body := clitest.Get(address, "/metrics"); !strings.Contains(body,
		`louver_release_window_end_timestamp_seconds{group="eu",release="users",stream="checkout"}`) {
		t.Errorf("the metrics:\n%s", body)
	}
	_, operators := p.Addresses(t)
	for path, want := range map[string]string{"/metrics": `louver_build_info{version=`, "/readyz?verbose": "broker",
		"/loglevel": `"info"`} {
		if code, body := clitest.Get(operators, path); code != http.StatusOK || !strings.Contains(body, want) ||
			strings.Contains(body, "louver_release") || strings.Contains(body, "louver_events") {
			t.Errorf("operators' %s: %d, want %s\n%s", path, code, want, body)
		}
	}
	for _, path := range []string{"/api/v1/demo", "/api/v1/demo/redraw?release=p50&epsilon=0.1", "/demo.js"} {
		if code, body := clitest.Get(address, path); code != http.StatusNotFound {
			t.Errorf("%s outside of a demo: %d %s", path, code, body)
		}
	}
	events := listen(t, address)
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("45", "814"))...)
	events.wants("event: release", `"value":814`)
	b.DeleteTopic(t, topic)
	b.CreateTopic(t, topic, 1, nil)
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("59", "815"))...)
	events.wants("event: reset")
	shows(t, address, "815") // who is told to look again finds it, or gets it as an event
	later := strings.ReplaceAll(figureOf("59", "816"), "T08:", "T09:")
	b.Produce(t, topic, 0, kafkatest.Values(later)...)
	events.wants(`"value":816`)
	p.Signal(t, syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("SIGTERM, while somebody listens: %v\n%s", err, p.Log.String())
	}
}

// events are the lines of a live answer.
type events struct {
	t     *testing.T
	lines *bufio.Scanner
}

func listen(t *testing.T, address string) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(kafkatest.Context(t))
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/releases/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Body.Close() })
	return &events{t, bufio.NewScanner(a.Body)}
}

// wants reads until lines with these texts have come, in this order.
func (e *events) wants(texts ...string) {
	e.t.Helper()
	for _, text := range texts {
		for !strings.Contains(e.lines.Text(), text) {
			if !e.lines.Scan() {
				e.t.Fatalf("the answer ended before %q: %v", text, e.lines.Err())
			}
		}
	}
}

// It needs the right Read on the output topic, and nothing else.
func TestDashboardNeedsReadAlone(t *testing.T) {
	t.Parallel()
	b := kafkatest.Guarded(t, "reader", "stranger")
	topic := b.Topic(t, 1, nil)
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("15", "812"))...)
	g := &guarded{t: t, broker: b, user: "reader", missing: -1,
		lines: []string{"--allow-principal User:reader --operation Read --topic " + topic}}
	g.grant()
	start := func(user string) *clitest.Process {
		return clitest.Louver(t, b, "dashboard", "--topic", topic, "--kafka-sasl-mechanism", "PLAIN",
			"--kafka-sasl-username", user, "--kafka-sasl-password-file", clitest.File(t, "password", user))
	}
	shows(t, start("reader").Address(t), "812")
	stranger := start("stranger")
	kafkatest.Await(t, "it says that the topic is not to be seen",
		func() bool { return strings.Contains(stranger.Log.String(), topic) })
	if _, body := clitest.Get(stranger.Address(t), "/api/v1/releases/latest"); body != `{"releases":[]}`+"\n" {
		t.Errorf("without the right: %s", body)
	}
}

// SIGHUP reads the streams file again. One that cannot be used changes nothing.
func TestDashboardReadsItsFileAgain(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	stream := func(name string) string {
		return configtest.Stream(name, configtest.Topics(b.Topic(t, 1, nil), b.Topic(t, 1, nil)))
	}
	first := stream("first")
	path := clitest.File(t, "streams.yaml", configtest.File(first))
	p := clitest.Louver(t, b, "dashboard", "--streams", path, "--metrics-addr=")
	said := func(line string, times int) {
		t.Helper()
		kafkatest.Await(t, line, func() bool { return strings.Count(p.Log.String(), line) >= times })
	}
	hangup := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Signal(t, syscall.SIGHUP)
	}
	said("louver shows what is published", 1)
	hangup("version: 1\nstreams: [")
	said("the streams files cannot be used: this process goes on with those that it has read", 1)
	hangup(configtest.File(first, stream("second")))
	said("louver shows what is published", 2)
	listening := regexp.MustCompile(`"http": \["([^"]+)"\]`).FindAllStringSubmatch(p.Log.String(), -1)
	if _, body := clitest.Get(listening[1][1], "/api/v1/streams"); !strings.Contains(body, `"second"`) {
		t.Errorf("the API has no second stream: %s", body)
	}
	p.Signal(t, syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, p.Log.String())
	}
}

// Without a streams file there is nothing to read again, and it says so.
func TestDashboardWithoutAFileIgnoresHangups(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	p := clitest.Louver(t, b, "dashboard", "--topic", topic)
	address := p.Address(t)
	p.Signal(t, syscall.SIGHUP)
	kafkatest.Await(t, "it says so", func() bool {
		return strings.Contains(p.Log.String(), "SIGHUP changes nothing: this process reads no streams files")
	})
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("15", "812"))...)
	shows(t, address, "812")
}

// It may run beside a service that has the usual operators' address: it has one only if somebody asks for it.
func TestDashboardHasNoOperatorsAddressUnasked(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	p := clitest.Louver(t, b, "dashboard", "--topic", b.Topic(t, 1, nil), "--metrics-addr=")
	if address := p.Address(t); !strings.Contains(p.Log.String(), `"http": ["`+address+`"]`) {
		t.Errorf("it listens at a second address:\n%s", p.Log.String())
	}
}
