package cluster

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
	"github.com/louver/louver/stream/outputs"
)

// Control is an app's control topic. A missing topic counts as empty.
type Control struct {
	control.Kafka
	// Conn is the connection that it is read by.
	Conn *kafkaconn.Conn
	log  *zap.Logger
}

// ControlOf returns the control topic of an app.
func ControlOf(conn *kafkaconn.Conn, log *zap.Logger, id string) Control {
	return Control{control.Kafka{Fetch: Reader(conn, log).Fetch, Names: topics.Names{App: id}}, conn, log}
}

// Read implements [control.Records].
func (a Control) Read(ctx context.Context, f func(key, value []byte) error) error {
	if there, err := a.Has(ctx, a.Names.Control()); err != nil || !there {
		return err
	}
	return a.Kafka.Read(ctx, f)
}

// Editions returns the definitions of all streams, by name and number. An app that has agreed on nothing has none.
func (a Control) Editions(ctx context.Context) ([]config.Edition, error) {
	state, err := control.Read(ctx, a)
	if err != nil || state.Epoch() == 0 {
		return nil, err
	}
	return state.Editions(control.Wanted{})
}

// NoStreams is the error of an app that has agreed on nothing.
func (a Control) NoStreams() error {
	return cli.BrokerError(fmt.Errorf("app %s has no streams yet: topic %s is empty or missing, or you may not "+
		"describe it; check LOUVER_APP_ID, or run louver first", a.Names.App, a.Names.Control()))
}

// Has reports whether a topic exists.
func (a Control) Has(ctx context.Context, topic string) (bool, error) {
	_, err := topics.Counts(ctx, a.Conn.Client, []topics.Topic{{Name: topic}})
	if errors.Is(err, topics.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// Foresee says what a file would change. It reads the ledger only if the file moves streams to other budgets.
func (a Control) Foresee(ctx context.Context, file *config.File) (control.Preview, error) {
	wanted := control.Wanted{Streams: file.Streams, Revision: file.Revision, Removed: file.Removed}
	p, err := control.Foresee(ctx, a, wanted, func(ctx context.Context, budget string) (bool, error) {
		if there, err := a.Has(ctx, a.Names.Ledger()); err != nil || !there {
			return false, err
		}
		return stream.Charged(ctx, a.Fetch, a.Names, budget)
	}, time.Now())
	return p, WithExitCode(err)
}

// All calls f for every committed record of a topic. A missing topic has none.
func (a Control) All(ctx context.Context, topic string, f func(outputs.Message) error) error {
	if there, err := a.Has(ctx, topic); err != nil || !there {
		return WithExitCode(err)
	}
	return WithExitCode(Reader(a.Conn, a.log).All(ctx, []string{topic}, func(m outputs.Message) error {
		if err := f(m); err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", m.Topic, m.Partition, m.Offset, err)
		}
		return nil
	}))
}

// HasLedger refuses an app that has none.
func (a Control) HasLedger(ctx context.Context) error {
	there, err := a.Has(ctx, a.Names.Ledger())
	if err == nil && !there {
		err = cli.BrokerError(fmt.Errorf("app %s has no ledger: topic %s does not exist, or you may not describe it; "+
			"check LOUVER_APP_ID, or run louver first", a.Names.App, a.Names.Ledger()))
	}
	return WithExitCode(err)
}

// Tails reads the ledger from its checkpoints on: see [stream.Tails].
func (a Control) Tails(ctx context.Context, keep int) ([]stream.Tail, error) {
	if err := a.HasLedger(ctx); err != nil {
		return nil, err
	}
	tails, err := stream.Tails(ctx, a.Conn.Client, Reader(a.Conn, a.log).Fetch, a.Names.App, keep, func(err error) {
		a.log.Warn("a checkpoint of the ledger is left out: the ledger is read from its first entry", zap.Error(err))
	})
	return tails, WithExitCode(err)
}
