package kafkaconn

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
)

// silentRefusals is how often in a row a broker may close the connection while
// it checks credentials until that counts as a refusal: once can be chance.
const silentRefusals = 3

// Check asks the cluster for its metadata until it answers or ctx ends. An
// error that another try cannot mend (refused credentials, a certificate that
// does not fit) is returned at once: see Refused.
func (c *Conn) Check(ctx context.Context) error {
	silent := 0
	_, err := Retry(ctx, nil, func(ctx context.Context) (struct{}, error) {
		undecided, err := c.ask(ctx)
		switch {
		case err == nil || !undecided || !ConnectionLost(err):
			silent = 0
		default:
			if silent++; silent == silentRefusals {
				return struct{}{}, fmt.Errorf("%w: the broker closed the connection over them: %w", kafka.SASLAuthenticationFailed, err)
			}
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("brokers %s: %w", strings.Join(c.Brokers, ","), err)
	}
	return nil
}

// ask connects anew and asks for metadata; a pool of connections would remember
// its first failure for a while. With an error, undecided says that it came
// while credentials were being checked.
func (c *Conn) ask(ctx context.Context) (undecided bool, err error) {
	t := &kafka.Transport{Dial: c.Transport.Dial, DialTimeout: dialTimeout, ClientID: c.ClientID, TLS: c.Transport.TLS}
	defer t.CloseIdleConnections()
	var w watched
	if c.Transport.SASL != nil {
		w.Mechanism = c.Transport.SASL
		t.SASL = &w
	}
	client := &kafka.Client{Addr: c.Addr, Timeout: requestTimeout, Transport: t}
	_, err = client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
	return w.undecided.Load(), err
}

// watched is a mechanism that knows whether its last exchange came to an end.
type watched struct {
	sasl.Mechanism
	undecided atomic.Bool
}

func (w *watched) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	m, first, err := w.Mechanism.Start(ctx)
	if err != nil {
		return nil, nil, err
	}
	w.undecided.Store(true)
	return &watchedExchange{m, w}, first, nil
}

type watchedExchange struct {
	sasl.StateMachine
	mechanism *watched
}

func (e *watchedExchange) Next(ctx context.Context, challenge []byte) (bool, []byte, error) {
	done, answer, err := e.StateMachine.Next(ctx, challenge)
	if done || err != nil {
		e.mechanism.undecided.Store(false)
	}
	return done, answer, err
}
