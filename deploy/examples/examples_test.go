// Package examples tests the programs that read output topics.
package examples

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

func band(low, high string, basis record.Basis) *ledger.Band {
	return &ledger.Band{Low: some(low), High: some(high), Level: some("0.95"), Basis: basis}
}

func some(s string) *decimal.Decimal { return new(decimal.RequireFromString(s)) }

// published are the records of four windows: a sound one, one with too few users, an incomplete one and one that the
// budget does not pay for.
func published(t *testing.T, topic string) (records []txn.Record) {
	t.Helper()
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	group := ledger.Group{Name: "eu", Users: new(int64(10412)), Values: []ledger.Value{
		{Value: some("812.5"), RankError95: some("554.2"), PLow: some("0.931"), PHigh: some("1"), Quality: "noise"},
		{Value: some("10412"), RankError95: some("20"), Error95: some("20"), Quality: "useful",
			Band: band("10392", "10432", record.OfNoise)},
		{Value: some("61.4"), Band: band("60", "62.7", record.OfScatter)},
		{Value: some("7")},
		{Value: some("99.5"), RankError95: some("12.5")},
	}}
	few := ledger.Group{Name: "eu", Users: new(int64(3)), Reason: record.TooFewUsers,
		Values: []ledger.Value{{}, {Value: some("3"), Error95: some("20"), Band: band("0", "23", record.OfNoise)}, {}, {}, {}}}
	for i, e := range []ledger.Entry{{Groups: []ledger.Group{group}}, {Groups: []ledger.Group{few}},
		{Groups: []ledger.Group{group}, Incomplete: true},
		{Groups: []ledger.Group{{Name: "eu"}}, Reason: record.BudgetExhausted}} {
		e.App, e.Stream, e.Budget, e.Input, e.Output = "louver", "checkout", "shoppers", "events", topic
		e.WindowStart = start.Add(time.Duration(i) * time.Hour)
		e.WindowEnd, e.DueAt, e.ReleasedAt, e.Every = e.WindowStart.Add(time.Hour), e.WindowStart.Add(time.Hour),
			e.WindowStart.Add(time.Hour), time.Hour
		e.Limit = budget.Limit{Epsilon: *some("24"), Per: 24 * time.Hour}
		e.Price = []budget.Item{{Promise: privacy.NewPure(*some("0.4")), Times: 1}}
		e.Standing.StreamSpent, e.Standing.BudgetSpent = some("12.5"), some("12.5")
		for _, r := range []record.Series{{Name: "p99", Statistic: "quantile", P: some("0.99"), Unit: "ms"},
			{Name: "users", Statistic: "count", Unit: "users"},
			{Name: "typical", Statistic: "trimmed_mean", Unit: "ms"}, {Name: "top", Statistic: "mode"},
			{Name: "mid", Statistic: "median", P: some("0.5"), Unit: "ms"}} {
			r.Mechanism, r.Epsilon = "m", *some("0.1")
			e.Releases = append(e.Releases, r)
		}
		all, err := e.Records()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			records = append(records, txn.Record{Key: r.Key, Value: r.Value, Time: r.Time.UnixMilli()})
		}
	}
	return records
}

// lines are what the programs print of published.
var lines = []string{
	"2026-11-20T09:00:00Z checkout/eu/p99 812.5 ms, between the quantiles 0.931 and 1, mostly noise",
	"2026-11-20T09:00:00Z checkout/eu/users 10412 users, between 10392 and 10432 with probability 0.95",
	"2026-11-20T09:00:00Z checkout/eu/typical 61.4 ms, between 60 and 62.7 with probability 0.95",
	"2026-11-20T09:00:00Z checkout/eu/top 7, no band",
	"2026-11-20T09:00:00Z checkout/eu/mid 99.5 ms, no band",
	"2026-11-20T10:00:00Z checkout/eu/p99 withheld: too_few_users",
	"2026-11-20T10:00:00Z checkout/eu/users 3 users, between 0 and 23 with probability 0.95",
	"2026-11-20T10:00:00Z checkout/eu/typical withheld: too_few_users",
	"2026-11-20T10:00:00Z checkout/eu/top withheld: too_few_users",
	"2026-11-20T10:00:00Z checkout/eu/mid withheld: too_few_users",
	"2026-11-20T11:00:00Z checkout/eu/p99 812.5 ms, between the quantiles 0.931 and 1, mostly noise, incomplete",
	"2026-11-20T11:00:00Z checkout/eu/users 10412 users, between 10392 and 10432 with probability 0.95, incomplete",
	"2026-11-20T11:00:00Z checkout/eu/typical 61.4 ms, between 60 and 62.7 with probability 0.95, incomplete",
	"2026-11-20T11:00:00Z checkout/eu/top 7, no band, incomplete",
	"2026-11-20T11:00:00Z checkout/eu/mid 99.5 ms, no band, incomplete",
	"2026-11-20T12:00:00Z checkout/eu/p99 withheld: budget_exhausted",
	"2026-11-20T12:00:00Z checkout/eu/users withheld: budget_exhausted",
	"2026-11-20T12:00:00Z checkout/eu/typical withheld: budget_exhausted",
	"2026-11-20T12:00:00Z checkout/eu/top withheld: budget_exhausted",
	"2026-11-20T12:00:00Z checkout/eu/mid withheld: budget_exhausted",
}

