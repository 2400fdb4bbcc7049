package stage

import (
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/progress"
)

// Env holds the tools of every stage. They are shared and safe for concurrent use.
type Env struct {
	Names topics.Names
	Conn  *kafkaconn.Conn
	Fetch *fetch.Client
	Sizes *topics.Sizes
	// Progress tells workers where to resume.
	Progress *progress.Log
	Metrics  *metrics.Operator
	// Monitor gets the failures that are retried, Health what this stage does.
	Monitor *health.Monitor
	Health  *health.Stage
	Log     *zap.Logger
	// Time is the time by which windows close; nil: time.Now. A demo has a clock of its own.
	Time func() time.Time
}

// Now is the time by which windows close.
func (e Env) Now() time.Time {
	if e.Time == nil {
		return time.Now()
	}
	return e.Time()
}

// Writing returns the hook for retried writes to a topic.
func (e Env) Writing(topic string) func(error) {
	hook := e.Monitor.Retrying("cannot write to topic "+topic, "topic "+topic+" can be written to again")
	return func(err error) { hook(kafkaconn.Needs(err, "Write", "topic "+topic)) }
}

// Reading returns the hook for retried reads of a topic.
func (e Env) Reading(topic string) func(error) {
	hook := e.Monitor.Retrying("cannot read topic "+topic, "topic "+topic+" can be read again")
	return func(err error) {
		err = kafkaconn.Needs(err, "Read", "topic "+topic)
		hook(err)
		if e.Health != nil {
			e.Health.Unread(topic, err)
		}
	}
}

// Transactions returns the hook for retried steps of a transaction.
func (e Env) Transactions(topic string) func(error) {
	return e.Monitor.Retrying("Kafka does not accept transactions for "+topic,
		"Kafka accepts transactions for "+topic+" again")
}

// Lag records how far a reader is behind its partition's end, in records and in time, until the partition is gone. The
// time of an event's record is that of the clock by which windows close.
func (e Env) Lag(group string, at Partition, r *fetch.Reader) {
	records, seconds := max(0, r.HighWatermark()-r.Position()), 0.
	if newest := r.Newest(); records > 0 && newest >= 0 {
		now := time.Now()
		if group == e.Names.Group(Ingest) {
			now = e.Now()
		}
		seconds = max(0, now.Sub(time.UnixMilli(newest)).Seconds())
	}
	labels := []string{group, at.Topic, strconv.Itoa(at.Number)}
	e.Metrics.Lag.WithLabelValues(labels...).Set(float64(records))
	e.Metrics.LagSeconds.WithLabelValues(labels...).Set(seconds)
}

// noLag forgets the lag of a partition that another process reads from now on.
func (e Env) noLag(group string, at Partition) {
	labels := []string{group, at.Topic, strconv.Itoa(at.Number)}
	e.Metrics.Lag.DeleteLabelValues(labels...)
	e.Metrics.LagSeconds.DeleteLabelValues(labels...)
}
