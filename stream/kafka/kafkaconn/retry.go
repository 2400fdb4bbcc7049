package kafkaconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Retry calls f until it succeeds, fails with an error that is not Retriable, or ctx ends. Between tries it waits, at
// first 10 ms and at most 2 s, with jitter. Each attempt has its own time limit of ten seconds. notify, if not nil, is
// called with each failure that will be retried, and with nil when a later attempt has succeeded. When ctx ends, the
// error wraps both ctx's error and the last failure.
func Retry[T any](ctx context.Context, notify func(error), f func(context.Context) (T, error)) (T, error) {
	var last error
	res, err := Again(ctx, notify, func() (T, error) {
		try, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		res, err := f(try)
		if err == nil {
			if last != nil && notify != nil {
				notify(nil)
			}
			return res, nil
		}
		if ctx.Err() != nil {
			return res, err
		}
		last = err
		if !Retriable(err) {
			return res, backoff.Permanent(err)
		}
		return res, err
	})
	if err != nil && ctx.Err() != nil && last != nil && !errors.Is(err, last) {
		return res, fmt.Errorf("%w (the last failure: %w)", err, last)
	}
	return res, err
}

// Again calls f until it succeeds, fails with a [backoff.PermanentError], or ctx ends. It waits between tries as Retry
// does. notify, if not nil, is called with each failure that will be retried. When ctx ends, the error is ctx's error
// and not its cause. The cause is a failure of something else, which a caller would take for one of f.
func Again[T any](ctx context.Context, notify func(error), f func() (T, error)) (T, error) {
	res, err := backoff.Retry(ctx, f, backoff.WithBackOff(NewBackOff()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) {
			if notify != nil {
				notify(err)
			}
		}))
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		err = ctx.Err()
	}
	return res, err
}

// NewBackOff returns the schedule of waits that Retry uses, for other kinds of loops.
func NewBackOff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = 10 * time.Millisecond
	b.Multiplier = 2
	b.MaxInterval = 2 * time.Second
	return b
}

// Retriable reports whether the same request may succeed later. Either the broker's answer is temporary (a moved leader
// or coordinator, a transaction that is still ending), or the connection failed before an answer came. In the second
// case the request may have been carried out.
func Retriable(err error) bool {
	if Refused(err) {
		return false
	}
	var code kafka.Error
	if errors.As(err, &code) {
		switch code {
		case kafka.ConcurrentTransactions, // kafka-go's Temporary lacks these two
			kafka.BrokerNotAvailable:
			return true
		}
		return code.Temporary()
	}
	return errors.Is(err, protocol.ErrNoTopic) || errors.Is(err, protocol.ErrNoPartition) ||
		errors.Is(err, protocol.ErrNoLeader) ||
		connectionLost(err)
}

// connectionLost reports whether err came from the connection and not from a broker's answer. Then it is unknown
// whether the request was carried out.
func connectionLost(err error) bool {
	var network net.Error
	var refused syscall.Errno
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &network) || errors.As(err, &refused)
}

// Refused reports whether the cluster refuses this client altogether: wrong credentials, a SASL mechanism that it does
// not offer, a wrong certificate, or TLS on one side only.
func Refused(err error) bool {
	if errors.Is(err, ErrSpeaksTLS) || errors.Is(err, ErrSpeaksPlain) {
		return true
	}
	var credentials interface{ Refused() bool } // of a server that gives out tokens
	if errors.As(err, &credentials) && credentials.Refused() {
		return true
	}
	for _, code := range []kafka.Error{kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism,
		kafka.IllegalSASLState, kafka.SecurityDisabled} {
		if errors.Is(err, code) {
			return true
		}
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &verify) || errors.As(err, &alert) || errors.As(err, &record)
}

// Unauthorised reports whether err says that a right is missing: on a topic, group, transactional id or the cluster.
func Unauthorised(err error) bool {
	for _, code := range []kafka.Error{kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed,
		kafka.ClusterAuthorizationFailed, kafka.TransactionalIDAuthorizationFailed} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// Needs adds the right and the resource to an error about a missing right. It does not change other errors.
func Needs(err error, operation, resource string) error {
	var told *needs
	if !Unauthorised(err) || errors.As(err, &told) {
		return err
	}
	return &needs{err, operation, resource}
}

// Missing names the right that an error is about, such as "Write on topic out". It is "" for other errors.
func Missing(err error) string {
	var n *needs
	if !errors.As(err, &n) {
		return ""
	}
	return n.operation + " on " + n.resource
}

type needs struct {
	error
	operation, resource string
}

func (n *needs) Error() string {
	return fmt.Sprintf("%v; it needs the right %s on %s", n.error, n.operation, n.resource)
}

func (n *needs) Unwrap() error { return n.error }

// Persist calls f until it succeeds, fails with an error that is neither a broker's answer nor means that no broker was
// reached, or ctx ends. It is for a service that has worked before: a right that a broker refuses now may be granted
// later. It waits between attempts and notifies as Retry does. f has to limit its own time.
func Persist[T any](ctx context.Context, notify func(error), f func(context.Context) (T, error)) (T, error) {
	failed := false
	tell := func(err error) {
		if failed = true; notify != nil {
			notify(err)
		}
	}
	return Again(ctx, tell, func() (T, error) {
		res, err := f(ctx)
		switch {
		case err == nil && failed && notify != nil:
			notify(nil)
		case err != nil && (ctx.Err() != nil || !fromBroker(err)):
			err = backoff.Permanent(err)
		}
		return res, err
	})
}

// fromBroker reports whether err is a broker's answer, or means that no broker was reached. Errors about the sent bytes
// themselves do not count, because a record that is too large stays too large.
func fromBroker(err error) bool {
	if errors.Is(err, kafka.MessageSizeTooLarge) || errors.Is(err, kafka.RecordListTooLarge) {
		return false
	}
	var code kafka.Error
	return errors.As(err, &code) || Retriable(err)
}
