// Package login holds the ways to log in to Kafka that need more than a fixed password: tokens of an OAuth 2 server,
// AWS IAM, and passwords that change while the process runs.
package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/aws_msk_iam_v2"
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

// AWS returns the mechanism AWS_MSK_IAM. Region and credentials are found as the AWS command line finds them: in AWS_…
// variables, in its files, or in the role of the pod or machine. They are renewed before they end.
func AWS(ctx context.Context) (sasl.Mechanism, error) {
	c, err := config.LoadDefaultConfig(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("settings of AWS: %w", err)
	case c.Region == "":
		return nil, errors.New("AWS_REGION is not set; AWS_MSK_IAM wants the region of the cluster, such as " +
			"eu-central-1")
	}
	return iam{aws_msk_iam_v2.NewMechanism(c)}, nil
}

// iam marks a failure to get credentials, so that it is not taken for an answer of the broker.
type iam struct{ *aws_msk_iam_v2.Mechanism }

// Start signs a request to the broker.
func (m iam) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	state, first, err := m.Mechanism.Start(ctx)
	if err != nil {
		return nil, nil, &Error{err: fmt.Errorf("AWS: %w", err)}
	}
	return state, first, nil
}
