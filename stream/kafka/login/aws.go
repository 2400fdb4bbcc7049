package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/aws_msk_iam_v2"
)

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
