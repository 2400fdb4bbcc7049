package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
)

// agreement is the app's control topic. A missing topic counts as empty.
type agreement struct {
	control.Kafka
	conn *kafkaconn.Conn
	log  *zap.Logger
}

func agreedOn(conn *kafkaconn.Conn, log *zap.Logger, id string) agreement {
	return agreement{control.Kafka{Fetch: reader(conn, log).Fetch, Names: topics.Names{App: id}}, conn, log}
}

// Read implements [control.Records].
func (a agreement) Read(ctx context.Context, f func(key, value []byte) error) error {
	if there, err := a.has(ctx, a.Names.Control()); err != nil || !there {
		return err
	}
	return a.Kafka.Read(ctx, f)
}

// editions returns the definitions of all streams, by name and number. An app that has agreed on nothing has none.
func (a agreement) editions(ctx context.Context) ([]control.Edition, error) {
	state, err := control.Read(ctx, a)
	if err != nil || state.Epoch() == 0 {
		return nil, err
	}
	return state.Editions(control.Wanted{})
}

// noStreams is the error of an app that has agreed on nothing.
func (a agreement) noStreams() error {
	return cli.BrokerError(fmt.Errorf("app %s has no streams yet: topic %s is empty or missing, or you may not describe it; check LOUVER_APP_ID, or run louver first", a.Names.App, a.Names.Control()))
}

// has reports whether a topic exists.
func (a agreement) has(ctx context.Context, topic string) (bool, error) {
	_, err := topics.Counts(ctx, a.conn.Client, []topics.Topic{{Name: topic}})
	if errors.Is(err, topics.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// foresee says what a file would change. It reads the ledger only if the file moves streams to other budgets.
func (a agreement) foresee(ctx context.Context, file *config.File) (control.Preview, error) {
	wanted := control.Wanted{Streams: file.Streams, Revision: file.Revision, Removed: file.Removed}
	p, err := control.Foresee(ctx, a, wanted, func(ctx context.Context, budget string) ([]control.Payment, error) {
		if there, err := a.has(ctx, a.Names.Ledger()); err != nil || !there {
			return nil, err
		}
		return stream.Payments(ctx, a.Fetch, a.Names, budget)
	}, time.Now())
	return p, classed(err)
}

// hasLedger refuses an app that has none.
func hasLedger(ctx context.Context, conn *kafkaconn.Conn, app string) error {
	topic := topics.Names{App: app}.Ledger()
	switch _, err := topics.Counts(ctx, conn.Client, []topics.Topic{{Name: topic}}); {
	case errors.Is(err, topics.ErrMissing):
		return cli.BrokerError(fmt.Errorf("app %s has no ledger: topic %s does not exist, or you may not describe it; check LOUVER_APP_ID, or run louver first", app, topic))
	default:
		return classed(err)
	}
}

// tails reads the ledger from its checkpoints on: see [stream.Tails].
func (a agreement) tails(ctx context.Context, keep int) ([]stream.Tail, error) {
	if err := hasLedger(ctx, a.conn, a.Names.App); err != nil {
		return nil, err
	}
	tails, err := stream.Tails(ctx, a.conn.Client, reader(a.conn, a.log).Fetch, a.Names.App, keep, func(err error) {
		a.log.Warn("a checkpoint of the ledger is left out: the ledger is read from its first entry", zap.Error(err))
	})
	return tails, classed(err)
}