// A program prints each figure once, though every record comes again and others are in the topic, too.
func follows(t *testing.T, program ...string) {
	t.Helper()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	records := published(t, topic)
	b.Produce(t, topic, 0, kafkatest.Values("hello", `["louver.release.v1"]`, `{"schema":"another"}`)...)
	b.Produce(t, topic, 0, records...)
	b.Produce(t, topic, 0, records...)
	end := records[len(records)-1]
	end.Key, end.Value = []byte("end"), []byte(strings.Replace(string(end.Value), "checkout/", "end/", 1))
	b.Produce(t, topic, 0, end)

	cmd := exec.CommandContext(kafkatest.Context(t), program[0],
		append(program[1:], strings.Join(b.Conn.Brokers, ","), topic)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var got []string
	for s := bufio.NewScanner(out); s.Scan(); {
		if strings.Contains(s.Text(), " end ") {
			break
		}
		got = append(got, s.Text())
	}
	if d := cmp.Diff(lines, got); d != "" {
		t.Errorf("printed (-want, +got):\n%s\n%s", d, said.String())
	}
}

func TestGo(t *testing.T) {
	program := filepath.Join(t.TempDir(), "follow")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	follows(t, program)
}

func TestPython(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import confluent_kafka").CombinedOutput(); err != nil {
		t.Skipf("no Python with confluent_kafka; pip install confluent-kafka: %v %s", err, out)
	}
	follows(t, "python3", "python/follow.py")
}

// connectPom is Kafka Connect with what connector.json names.
const connectPom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>louver</groupId><artifactId>connect</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>connect-runtime</artifactId><version>4.2.1</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>connect-json</artifactId><version>4.2.1</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>connect-transforms</artifactId><version>4.2.1</version></dependency>
    <dependency><groupId>io.debezium</groupId><artifactId>debezium-connector-jdbc</artifactId><version>3.5.0.Final</version></dependency>
    <dependency><groupId>org.postgresql</groupId><artifactId>postgresql</artifactId><version>42.7.13</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`

// Kafka Connect writes each figure into its row, once, whatever comes again.
func TestPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: Kafka Connect takes half a minute to start")
	}
	db := postgres(t)
	db.run(t, "-f", "postgres/table.sql")
	libs := kafkatest.Jars(t, "connect-4.2.1-jdbc-3.5.0", connectPom)
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	records := published(t, topic)
	b.Produce(t, topic, 0, records...)
	b.Produce(t, topic, 0, records...)

	text, err := os.ReadFile("postgres/connector.json")
	if err != nil {
		t.Fatal(err)
	}
	var connector map[string]string
	if err := json.Unmarshal(text, &connector); err != nil {
		t.Fatal(err)
	}
	connector["topics"] = topic
	connector["connection.url"] = strings.Replace(connector["connection.url"], "localhost:5432", db.address, 1)
	dir := t.TempDir()
	text, err = json.Marshal(connector)
	if err != nil {
		t.Fatal(err)
	}
	worker := map[string]string{"bootstrap.servers": strings.Join(b.Conn.Brokers, ","),
		"offset.storage.file.filename": filepath.Join(dir, "offsets"),
		"key.converter":                connector["key.converter"], "value.converter": connector["key.converter"],
		"listeners": "http://127.0.0.1:0", "plugin.discovery": "service_load"}
	var properties strings.Builder
	for _, k := range slices.Sorted(maps.Keys(worker)) {
		fmt.Fprintf(&properties, "%s=%s\n", k, worker[k])
	}
	for name, content := range map[string]string{"connector.json": string(text),
		"worker.properties": properties.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // read below
	cmd := exec.CommandContext(kafkatest.Context(t), "java", "-Xmx256m", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", filepath.Join(libs, "*"),
		"org.apache.kafka.connect.cli.ConnectStandalone", filepath.Join(dir, "worker.properties"),
		filepath.Join(dir, "connector.json"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("Kafka Connect says:\n%s", text)
		}
	})
	kafkatest.Await(t, "a row for each figure", func() bool {
		return db.run(t, "-c", "select count(*) from louver_release") == fmt.Sprint(len(lines))
	})
	// The last record is written after all copies.
	last := records[len(records)-1]
	last.Value = []byte(strings.ReplaceAll(string(last.Value), `"id":"checkout/`, `"id":"end/`))
	b.Produce(t, topic, 0, last)
	kafkatest.Await(t, "the last row", func() bool {
		return db.run(t, "-c", "select count(*) from louver_release where id like 'end/%'") == "1"
	})
	got := db.run(t, "-c", `select concat_ws(' ', to_char(window_end at time zone 'UTC', 'HH24:MI'), release, status, coalesce(value::text, reason), unit, low, high, level, basis,
		p_low, p_high, case when incomplete then 'incomplete' end) from louver_release where id not like 'end/%' order by window_end, release`)
	want := `09:00 mid ok 99.5 ms
