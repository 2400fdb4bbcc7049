// Package login holds the ways to log in to Kafka that need more than a fixed password: tokens of an OAuth 2 server,
// AWS IAM, and passwords that change while the process runs.
package login

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go/sasl"
)

// Fresh makes a new mechanism for each connection, so that a changed password is used from then on.
type Fresh struct {
	Mechanism string
	Make      func() (sasl.Mechanism, error)
}

// Name implements [sasl.Mechanism].
func (f Fresh) Name() string { return f.Mechanism }

// Start implements [sasl.Mechanism].
func (f Fresh) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	m, err := f.Make()
	if err != nil {
		return nil, nil, &Error{err: err}
	}
	return m.Start(ctx)
}

// Error says why there are no credentials to log in with. It may pass, like the failure to reach a broker, so it is a
// net.Error.
type Error struct {
	err     error
	refused bool
}

func (e *Error) Error() string { return fmt.Sprintf("no credentials for Kafka: %v", e.err) }

func (e *Error) Unwrap() error { return e.err }

// Refused reports whether the credentials themselves are refused: trying again will not help.
func (e *Error) Refused() bool { return e.refused }

// Timeout implements net.Error.
func (e *Error) Timeout() bool { return false }

// Temporary implements net.Error.
func (e *Error) Temporary() bool { return !e.refused }
