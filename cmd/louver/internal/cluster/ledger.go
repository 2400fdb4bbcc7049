package cluster

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
)

// HasLedger refuses an app that has none.
func HasLedger(ctx context.Context, conn *kafkaconn.Conn, app string) error {
	topic := topics.Names{App: app}.Ledger()
	switch _, err := topics.Counts(ctx, conn.Client, []topics.Topic{{Name: topic}}); {
	case errors.Is(err, topics.ErrMissing):
		return cli.BrokerError(fmt.Errorf("app %s has no ledger: topic %s does not exist, or you may not describe it; "+
			"check LOUVER_APP_ID, or run louver first", app, topic))
	default:
		return WithExitCode(err)
	}
}

// Tails reads the ledger from its checkpoints on: see [stream.Tails].
func (a Control) Tails(ctx context.Context, keep int) ([]stream.Tail, error) {
	if err := HasLedger(ctx, a.Conn, a.Names.App); err != nil {
		return nil, err
	}
	tails, err := stream.Tails(ctx, a.Conn.Client, Reader(a.Conn, a.log).Fetch, a.Names.App, keep, func(err error) {
		a.log.Warn("a checkpoint of the ledger is left out: the ledger is read from its first entry", zap.Error(err))
	})
	return tails, WithExitCode(err)
}