09:00 p99 ok 812.5 ms 0.931 1
09:00 top ok 7
09:00 typical ok 61.4 ms 60 62.7 0.95 scatter
09:00 users ok 10412 users 10392 10432 0.95 noise
10:00 mid withheld too_few_users ms
10:00 p99 withheld too_few_users ms
10:00 top withheld too_few_users
10:00 typical withheld too_few_users ms
10:00 users ok 3 users 0 23 0.95 noise
11:00 mid ok 99.5 ms incomplete
11:00 p99 ok 812.5 ms 0.931 1 incomplete
11:00 top ok 7  incomplete
11:00 typical ok 61.4 ms 60 62.7 0.95 scatter incomplete
11:00 users ok 10412 users 10392 10432 0.95 noise incomplete
12:00 mid withheld budget_exhausted ms
12:00 p99 withheld budget_exhausted ms
12:00 top withheld budget_exhausted
12:00 typical withheld budget_exhausted ms
12:00 users withheld budget_exhausted users`
	if d := cmp.Diff(strings.Fields(want), strings.Fields(got)); d != "" {
		t.Errorf("rows (-want, +got):\n%s\n%s", d, got)
	}
}

// database is a Postgres for a test.
type database struct{ address string }

// postgres starts a Postgres of its own, by Debian's package.
func postgres(t *testing.T) database {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Skip("Postgres is not installed; Debian's package postgresql has it")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "louver-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// Postgres refuses to run as root.
	as := func(ctx context.Context, program string, args ...string) *exec.Cmd {
		command := append([]string{filepath.Join(bin, program)}, args...)
		if os.Geteuid() == 0 {
			command = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}, command...)
		}
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir = dir
		return cmd
	}
	if os.Geteuid() == 0 {
		if out, err := exec.CommandContext(t.Context(), "chown", "postgres", dir).CombinedOutput(); err != nil {
			t.Skipf("there is no user to run Postgres as: %v %s", err, out)
		}
	}
	if out, err := as(t.Context(), "initdb", "-D", dir+"/data", "-U", "louver", "-A", "trust", "--no-sync", "-E",
		"UTF8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	db := database{kafkatest.Address(t)}
	_, port, _ := net.SplitHostPort(db.address)
	server := as(context.Background(), "postgres", "-D", dir+"/data", "-h", "127.0.0.1", "-p", port, "-k", dir, "-c",
		"fsync=off")
	var log strings.Builder
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt) // a fast shutdown
		_ = server.Wait()
		if t.Failed() {
			t.Logf("Postgres says:\n%s", log.String())
		}
	})
	kafkatest.Await(t, "Postgres", func() bool {
		_, err := db.psql(t, "postgres", "-c", "create database louver").Output()
		return err == nil
	})
	return db
}

func (d database) psql(t *testing.T, name string, args ...string) *exec.Cmd {
	host, port, _ := net.SplitHostPort(d.address)
	return exec.CommandContext(t.Context(), "psql", append([]string{"-qAtX", "-v", "ON_ERROR_STOP=1", "-h", host, "-p",
		port, "-U", "louver", "-d", name}, args...)...)
}

func (d database) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := d.psql(t, "louver", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("psql %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// The columns of the table are fields of the record.
func TestConnectorKnowsTheRecord(t *testing.T) {
	var described struct{ Properties map[string]any }
	if err := json.Unmarshal(record.JSONSchema(), &described); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("postgres/connector.json")
	if err != nil {
		t.Fatal(err)
	}
	var connector map[string]string
	if err := json.Unmarshal(text, &connector); err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Fields []struct{ Field string }
	}
	if err := json.Unmarshal([]byte(connector["value.converter.schema.content"]), &schema); err != nil ||
		len(schema.Fields) == 0 {
		t.Fatal(err)
	}
	for _, f := range schema.Fields {
		if described.Properties[f.Field] == nil {
			t.Errorf("%s is not a field of the record", f.Field)
		}
	}
}
