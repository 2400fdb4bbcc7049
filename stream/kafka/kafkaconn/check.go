package kafkaconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
)

// silentRefusals is how many times in a row a broker must close the connection during authentication before that counts
// as a refusal. Once can be chance.
const silentRefusals = 3

// Check asks the cluster for its metadata until it answers or ctx ends, and tries the addresses that its brokers name:
// if none can be reached, the error is an [AdvertisedError]. It returns permanent errors at once (refused credentials,
// a wrong certificate, TLS on one side only): see [Refused]. notify, if not nil, is called for all other failures.
func (c *Conn) Check(ctx context.Context, notify func(error)) error {
	silent := 0
	_, err := Retry(ctx, notify, func(ctx context.Context) (struct{}, error) {
		undecided, err := c.ask(ctx)
		if err != nil && !undecided && closed(err) {
			if other := c.mismatch(ctx); other != nil {
				return struct{}{}, other
			}
		}
		switch {
		case err == nil || !undecided || !connectionLost(err):
			silent = 0
		default:
			if silent++; silent == silentRefusals {
				return struct{}{}, fmt.Errorf("%w: the broker closed the connection because of them: %w",
					kafka.SASLAuthenticationFailed, err)
			}
		}
		return struct{}{}, err
	})
	return err
}

// closed reports whether a connection was made and then lost.
func closed(err error) bool {
	var network *net.OpError
	return connectionLost(err) && (!errors.As(err, &network) || network.Op != "dial")
}

// ask connects anew and asks for metadata; a pool of connections would remember its first failure for a while.
// undecided says that an error came during authentication.
func (c *Conn) ask(ctx context.Context) (undecided bool, err error) {
	t := &kafka.Transport{Dial: c.Transport.Dial, DialTimeout: dialTimeout, ClientID: c.ClientID}
	defer t.CloseIdleConnections()
	var w watched
	if c.Transport.SASL != nil {
		w.Mechanism = c.Transport.SASL
		t.SASL = &w
	}
	client := &kafka.Client{Addr: c.Addr, Timeout: requestTimeout, Transport: t}
	answer, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
	if err == nil {
		return false, c.reachAdvertised(ctx, answer.Brokers)
	}
	return w.undecided.Load(), err
}

// watched is a mechanism that knows whether its last exchange was completed.
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
