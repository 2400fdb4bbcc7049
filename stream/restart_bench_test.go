package stream_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"
	"go.uber.org/zap"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/record"
)

// shared is a stream of seconds that pays from a budget from which a stream of minutes paid before.
const shared = `
version: 1
budgets: [{name: shared, epsilon: 1000000, per: 24h}]
streams:
  - name: seconds
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 60000, step: 1}
    window: {size: 1s, every: 1s, grace: 1s, start: START}
    contribution: last
    releases: [{name: p50, statistic: median, epsilon: 0.1}, {name: users, statistic: count, epsilon: 0.1}]
    output: {topic: OUTPUT}
    budget: shared
`

// BenchmarkRestart takes the time from the start of a process to its first entry in the ledger, where the ledger's
// partition already has many entries: LOUVER_BENCH_ENTRIES, 20,000 unless it says otherwise.
func BenchmarkRestart(b *testing.B) {
	entries := 20_000
	if n, err := strconv.Atoi(os.Getenv("LOUVER_BENCH_ENTRIES")); err == nil {
		entries = n
	}
	for _, checkpoint := range []bool{false, true} {
		b.Run(fmt.Sprintf("entries=%d/checkpoint=%t", entries, checkpoint), func(b *testing.B) {
			r := newRestart(b, kafkatest.Real(b))
			r.fill(b, entries, checkpoint)
			before := cpu(b)
			for b.Loop() {
				r.start(b)
			}
			b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// cpu is how long this process has worked, which does not depend on what else the machine does.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type restart struct {
	broker *kafkatest.Broker
	names  topics.Names
	file   *config.File
	at     int // the partition of the ledger
}

func newRestart(b *testing.B, broker *kafkatest.Broker) *restart {
	r := &restart{broker: broker, names: topics.Names{App: kafkatest.Name(b)},
		at: topics.Place("shared", topics.Partitions)}
	start := time.Now().Add(-5 * time.Second).UTC().Truncate(time.Second).Format(time.RFC3339)
	text := strings.NewReplacer("INPUT", broker.Topic(b, 1, nil), "OUTPUT", broker.Topic(b, 1, nil), "START",
		start).Replace(shared)
	var err error
	if r.file, err = parse.File("streams.yaml", []byte(text), os.LookupEnv); err != nil {
		b.Fatal(err)
	}
	plan := topics.Plan(r.names.App, r.file.Streams)
	if _, err := topics.Create(kafkatest.Context(b), broker.Conn.Client, plan, 1); err != nil {
		b.Fatal(err)
	}
	return r
}

// fill writes entries of minutes into the ledger, and the checkpoint after all but the last fifty.
func (r *restart) fill(b *testing.B, entries int, checkpoint bool) {
	fold := ledger.NewState(r.names.App, r.at)
	limit := r.file.Streams[0].Budget
	began := time.Now().UTC().Truncate(time.Minute).Add(-time.Duration(entries) * time.Minute)
	some := func(n int64) *decimal.Decimal { d := decimal.NewFromInt(n); return &d }
	releases := []record.Series{{Name: "p50", Statistic: "median", P: some(0), Mechanism: "margin", Unit: "ms",
		Epsilon: decimal.New(1, -1)},
		{Name: "users", Statistic: "count", Mechanism: "geometric", Unit: "users", Epsilon: decimal.New(1, -1)}}
	var batch []txn.Record
	log := &progress.Log{Client: r.broker.Conn.Client, Fetch: r.broker.Fetch(fetch.Options{}),
		Topic: r.names.Progress()}
	for n := range entries {
		end := began.Add(time.Duration(n+1) * time.Minute)
		users := int64(10_000 + n%977)
		e := ledger.Entry{App: r.names.App, Stream: "minutes", Budget: "shared", Input: "other",
			Output: "other.private", WindowStart: end.Add(-time.Minute), WindowEnd: end, DueAt: end, ReleasedAt: end,
			Every: time.Minute, Price: r.file.Streams[0].Price(), Releases: releases,
			Prior:    &ledger.Prior{Hash: "00112233445566778899aabbccddeeff"},
			Standing: ledger.Standing{StreamSpent: some(0), BudgetSpent: some(0)}}
		e.Limit.Epsilon, e.Limit.Delta, e.Limit.Per = limit.Epsilon, limit.Delta, limit.Per
		if n >= entries-51 {
			if err := fold.Books.Settle(&e); err != nil {
				b.Fatal(err)
			}
		}
		e.Groups = []ledger.Group{{Users: &users, Values: []ledger.Value{
			{Value: some(int64(800 + n%101)), RankError95: some(55), PLow: some(0), PHigh: some(1), Quality: "useful",
				Smoothed: &ledger.Smoothed{Value: *some(815), Low: some(790), High: some(840)}},
			{Value: some(users), RankError95: some(30), Error95: some(30), Quality: "useful"}}}}
		value, err := e.Encode()
		if err == nil {
			err = fold.Add(e, value, int64(n))
		}
		if err != nil {
			b.Fatal(err)
		}
		batch = append(batch, txn.Record{Topic: r.names.Ledger(), Partition: r.at, Key: e.Key(), Value: value,
			Time: end.UnixMilli()})
		if len(batch) == 5000 || n == entries-1 {
			if err := txn.Send(kafkatest.Context(b), r.broker.Conn.Client, batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
		if checkpoint && n == entries-51 {
			text, err := fold.Checkpoint()
			if err != nil {
				b.Fatal(err)
			}
			records, _ := log.TextRecords(progress.CheckpointKey(r.at), text, 0)
			if err := txn.Send(kafkatest.Context(b), r.broker.Conn.Client, records); err != nil {
				b.Fatal(err)
			}
			b.Logf("the checkpoint has %d bytes", len(text))
		}
	}
}

// start runs a process until the ledger has an entry more.
func (r *restart) start(b *testing.B) {
	read := r.broker.Fetch(fetch.Options{})
	end := func() int64 {
		ends, err := read.Ends(kafkatest.Context(b), r.names.Ledger(), []int{r.at})
		if err != nil {
			b.Fatal(err)
		}
		return ends[r.at]
	}
	before := end()
	ctx, stop := context.WithCancel(context.Background())
	s := &stream.Service{App: r.names.App, Streams: r.file.Streams, Stages: []string{stream.Ingest, stream.Release},
		Conn: r.broker.Conn, CreateTopics: true, Replication: 1,
		CheckpointEvery: 1 << 40, Metrics: metrics.New(prometheus.NewRegistry(), nil, nil), Log: zap.NewNop(),
		Health: health.New(zap.NewNop(), stream.Ingest, stream.Release)}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end() == before {
		<-ticker.C
	}
	stop()
	if err := kafkatest.Receive(b, "the service ends", done); err != nil {
		b.Fatal(err)
	}
}
