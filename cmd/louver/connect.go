package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/kafkaconn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/topics"
)

// patience is how long an unreachable broker is tried at start.
const patience = 30 * time.Second

// connect reaches the cluster: refused credentials are an error at once, an unreachable broker after half a minute.
func (s KafkaSettings) connect(ctx context.Context) (*kafkaconn.Conn, error) {
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	conn, err := kafkaconn.New(config)
	if err != nil {
		return nil, err
	}
	trying, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := conn.Check(trying); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, brokerError(fmt.Errorf("%w; check LOUVER_KAFKA_BROKERS=%s", err, strings.Join(s.KafkaBrokers, ",")))
	}
	return conn, nil
}

// reader reads committed records.
func reader(conn *kafkaconn.Conn, log *zap.Logger) *outputs.Reader {
	return &outputs.Reader{Conn: conn, Log: log, Fetch: fetch.New(conn.Transport, conn.Addr, fetch.Options{ClientID: conn.ClientID,
		OnRetry: func(topic string, partition int, err error) {
			log.Info("cannot read yet, trying again", zap.String("topic", topic), zap.Int("partition", partition), zap.Error(err))
		}})}
}

// classed gives an error of the service or of a reader its exit code.
func classed(err error) error {
	var exit *exitError
	var answer kafka.Error
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.Is(err, ledger.ErrUnreadable):
		return privacyStop(err)
	case errors.Is(err, topics.ErrUnfit), errors.Is(err, control.ErrRefused):
		return err
	case errors.Is(err, topics.ErrMissing), errors.As(err, &answer), kafkaconn.Refused(err), kafkaconn.Retriable(err):
		return brokerError(err)
	}
	return err
}
